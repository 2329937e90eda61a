"""Other outcomes for programs: of a restart each pod has those in which it is another."""

from msgspec.structs import replace

from numafit.decision.doubt.chance import others_of_run
from numafit.decision.simulation import play
from numafit.quantity import parse_quantity
from numafit.show.records.outcomes import DependsOn, outcomes_by_step
from numafit.workload.pod import CRITICAL
from tests.advice.stages import stage
from tests.decision.doubt.test_orders import FOUR, restarted, static
from tests.decision.strategies import container, pod


def test_each_pod_of_a_restart_has_the_outcomes_in_which_it_is_another() -> None:
    simulation = restarted("5", static("a", "2"), static("b", "3"), static("c", "3"))
    records = outcomes_by_step(simulation, others_of_run(simulation, 5))
    assert [simulation.steps[number].decision.pod.uid for number in records] == ["b", "c"]
    names = [f"default/pod-{uid}" for uid in "abc"]
    depends = (DependsOn("pods", (names[0], names[2], names[1]), tuple(names)),)
    told = [(each.admitted, each.depends, each.also) for own in records.values() for each in own.others]
    assert told == [(False, depends, (names[2],)), (True, depends, (names[1],))]


def test_who_is_evicted_is_a_part_of_the_outcome() -> None:
    on = stage(FOUR)
    offered = {**on.allocatable, "pods": parse_quantity("2")}
    equals = [pod(uid, container("app", {})) for uid in ("a", "b")]
    critical = replace(pod("vip", container("app", {})), priority=CRITICAL)
    simulation = play(on.node, on.ledger, (*equals, critical), offered)
    (record,) = outcomes_by_step(simulation, others_of_run(simulation, 5)).values()
    (other,) = record.others
    assert other.evicts == ("default/pod-a",)
    assert other.depends == (DependsOn("victim", ("default/pod-a",), ("default/pod-b",)),)
