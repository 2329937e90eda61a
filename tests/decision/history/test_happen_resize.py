"""Resizes among other events."""

from collections.abc import Sequence

from numafit.decision.history.event import (
    AddPods,
    Event,
    RemovePods,
    ResizePod,
    RestartKubelet,
    StartKubelet,
    StopKubelet,
)
from numafit.decision.history.happen import happen
from numafit.decision.history.situation import Situation, situation_of
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod
from tests.decision.strategies import amounts, box, container, cpus, pod, running, settings

OFFERED = amounts({"cpu": "8", "memory": "16Gi", "pods": "110"})


def burst(uid: str, cpu: str) -> Pod:
    return pod(uid, container("app", {}, requests={"cpu": cpu}))


A, B = burst("a", "1"), burst("b", "6")
GROW = ResizePod(A, "app", amounts({"cpu": "4"}))


def played(
    events: Sequence[Event], ordered: Settings | None = None
) -> tuple[list[list[tuple[str, str, str]]], Situation]:
    """For each event (pod, at what, verdict or reason)."""
    node, ledger = running(box(1, 9), ordered or settings())
    situation = situation_of(node, ledger, OFFERED)
    told = []
    for event in events:
        outcome = happen(situation, event)
        situation = outcome.situation
        steps = outcome.steps
        told.append([(own.decision.pod.uid, own.event, own.decision.resize or own.decision.reason) for own in steps])
    return told, situation


def test_a_resize_that_waits_is_allocated_in_the_step_of_a_removal() -> None:
    """A run of 1.36 shows it; the load is that of the resized pod."""
    told, situation = played([AddPods((A, B)), GROW, RemovePods((B,))])
    assert told[1:] == [[("a", "resize", "Deferred")], [("a", "resize", "allocated")]]
    assert (situation.resizes, situation.load.amounts["cpu"]) == ({}, 4000)


def test_later_pods_are_judged_by_what_is_allocated() -> None:
    """All releases."""
    told, _ = played([AddPods((A,)), GROW, AddPods((burst("late", "5"),))])
    assert told[2] == [("late", "add", "OutOfcpu")]


def test_a_refused_pod_makes_those_that_wait_try_again_and_so_loses_what_managers_gave_it() -> None:
    """As a kubelet 1.36.4 does: the API server hears of a pod that ended, and each try removes stale state."""
    ordered = settings(cpu="static")
    late = pod("late", cpus("app", "2"))
    told, without = played([AddPods((A, B)), AddPods((late,))], ordered)
    assert (told[1], list(without.ledger.cpu.entries)) == ([("late", "add", "OutOfcpu")], ["late"])
    told, waits = played([AddPods((A, B)), GROW, AddPods((late,))], ordered)
    assert (told[2], list(waits.ledger.cpu.entries)) == ([("late", "add", "OutOfcpu")], [])


def test_at_a_restart_a_pod_comes_back_with_what_it_has_and_an_old_refusal_is_not_told_again() -> None:
    """As in a run of 1.36.3: first all are admitted again; those that wait are tried half a minute later."""
    told, situation = played([AddPods((A, B)), GROW, RestartKubelet(), RemovePods((B,))])
    assert told[2:] == [[("a", "restart", ""), ("b", "restart", "")], [("a", "resize", "allocated")]]
    assert situation.load.amounts["cpu"] == 4000


def test_what_was_asked_while_the_kubelet_was_down_is_told_at_its_start() -> None:
    told, _ = played([AddPods((A, B)), StopKubelet(), GROW, StartKubelet()])
    assert told[2:] == [[], [("a", "restart", ""), ("b", "restart", ""), ("a", "resize", "Deferred")]]


def test_what_is_asked_while_the_kubelet_is_down_is_decided_at_its_start() -> None:
    """The API server takes it, or refuses it, all the same."""
    too_much = ResizePod(A, "app", amounts({"cpu": "9"}))
    told, _ = played([AddPods((A,)), StopKubelet(), too_much, GROW, StartKubelet()])
    assert told[2:] == [[("a", "resize", "refused")], [], [("a", "restart", ""), ("a", "resize", "allocated")]]


def test_a_pod_that_outgrew_its_cpus_may_lose_its_place_at_a_restart() -> None:
    """1.36 with InPlacePodVerticalScalingExclusiveCPUs under best-effort, then restricted: 3 CPUs asked, 2 held."""
    gated = settings(cpu="static", topology="best-effort", gates={"InPlacePodVerticalScalingExclusiveCPUs": True})
    own = pod("g", cpus("app", "2"))
    grow = ResizePod(own, "app", amounts({"cpu": "3"}), amounts({"cpu": "3"}))
    told, situation = played([AddPods((own,)), grow, RestartKubelet()], gated)
    assert told[1:] == [[("g", "resize", "allocated")], [("g", "restart", "")]]
    assert situation.ledger.cpu.entries["g"]["app"].bit_count() == 2


def test_a_resize_without_effect_says_why() -> None:
    """Nothing is decided."""
    node, ledger = running(box(1, 9), settings())
    situation = happen(situation_of(node, ledger, OFFERED), AddPods((A,))).situation
    same = happen(situation, ResizePod(A, "app", amounts({"cpu": "1"})))
    gone = happen(situation, ResizePod(B, "app", amounts({"cpu": "1"})))
    assert (same.steps, same.void) == ((), "default/pod-a has these resources already")
    assert (gone.steps, gone.void) == ((), "default/pod-b does not run")
