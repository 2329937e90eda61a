"""A past that was played, beside what its source tells."""

from numafit.advice.past.agreement import PastAgreement, agreement_with
from numafit.advice.past.past import Past, ToldEnd
from numafit.decision.decision import Decision, Placement
from numafit.decision.history.event import AddPods
from numafit.decision.history.situation import situation_of
from numafit.decision.history.step import Step, StepEvent
from numafit.decision.simulation import Happened, Simulation
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod
from tests.advice.past.pasts import pod
from tests.decision.strategies import SEED_BOX, running, settings

A, B = pod("a"), pod("b")
BEGIN = situation_of(*running(SEED_BOX, settings()), None)


def step(own: Pod, reason: str = "", event: StepEvent = "add", cpus: int = 0) -> Step:
    placed = {"c": Placement((None, True), cpus=cpus)} if cpus else {}
    return Step(Decision(own, "Guaranteed", not reason, Ledger(), reason, containers=placed), Ledger(), event=event)


def compared(ends: list[ToldEnd], *steps: Step) -> tuple[PastAgreement, list[tuple[str, str]]]:
    event = AddPods((A,))
    played = Simulation(BEGIN, (Happened(event, steps, BEGIN),), steps)
    agreement, notes = agreement_with(Past("log", (event,), ("Nov 15",), tuple(ends)), played)
    return agreement, [(note.about, note.text) for note in notes]


def end(own: Pod, reason: str = "", kind: StepEvent = "add", cpus: int = 0) -> ToldEnd:
    return ToldEnd(0, own.uid, own.full_name, not reason, reason, {"c": cpus} if cpus else {}, kind)


def test_the_same_verdict_reason_and_cpus_agree() -> None:
    ends = [end(A, cpus=0b11), end(B, "OutOfcpu")]
    agreement, notes = compared(ends, step(A, cpus=0b11), step(B, "OutOfcpu"))
    assert (agreement, notes) == (PastAgreement("log", 2, 2), [])
    assert agreement.sentence == "The log tells the same of 2 of 2 decisions."


def test_each_difference_is_a_sentence_with_its_time() -> None:
    assert compared([end(A)], step(A, "OutOfcpu"))[1] == [
        ("default/a", "Nov 15: the log has it admitted, and here it is rejected, OutOfcpu")
    ]
    assert compared([end(A, "OutOfpods")], step(A, "OutOfcpu"))[1] == [
        ("default/a", "Nov 15: the log has it rejected, OutOfpods, and here it is rejected, OutOfcpu")
    ]
    assert compared([end(A, cpus=0b11)], step(A, cpus=0b110))[1] == [
        ("default/a", "Nov 15: the log has it with the CPUs 0-1 for container c, and here they are 1-2")
    ]
    assert compared([end(A)])[1] == [("default/a", "Nov 15: the log has it admitted, and it is not decided here")]


def test_victims_count_on_both_sides() -> None:
    assert compared([end(A, "Preempting", "evict")], step(A, "Preempting", "evict"))[0] == PastAgreement("log", 1, 1)
    assert compared([end(A, "Preempting", "evict")]) == (
        PastAgreement("log", 1, 0),
        [("default/a", "Nov 15: the log has it evicted, and it stays here")],
    )
    assert compared([], step(A, "Preempting", "evict")) == (
        PastAgreement("log", 1, 0),
        [("default/a", "Nov 15: it is evicted here, and not in the log")],
    )


def test_decisions_that_are_not_told_do_not_count() -> None:
    assert compared([], step(A)) == (PastAgreement("log", 0, 0), [])
