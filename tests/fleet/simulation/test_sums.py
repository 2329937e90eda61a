"""Nodes as a scheduler sees them."""

from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.verdicts import shape_digest, tried
from tests.fleet.fleets import GPU, pod
from tests.fleet.simulation.nodes import idle


def test_a_node_is_enough_for_a_scheduler_where_its_sums_are() -> None:
    """Nine CPUs are free, on no NUMA node: the scheduler says yes where the kubelet says no."""
    view, state = SchedulerView(), idle()
    wide = pod("wide", "9")
    assert view.fits(state, wide, shape_digest(wide))
    assert tried(state, wide)[1] is None


def test_a_node_is_not_enough_without_cpus_devices_or_a_place_for_a_pod() -> None:
    view, state = SchedulerView(), idle()
    for own in (pod("a", "16"), pod("b", "1", "32Gi"), pod("c", gpus=5)):
        assert not view.fits(state, own, shape_digest(own))
    for number in range(12):
        after = tried(state, pod(f"small-{number}", "100m", "64Mi", limits=False))[1]
        assert after is not None
        state = after
    small = pod("small", "100m", "64Mi", limits=False)
    assert not view.fits(state, small, shape_digest(small))


def test_devices_are_scored_for_pods_that_ask_for_them() -> None:
    view, state = SchedulerView(), idle()
    gib = 1 << 30
    with_gpu, without = pod("a", "3", gpus=1), pod("b", "3")
    assert view.parts(state, without, shape_digest(without)) == [(3000, 15000), (gib, 31 * gib)]
    assert view.parts(state, with_gpu, shape_digest(with_gpu)) == [(3000, 15000), (gib, 31 * gib), (1, 4)]
    assert GPU in view.offered(state)
