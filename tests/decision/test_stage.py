"""A node that starts again under another configuration, and one whose pods are known."""

import pytest
from msgspec.structs import replace

from numafit.decision.stage import CONTRADICTED, Stage, after_running, restarted, with_pods
from numafit.errors import KubeletError
from numafit.notes import Note
from numafit.quantity import parse_quantity
from numafit.workload.manifest import Workload
from numafit.workload.pod import Pod
from numafit.workload.reading import Reading
from numafit.workload.served import Life
from tests.advice.stages import stage
from tests.decision.strategies import cpus, pod


def test_pods_keep_what_they_hold_over_a_restart_with_another_scope() -> None:
    """The kubelet reads its state files and admits every pod again (all releases)."""
    on = stage()
    held = on.play([pod("a", cpus("app", "4"))]).after
    again = restarted(replace(on, ledger=held), replace(on.config, topology_manager_scope="pod"))
    assert again.ledger.cpu.entries == held.cpu.entries
    assert again.ledger.memory.entries == held.memory.entries
    assert list(again.ledger.active) == ["a"]


def test_another_cpu_policy_does_not_start_over_the_old_state() -> None:
    """`configured policy "none" differs from state checkpoint policy "static"` (all releases)."""
    on = stage()
    held = on.play([pod("a", cpus("app", "4"))]).after
    with pytest.raises(KubeletError, match="differs from state checkpoint policy"):
        restarted(replace(on, ledger=held), replace(on.config, cpu_manager_policy="none"))


def test_a_pod_that_the_new_policy_rejects_is_named() -> None:
    """best-effort put it across both nodes; at the restart single-numa-node rejects it."""
    on = stage(topology_manager_policy="best-effort", memory_manager_policy="None", reserved_memory=())
    held = on.play([pod("a", cpus("app", "9"))]).after
    with pytest.raises(KubeletError, match="default/pod-a would be rejected: TopologyAffinityError"):
        restarted(replace(on, ledger=held), replace(on.config, topology_manager_policy="single-numa-node"))


def test_a_shortage_of_the_node_names_its_resource() -> None:
    """The managers of a Burstable pod have nothing to say; the check behind them does (all releases)."""
    on = stage()
    burstable = replace(cpus("app", "1"), requests={"cpu": parse_quantity("900")}, limits={})
    decision = on.decide(on.ledger, pod("a", burstable))
    assert (decision.reason, decision.shortage) == ("OutOfcpu", "cpu")
    rejected = on.decide(on.ledger, pod("b", cpus("app", "900")))
    assert (rejected.admitted, rejected.shortage) == (False, "")


OLD, NEW = pod("old", cpus("app", "2")), pod("new", cpus("app", "4"))
BURSTABLE = pod("burstable", replace(cpus("app", "1"), requests={"cpu": parse_quantity("1")}, limits={}))


def test_pods_that_run_are_played_first_where_nothing_tells_what_they_hold() -> None:
    """And this is noted of those that hold something: another order, or a pod that has gone since, moves them."""
    ready = with_pods(stage(), Reading((OLD, BURSTABLE), (NEW,), {}), known=False)
    assert (ready.pods, ready.running) == ((OLD, BURSTABLE, NEW), 2)
    assert [(note.code, note.about) for note in ready.notes if note.code != "release-assumed"] == [
        ("pods-replayed", OLD.full_name)
    ]


def test_pods_that_run_stay_where_the_state_has_them() -> None:
    """With their real requests, where the state alone tells what is held; those that hold nothing are there, too."""
    on = stage()
    played = on.play([OLD]).after
    named = pod(OLD.uid, cpus("app", "2"))
    there = replace(on, ledger=replace(played, active={OLD.uid: replace(OLD, name=OLD.uid)}))
    ready = with_pods(there, Reading((named, BURSTABLE), (NEW,), {}), known=True)
    assert (ready.pods, ready.running, ready.notes) == ((NEW,), 0, there.notes)
    assert ready.ledger.active == {OLD.uid: named, BURSTABLE.uid: BURSTABLE}
    assert ready.ledger.cpu.entries == played.cpu.entries


def test_a_pod_that_runs_and_must_hold_something_is_played_where_the_state_has_nothing_of_it() -> None:
    ready = with_pods(stage(), Reading((OLD,), (NEW,), {}), known=True)
    assert (ready.pods, ready.running) == ((OLD, NEW), 1)
    text = "runs, and is played again by its start: the state does not know it"
    assert Note("pods-replayed", OLD.full_name, text) in ready.notes


def test_what_a_pod_holds_that_has_ended_is_stale() -> None:
    """The kubelet removes it when it admits the next pod (all releases)."""
    on = stage()
    there = replace(on, ledger=on.play([OLD]).after)
    ready = with_pods(there, Reading((), (NEW,), {}, frozenset((OLD.uid,))), known=True)
    assert not ready.ledger.active
    assert list(ready.play(ready.pods).after.cpu.entries) == [NEW.uid]


RUNS = Life("one", "Running", "2026-01-01T00:00:00Z", served=True, seen=True)
REFUSED = Life("one", "Failed", served=True, reason="TopologyAffinityError")


def told(*lives: tuple[Pod, Life]) -> dict[str, Workload]:
    return {each.uid: Workload("Pod", each.name, each.namespace, each, "", life=life) for each, life in lives}


def contradicted(on: Stage) -> list[tuple[str, str]]:
    return [(note.about, note.text) for note in on.notes_on(on.play(on.pods)) if note.code == CONTRADICTED]


def test_a_pod_that_runs_and_would_be_rejected_shows_that_the_node_is_another() -> None:
    """It holds something in the world and nothing here, so all that is said of the others stands on air."""
    large = pod("large", cpus("app", "900"))
    ready = with_pods(stage(), Reading((large, OLD), (NEW,), told((large, RUNS), (OLD, RUNS))), known=False)
    text = "pods, configuration or machine were otherwise when it came"
    assert contradicted(ready) == [(large.full_name, f"runs, and is rejected here: {text}; here it holds nothing")]
    assert CONTRADICTED in {note.code for note in after_running(ready)[0].notes}


def test_a_pod_that_was_rejected_and_is_admitted_here_shows_it_too() -> None:
    """The same with another reason; where the end is the same, there is nothing to say."""
    large, larger = pod("large", cpus("app", "900")), pod("larger", cpus("app", "901"))
    lives = told((OLD, REFUSED), (large, REFUSED), (larger, REFUSED._replace(reason="OutOfcpu")))
    ready = with_pods(stage(), Reading((), (OLD, large, larger), lives), known=False)
    text = "pods, configuration or machine were otherwise when it came"
    assert contradicted(ready) == [
        (OLD.full_name, f"was rejected with TopologyAffinityError, and is admitted here: {text}"),
        (larger.full_name, f"was rejected with OutOfcpu, and here with TopologyAffinityError: {text}"),
    ]


def test_pods_that_run_are_on_the_node_before_others_are_counted() -> None:
    ready = with_pods(stage(), Reading((OLD,), (NEW,), {}), known=False)
    occupied, pods = after_running(ready)
    assert (list(occupied.ledger.active), pods) == ([OLD.uid], (NEW,))
    alone = with_pods(stage(), Reading((OLD,), (), {}), known=False)
    assert after_running(alone)[1] == (OLD,)
