"""Which pods an extender decides about."""

from numafit.cluster.extender import needs
from numafit.cluster.extender.needs import needs_of
from tests.cluster.extender.asked import AskedExtender
from tests.cluster.live.cluster_objects import kept, pod_object


def test_pods_with_cpus_of_their_own_need_a_decision_and_others_do_not() -> None:
    own = needs_of(AskedExtender().live)
    shared = pod_object("shared")
    shared["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "1Gi"}}
    assert own(kept(pod_object("whole")))
    assert not own(kept(shared))


def test_an_answer_is_remembered_for_a_moment() -> None:
    asked, now = AskedExtender(nodes=0), [0.0]
    own = needs_of(asked.live, lambda: now[0])
    pod = kept(pod_object("whole"))
    assert not own(pod)
    asked.live.book.fleet = AskedExtender().live.fleet
    assert not own(pod)
    now[0] += needs.ANSWER_SECONDS
    assert own(pod)
