"""What a pod takes of a node's room for large ones."""

from numafit.fleet.room import freedom_of, room_of
from numafit.fleet.verdicts import tried
from tests.fleet.fleets import pod
from tests.fleet.simulation.nodes import idle


def test_a_pod_without_cpus_of_its_own_takes_room_of_the_node_as_a_whole() -> None:
    """It is on no NUMA node, and a large pod that wants the whole node does not fit beside it."""
    state = idle("restricted")
    _, after = tried(state, pod("shared", "3500m", "4Gi", limits=False))
    assert after is not None
    assert after.ledger.cpu.default == state.ledger.cpu.default
    assert room_of(after) < room_of(state)
    assert freedom_of(after)["cpu"] < freedom_of(state)["cpu"]
