"""What the kubelet says to a resize."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.decide import decide
from numafit.decision.node import Node
from numafit.decision.resize.request import wanted_pod
from numafit.decision.resize.verdict import try_resize
from numafit.decision.story.story import decision_sentence
from numafit.ledger.ledger import Ledger
from numafit.settings.facts import NodeFacts
from numafit.settings.settings import Settings
from numafit.workload.demands import Demands
from numafit.workload.pod import Pod
from tests.decision.strategies import GI, GPU, amounts, box, container, cpus, gpus, pod, running, settings

GATE = {"InPlacePodVerticalScaling": True}
OFFERED = amounts({"cpu": "7", "memory": "16Gi", "pods": "110"})
EXCLUSIVE = {"InPlacePodVerticalScalingExclusiveCPUs": True}
BOX = box(2, 8, memory=8 * GI, devices=gpus(0, 1))


def burst(uid: str, cpu: str) -> Pod:
    return pod(uid, container("app", {}, requests={"cpu": cpu, "memory": "1Gi"}))


def with_pods(ordered: Settings, *pods: Pod) -> tuple[Node, Ledger]:
    node, ledger = running(BOX, ordered)
    for each in pods:
        decision = decide(node, ledger, each, OFFERED)
        assert decision.admitted
        ledger = decision.ledger
    return node, ledger


def more(had: Pod, **amount: str) -> Pod:
    limits = amounts(amount) if had.containers[0].limits else {}
    return wanted_pod(had, "app", amounts(amount), limits)


@pytest.mark.parametrize("version", ["1.27", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"])
def test_what_fits_is_allocated_and_later_pods_are_judged_by_it(version: str) -> None:
    """All releases with the gate; a run of 1.36 rejects a pod by the resized one's requests."""
    node, ledger = with_pods(settings(version, gates=GATE), burst("a", "1"))
    decision = try_resize(node, ledger, more(burst("a", "1"), cpu="5"), OFFERED)
    assert (decision.resize, decision.admitted, decision.reason) == ("allocated", True, "")
    assert list(decision.ledger.active) == ["a"]
    late = decide(node, decision.ledger, burst("late", "3"), OFFERED)
    assert late.message == "Node didn't have enough resource: cpu, requested: 3000, used: 5000, capacity: 7000"


@pytest.mark.parametrize(("version", "told"), [("1.31", False), ("1.32", True), ("1.35", True), ("1.36", True)])
def test_what_does_not_fit_now_is_deferred(version: str, told: bool) -> None:
    """The pod runs on as it was. Up to 1.31 its status says no more than the word."""
    node, ledger = with_pods(settings(version, gates=GATE), burst("a", "1"), burst("b", "4"))
    decision = try_resize(node, ledger, more(burst("a", "1"), cpu="5"), OFFERED)
    message = "Node didn't have enough resource: cpu, requested: 5000, used: 4000, capacity: 7000"
    assert (decision.resize, decision.reason, decision.message) == ("Deferred", "Deferred", message if told else "")
    assert decision.ledger.active == ledger.active
    assert decision_sentence(node, decision) == (
        "Of cpu the node as a whole has 3 CPUs left of 7 CPUs, and the pod asks for "
        "5 CPUs. The pod runs on as it was, and the resize is tried again when something frees."
    )


@pytest.mark.parametrize(("version", "told"), [("1.31", False), ("1.32", True), ("1.35", True)])
def test_up_to_1_35_the_kubelet_calls_what_no_node_has_infeasible(version: str, told: bool) -> None:
    """Memory is named where both are too much."""
    node, ledger = with_pods(settings(version, gates=GATE), burst("a", "1"))
    decision = try_resize(node, ledger, more(burst("a", "1"), cpu="9", memory="17Gi"), OFFERED)
    message = f"Node didn't have enough capacity: memory, requested: {17 * GI}, capacity: {16 * GI}"
    assert (decision.resize, decision.message) == ("Infeasible", message if told else "")
    assert decision_sentence(node, decision) == (
        "The node has 16Gi for pods altogether, and the pod would ask for 17Gi."
    )


CPU_QUOTED = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
CPU_PLAIN = "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"


@pytest.mark.parametrize(
    ("version", "resource", "message"),
    [
        ("1.31", "cpu", None),
        ("1.32", "cpu", CPU_PLAIN),
        ("1.33", "memory", CPU_PLAIN),
        ("1.34", "cpu", CPU_QUOTED),
        ("1.34", "memory", None),
        ("1.37", "cpu", CPU_QUOTED),
        ("1.37", "memory", None),
    ],
)
def test_under_the_static_cpu_policy_cpus_of_guaranteed_pods_stay(
    version: str, resource: str, message: str | None
) -> None:
    """1.32 and 1.33 refuse every resize of such a pod, later ones those of CPUs, whole or not (a run of 1.36)."""
    had = pod("g", container("app", {"cpu": "1500m", "memory": "1Gi"}))
    node, ledger = with_pods(settings(version, cpu="static", gates=GATE), had)
    wanted = more(had, cpu="2500m") if resource == "cpu" else more(had, memory="2Gi")
    decision = try_resize(node, ledger, wanted, OFFERED)
    if message is None:
        assert decision.resize == "allocated"
    else:
        assert (decision.resize, decision.reason, decision.message) == ("Infeasible", "Infeasible", message)
        assert decision.ledger == ledger


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.32", None),
        ("1.33", "Resize is infeasible for Guaranteed Pods alongside Memory Manager static policy"),
        ("1.36", 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'),
    ],
)
def test_under_the_static_memory_policy_memory_of_guaranteed_pods_stays(version: str, message: str | None) -> None:
    """1.32 compares the policy's name with `static`, which it is not."""
    had = pod("g", cpus("app", "1"))
    ordered = settings(version, memory="Static", reserved_memory={0: {"memory": "1Gi"}}, gates=GATE)
    node, ledger = with_pods(ordered, had)
    decision = try_resize(node, ledger, more(had, memory="2Gi"), OFFERED)
    assert (decision.message or None, decision.resize == "allocated") == (message, message is None)


def test_with_the_alpha_gate_the_cpus_of_1_36_clash_with_what_the_pod_holds() -> None:
    """A resize passes like an addition: the CPU manager has no hint for another number than is held."""
    had = pod("g", cpus("app", "2"))
    gated = settings("1.36", cpu="static", topology="restricted", gates=EXCLUSIVE)
    node, ledger = with_pods(gated, had)
    decision = try_resize(node, ledger, more(had, cpu="3"), OFFERED)
    message = "Resources cannot be allocated with Topology locality"
    assert (decision.resize, decision.reason, decision.message) == ("Deferred", "Deferred", message)
    assert decision.ledger.cpu == ledger.cpu
    assert decision_sentence(node, decision).startswith("Container app asks for 3 CPUs and holds 2 CPUs: `restricted`")


@pytest.mark.parametrize(("version", "topology"), [("1.36", "none"), ("1.36", "best-effort"), ("1.37", "restricted")])
def test_no_resize_changes_exclusive_cpus(version: str, topology: str) -> None:
    """With the alpha gate it is allocated, and the container keeps the CPUs that it had; 1.37 asks no CPU manager."""
    had = pod("g", cpus("app", "2"))
    node, ledger = with_pods(settings(version, cpu="static", topology=topology, gates=EXCLUSIVE), had)
    decision = try_resize(node, ledger, more(had, cpu="3"), OFFERED)
    assert decision.resize == "allocated"
    assert decision.ledger.cpu.entries == ledger.cpu.entries
    assert decision_sentence(node, decision) == (
        "Allocated: from now on the pod counts with 3 CPUs and 1Gi. Its 2 exclusive CPUs stay as they are."
    )


@pytest.mark.parametrize(("version", "held"), [("1.36", "1-2"), ("1.37", None)])
def test_a_container_that_held_no_cpus_gets_some_in_1_36_only(version: str, held: str | None) -> None:
    """From 1500m to 2, with the alpha gate: 1.36 allocates as at an addition, 1.37 allocates nothing."""
    had = pod("g", cpus("app", "1500m"))
    node, ledger = with_pods(settings(version, cpu="static", gates=EXCLUSIVE), had)
    decision = try_resize(node, ledger, more(had, cpu="2"), OFFERED)
    entry = decision.ledger.cpu.entries.get("g", {}).get("app")
    assert (decision.resize, None if entry is None else cpuset_text(entry)) == ("allocated", held)


def test_full_pcpus_only_is_asked_again_up_to_1_36() -> None:
    """With the alpha gate: three CPUs are no whole cores, whatever the container holds."""
    had = pod("g", cpus("app", "2"))
    node, ledger = running(box(1, 4, 2), settings(cpu="static", options={"full-pcpus-only": "true"}, gates=EXCLUSIVE))
    ledger = decide(node, ledger, had, OFFERED).ledger
    decision = try_resize(node, ledger, more(had, cpu="3"), OFFERED)
    assert (decision.resize, decision.message) == (
        "Deferred",
        "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
    )


@pytest.mark.parametrize("version", ["1.32", "1.34"])
def test_up_to_1_34_managers_go_by_what_has_been_allocated(version: str) -> None:
    """With the alpha gate: the CPU manager reads the status, and so its hints are those of the CPUs that it holds."""
    had = pod("g", cpus("app", "2"))
    gated = settings(version, cpu="static", topology="restricted", gates={**GATE, **EXCLUSIVE})
    node, ledger = with_pods(gated, had)
    decision = try_resize(node, ledger, more(had, cpu="3"), OFFERED)
    assert decision.resize == "allocated"
    assert decision.ledger.active["g"].containers[0].allocated is None


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_a_resize_keeps_devices_and_the_order_of_pods(version: str) -> None:
    """The device manager has hints for what the pod holds, in both."""
    had = pod("d", container("app", {GPU: "1"}, requests={"cpu": "1", "memory": "1Gi", GPU: "1"}))
    node, ledger = with_pods(settings(version, topology="single-numa-node"), had, burst("b", "1"))
    decision = try_resize(node, ledger, wanted_pod(had, "app", amounts({"cpu": "2"}), {}), OFFERED)
    assert (decision.resize, list(decision.ledger.active)) == ("allocated", ["d", "b"])
    assert decision.ledger.device.held == ledger.device.held
    assert decision.ledger.affinity == ledger.affinity


@pytest.mark.parametrize(("version", "scheduler", "verdict"), [("1.36", None, "allocated"), ("1.37", True, "Deferred")])
def test_a_critical_pod_evicts_others_to_grow(version: str, scheduler: bool | None, verdict: str) -> None:
    """Up to 1.36 always; in 1.37 not with the alpha gate that leaves it to the scheduler."""
    high = replace(burst("high", "1"), priority=2_000_000_000)
    gates = {} if scheduler is None else {"InPlacePodVerticalScalingSchedulerPreemption": scheduler}
    node, ledger = with_pods(settings(version, gates=gates), high, burst("low", "5"))
    decision = try_resize(node, ledger, more(high, cpu="4"), OFFERED)
    gone = ["low"] if verdict == "allocated" else []
    assert (decision.resize, [victim.pod.uid for victim in decision.evicted]) == (verdict, gone)
    assert list(decision.ledger.active) == [uid for uid in ("high", "low") if uid not in gone]
    if gone:
        assert decision_sentence(node, decision).endswith(
            "It is critical, and the node as a whole lacked 2 CPUs for it: default/pod-low is evicted."
        )


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.30", ""),
        ("1.36", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
    ],
)
def test_a_node_that_has_lost_the_label_of_a_pod_puts_its_resize_off(version: str, message: str) -> None:
    """All releases with the gate: a resize passes the checks of an admission. The pod runs on, as after a restart."""
    had = replace(burst("a", "1"), demands=Demands(selector=(("disk", "ssd"),)))
    node, ledger = with_pods(settings(version, gates=GATE), had)
    node = replace(node, facts=NodeFacts("one", {"disk": "hdd"}))
    decision = try_resize(node, ledger, more(had, cpu="2"), OFFERED)
    assert (decision.resize, decision.message, decision.ledger.active) == ("Deferred", message, ledger.active)
    assert decision_sentence(node, decision) == (
        "The pod wants a node with disk=ssd, and its disk is hdd. The pod runs on "
        "as it was, and the resize is tried again when something frees."
    )
