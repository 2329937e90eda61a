"""What is wrong is said once, and so is its end."""

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.place.troubles import AGAIN_SECONDS, OVER_SECONDS, ClusterTroubles
from numafit.errors import ApiServerError
from tests.cluster.place.clusters import cluster_of, report, told_node


def test_a_node_that_cannot_be_used_is_counted_and_said_until_it_reports_anew() -> None:
    book, said = cluster_of("n1", "n2"), list[str]()
    told_node(book, "n3")
    troubles = ClusterTroubles(ApiHealth(), said.append)
    assert troubles.nodes(book) == {"known": 2, "unusable": 0, "unreported": 1}
    book.unreported("n1", "status.digest: was changed by others")
    for _ in range(2):
        assert troubles.nodes(book) == {"known": 1, "unusable": 1, "unreported": 1}
    report(book, "n1")
    assert troubles.nodes(book)["known"] == 2
    assert said == [
        "nothing is known of node n1 any more: status.digest: was changed by others",
        "known again: n1",
    ]


def test_of_many_nodes_not_each_is_said() -> None:
    names = [f"n{number:02}" for number in range(15)]
    book, said = cluster_of(*names), list[str]()
    for name in names:
        book.unreported(name, "no")
    ClusterTroubles(ApiHealth(), said.append).nodes(book)
    assert len(said) == 11
    assert said[-1] == "nor of 5 other nodes: kubectl numafit doctor tells why"


def test_a_right_that_is_taken_away_is_named_once_for_all_its_objects_and_its_end_is_said() -> None:
    health, said = ApiHealth(), list[str]()
    troubles = ClusterTroubles(health, said.append)
    right = 'patch resource "pods" in API group "" in the namespace "work"'
    for name in ("a", "b"):
        health.failed(ApiServerError(f'pods "{name}" is forbidden: User "placer" cannot {right}', status=403))
    # In a namespace that is being deleted nobody may make anything.
    health.failed(ApiServerError('events "x" is forbidden: unable to create new content', status=403))
    at = health.missing[right]
    troubles.missing_rights(at)
    troubles.missing_rights(at + 1)
    assert said == [f"a right is missing, its manifest has it: {right}"]
    # A second more: times are not exact to their last digit.
    health.missing[right] = at + AGAIN_SECONDS + 1
    troubles.missing_rights(at + AGAIN_SECONDS + 1)
    assert len(said) == 2
    troubles.missing_rights(at + AGAIN_SECONDS + OVER_SECONDS + 2)
    assert said[-1] == f"nobody is kept any more from this: {right}"
    assert health.missing == {}
