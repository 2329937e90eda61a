"""Which namespaces are guarded, as their labels change."""

from numafit.cluster.guard.namespaces import GuardedNamespaces, NamespaceMeta, NamespaceObject
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.reflector import ObjectChange
from tests.cluster.guard.recorded_api import RecordedApi


def test_one_that_leaves_is_told_and_one_that_is_not_known_is_not_guarded() -> None:
    left: list[str] = []
    own = GuardedNamespaces(RecordedApi(), ApiHealth(), "numafit", left.append)
    assert not own.guards("team")
    before = NamespaceObject(NamespaceMeta("team", uid="t"))
    after = NamespaceObject(NamespaceMeta("team", uid="t", labels={"numafit.io/guard": "disabled"}))
    own._copies.items["team"] = before
    own._changed(ObjectChange("team", None, before))
    assert (own.guards("team"), left) == (True, [])
    own._copies.items["team"] = after
    own._changed(ObjectChange("team", before, after))
    assert (own.guards("team"), left) == (False, ["team"])
    del own._copies.items["team"]
    own._changed(ObjectChange("team", after, None))
    assert left == ["team", "team"]
