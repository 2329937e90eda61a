"""One run against another."""

from msgspec.structs import replace

from numafit.fleet.simulation.outcome import Alignment, RuleOutcome
from numafit.fleet.what_if.gain import ChangeOutcome, gain_of, ranked

ALIGNED = Alignment(cpus=10, cpus_together=10, memory=0, memory_near=0, devices=4, devices_near=4)
OUTCOME = RuleOutcome(
    rule="least-allocated, blind",
    pods=90,
    impossible=10,
    at_once=50,
    rejections=40,
    recreations=30,
    rejected_pods=20,
    mean_wait=12.0,
    late_wait=100.0,
    longest_wait=200.0,
    overdue=15,
    unplaced=5,
    given_up=2,
    used_cpus=0.5,
    used_devices=0.5,
    stranded_cpus=30.0,
    stranded_memory=0.0,
    stranded_gpus=2.0,
    large=(),
    sizes=(),
    alignment=ALIGNED,
)


def changed(name: str, **fields: object) -> ChangeOutcome:
    after = replace(OUTCOME, **fields)
    return ChangeOutcome(name, gain_of(OUTCOME, after), after)


def test_pods_that_fit_no_empty_node_count_as_those_without_a_node() -> None:
    """A policy that turns pods away for good gains nothing by it."""
    stricter = changed("policy", pods=80, impossible=20, overdue=10, unplaced=0)
    assert (stricter.gain.overdue, stricter.gain.never) == (-5, -5)


def test_the_one_that_gains_most_by_the_aim_comes_first() -> None:
    a, b, c = changed("a", overdue=14), changed("b", overdue=3), changed("c", overdue=14, unplaced=0)
    assert [own.change for own in ranked((a, b, c), "overdue")] == ["b", "c", "a"]


def test_by_rejected_those_count_that_the_table_shows() -> None:
    """Pods, however often each was rejected."""
    often, many = changed("often", rejections=0), changed("many", rejected_pods=19)
    assert [own.change for own in ranked((often, many), "rejected")] == ["many", "often"]


def test_alignment_that_is_lost_is_told_by_its_kind() -> None:
    worse = changed("none", alignment=replace(ALIGNED, cpus_together=6, devices_near=4))
    assert worse.gain.losses == ("CPUs",)
    assert worse.gain.aligned is not None
    assert round(worse.gain.aligned, 3) == round(10 / 14 - 1, 3)
    assert worse.gain.memory_near is None


def test_all_alignment_is_lost_where_nothing_is_given_any_more() -> None:
    """And won where something is given for the first time: by `aligned` that comes first."""
    lost = changed("cpu-manager=none", alignment=replace(ALIGNED, cpus=0, cpus_together=0, devices=0, devices_near=0))
    assert lost.gain.losses == ("CPUs", "devices")
    assert (lost.gain.aligned, lost.gain.cpus_together, lost.gain.memory_near) == (-1.0, -1.0, None)
    assert not lost.idle
    won = changed("memory-manager=Static", alignment=replace(ALIGNED, memory=10, memory_near=5))
    assert won.gain.memory_near == 0.5
    assert won.gain.losses == ()
    # Of memory that was given and never near, none is lost; that it is not given any more is a difference.
    far = gain_of(replace(OUTCOME, alignment=replace(ALIGNED, memory=4)), OUTCOME)
    assert (far.memory_near, far.with_memory) == (0.0, -4)
    assert not ChangeOutcome("memory-manager=None", far, OUTCOME).idle


def test_a_change_that_makes_no_difference_is_known() -> None:
    assert changed("scope").idle
    assert not changed("wait", mean_wait=11.0).idle
