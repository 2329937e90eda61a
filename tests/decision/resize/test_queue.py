"""Who waits for a resize, and who is tried when."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.decide import decide, load_of
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.decision.resize.queue import (
    Asked,
    Resized,
    pods_at_restart,
    resize_pod,
    resizes_after_restart,
    retry_resizes,
)
from numafit.decision.resize.verdict import try_resize
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod
from tests.decision.strategies import amounts, box, container, cpus, pod, running, settings

OFFERED = amounts({"cpu": "8", "memory": "16Gi", "pods": "110"})
GATE = {"InPlacePodVerticalScaling": True}


def burst(uid: str, cpu: str, priority: int | None = None) -> Pod:
    return replace(pod(uid, container("app", {}, requests={"cpu": cpu})), priority=priority)


def guaranteed(uid: str, cpu: str) -> Pod:
    return pod(uid, container("app", {"cpu": cpu, "memory": "1Mi"}))


def node_with(*pods: Pod, version: str = "1.36", cpu: str = "none") -> tuple[Node, Ledger]:
    node, ledger = running(box(1, 9), settings(version, cpu=cpu, gates=GATE))
    for each in pods:
        decision = decide(node, ledger, each, OFFERED)
        assert decision.admitted
        ledger = decision.ledger
    return node, ledger


def ask(node: Node, done: Resized, uid: str, cpu: str) -> Resized:
    own = done.ledger.active[uid]
    limits = amounts({"cpu": cpu}) if own.containers[0].limits else {}
    return resize_pod(node, done.ledger, Asked(own, "app", amounts({"cpu": cpu}), limits), OFFERED, done.pending)


def told(done: Resized) -> list[tuple[str, str]]:
    return [(decision.pod.uid, decision.resize) for decision in done.decisions]


def test_a_deferred_resize_is_allocated_when_another_pod_goes() -> None:
    """Seen in runs of 1.36, within the step of the removal."""
    node, ledger = node_with(burst("a", "1"), burst("b", "6"))
    done = ask(node, Resized((), ledger, {}), "a", "4")
    assert (told(done), list(done.pending)) == ([("a", "Deferred")], ["a"])
    after = retry_resizes(node, release(done.ledger, "b"), done.pending, OFFERED)
    assert (told(after), after.pending) == ([("a", "allocated")], {})


def test_a_resize_to_less_lets_those_in_who_wait() -> None:
    """All that wait are tried with each resize."""
    node, ledger = node_with(burst("a", "1"), burst("b", "6"))
    done = ask(node, Resized((), ledger, {}), "a", "4")
    assert told(ask(node, done, "b", "2")) == [("b", "allocated"), ("a", "allocated")]


def test_up_to_1_33_the_pod_that_is_resized_comes_first_then_the_oldest() -> None:
    """There is no queue: its own pod is synced at once, the others soon after."""
    pods = (burst("a", "1"), replace(burst("b", "1"), priority=1000), burst("full", "5"))
    node, ledger = node_with(*pods, version="1.33")
    done = ask(node, ask(node, Resized((), ledger, {}), "b", "4"), "a", "4")
    assert told(done) == [("a", "Deferred"), ("b", "Deferred")]
    assert told(ask(node, done, "full", "1")) == [("full", "allocated"), ("a", "allocated"), ("b", "Deferred")]


def test_the_order_of_those_that_wait() -> None:
    """Priority, then Guaranteed before others, then who waits longest (1.34 to 1.37)."""
    full = burst("full", "3")
    node, ledger = node_with(full, burst("a", "1"), guaranteed("g", "1"), burst("p", "1", 1000), burst("b", "1"))
    done = Resized((), ledger, {})
    for uid in ("a", "b", "g", "p"):
        done = ask(node, done, uid, "5")
    assert list(done.pending) == ["p", "g", "a", "b"]
    after = retry_resizes(node, release(done.ledger, "full"), done.pending, OFFERED)
    assert told(after) == [("p", "allocated"), ("g", "Deferred"), ("a", "Deferred"), ("b", "Deferred")]


def test_who_waits_already_keeps_his_place_whatever_he_asks_for_now() -> None:
    """1.36 sorts only when a pod comes to those that wait."""
    node, ledger = node_with(burst("full", "5"), burst("a", "1"), burst("b", "1"))
    done = ask(node, ask(node, Resized((), ledger, {}), "a", "5"), "b", "5")
    again = ask(node, done, "a", "4")
    assert list(again.pending) == ["a", "b"]
    assert again.pending["a"].containers[0].requests == amounts({"cpu": "4"})


def test_to_ask_for_what_one_has_gives_up_what_was_asked() -> None:
    """As in a run of 1.36: the condition goes. Without anything pending nothing happens at all."""
    node, ledger = node_with(burst("full", "5"), burst("a", "1"))
    done = ask(node, Resized((), ledger, {}), "a", "5")
    back = ask(node, done, "a", "1")
    assert (told(back), back.pending, back.ledger) == ([("a", "reverted")], {}, done.ledger)
    assert told(ask(node, back, "a", "1")) == []


def test_an_infeasible_resize_is_told_once_and_again_after_a_restart() -> None:
    """1.34 and later; a run of 1.36 has the condition all along."""
    node, ledger = node_with(guaranteed("g", "1"), burst("b", "1"), cpu="static")
    done = ask(node, Resized((), ledger, {}), "g", "2")
    assert (told(done), list(done.pending)) == ([("g", "Infeasible")], ["g"])
    done = ask(node, done, "b", "2")
    assert told(done) == [("b", "allocated")]
    assert told(resizes_after_restart(node, done.ledger, done.pending, OFFERED)) == [("g", "Infeasible")]


def test_what_the_api_server_refuses_changes_nothing() -> None:
    """Nothing is pending after it."""
    node, ledger = node_with(burst("a", "1"))
    done = ask(node, Resized((), ledger, {}), "a", "9")
    assert (told(done), done.pending, done.ledger) == ([("a", "refused")], {}, ledger)


def test_while_the_kubelet_is_down_only_the_api_server_answers() -> None:
    """The kubelet finds it at its start."""
    node, ledger = node_with(burst("a", "1"))
    asked = Asked(ledger.active["a"], "app", amounts({"cpu": "2"}))
    done = resize_pod(node, ledger, asked, OFFERED, down=True)
    assert (told(done), list(done.pending)) == ([], ["a"])
    assert told(resizes_after_restart(node, ledger, done.pending, OFFERED)) == [("a", "allocated")]


def test_a_pod_that_ended_is_not_resized() -> None:
    """The API server may take it; the kubelet has allocated nothing to it."""
    node, ledger = node_with(burst("a", "1"))
    asked = Asked(burst("gone", "1"), "app", amounts({"cpu": "2"}))
    assert resize_pod(node, ledger, asked, OFFERED) == Resized((), ledger, {})


def test_at_a_restart_pods_come_with_what_they_had_unless_the_gate_is_off() -> None:
    """Then nobody reads what had been allocated (1.27 to 1.34)."""
    node, ledger = node_with(burst("a", "1"), burst("full", "5"), version="1.34")
    done = ask(node, Resized((), ledger, {}), "a", "5")
    off = settings("1.34", gates={"InPlacePodVerticalScaling": False})
    assert pods_at_restart(node.settings, done.ledger, done.pending) == ledger.active
    assert pods_at_restart(off, done.ledger, done.pending) == {**ledger.active, "a": done.pending["a"]}


SIZES = st.sampled_from(["500m", "1", "2", "3", "5", "8"])


@given(
    st.sampled_from(["1.27", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]),
    st.sampled_from(["none", "static"]),
    st.lists(st.tuples(st.booleans(), SIZES), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), SIZES), max_size=8),
)
def test_what_is_allocated_never_exceeds_what_the_node_offers(
    version: str, cpu: str, pods: list[tuple[bool, str]], resizes: list[tuple[int, str]]
) -> None:
    """Whoever asks for what; and no pod that waits could have what it waits for."""
    node, ledger = running(box(1, 9), settings(version, cpu=cpu, gates=GATE))
    for i, (exclusive, size) in enumerate(pods):
        own = cpus("app", size) if exclusive else container("app", {}, requests={"cpu": size, "memory": "1Gi"})
        ledger = decide(node, ledger, pod(f"p{i}", own), OFFERED).ledger
    done = Resized((), ledger, {})
    for which, size in resizes:
        there = list(done.ledger.active)
        if not there:
            break
        done = ask(node, done, there[which % len(there)], size)
        load = load_of(node.settings, done.ledger.active.values())
        assert load.amounts["cpu"] <= 8000
        assert load.amounts["memory"] <= 16 << 30
        assert set(done.ledger.active) == set(there)
    for wanted in done.pending.values():
        assert not try_resize(node, done.ledger, wanted, OFFERED).admitted


@given(st.sampled_from(["500m", "1", "5"]), SIZES, st.booleans())
def test_to_grow_and_to_shrink_back_gives_back_the_same_load(first: str, second: str, static: bool) -> None:
    """Where both are allocated nothing is left behind, in the managers either."""
    node, ledger = node_with(burst("a", first), burst("b", "500m"), cpu="static" if static else "none")
    there = ask(node, Resized((), ledger, {}), "a", second)
    back = ask(node, there, "a", first)
    if there.pending:
        assert there.ledger.active == ledger.active
    assert (back.pending, back.ledger.active) == ({}, ledger.active)
    assert load_of(node.settings, back.ledger.active.values()) == load_of(node.settings, ledger.active.values())
    assert (back.ledger.cpu, back.ledger.memory) == (ledger.cpu, ledger.memory)
