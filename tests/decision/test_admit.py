"""Admission: order, scopes, verdicts in the kubelet's words, and what a rejected pod leaves behind."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text, parse_cpuset
from numafit.decision.admit import admit
from numafit.decision.decision import Decision, Placement
from numafit.decision.node import Node
from numafit.ledger.ledger import Block, Held, Hint, Ledger
from numafit.workload.pod import Container, Pod
from tests.decision.strategies import GI, GPU, SEED_BOX, box, container, cpus, gpus, memory, pod, running, settings

BOTH_GATES = {"PodLevelResources": True, "PodLevelResourceManagers": True}
LOCALITY = ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


def unexpected(text: str) -> tuple[str, str]:
    return "UnexpectedAdmissionError", f"Allocate failed due to {text}, which is unexpected"


def full_node(
    policy: str,
    scope: str = "container",
    version: str = "1.36",
    options: dict[str, str] | None = None,
    gates: dict[str, bool] | None = None,
) -> tuple[Node, Ledger]:
    """All three managers: 28 CPUs, 10Gi allocatable and three GPUs over two NUMA nodes."""
    machine = box(2, 28, memory=11 * GI, devices=gpus(0, 1, 1))
    ordered = settings(
        version,
        cpu="static",
        options=options,
        memory="Static",
        reserved_memory={0: {"memory": "1Gi"}, 1: {"memory": "1Gi"}},
        topology=policy,
        scope=scope,
        gates=gates,
    )
    return running(machine, ordered)


def occupied(ledger: Ledger, taken: str, *ids: str) -> Ledger:
    """A pod `old` holds these CPUs and GPUs."""
    own = parse_cpuset(taken)
    cpu = replace(ledger.cpu, default=ledger.cpu.default & ~own, entries={"old": {"app": own}}, file=None)
    device = ledger.device
    if ids:
        held = Held({0: ids}, frozenset(ids), b"")
        device = replace(device, held={"old": {"app": {GPU: held}}}, allocated={GPU: frozenset(ids)})
    return replace(ledger, cpu=cpu, device=device, active={"old": pod("old", cpus("app", "1"))})


def verdict(decision: Decision) -> tuple[str, str] | None:
    """None: admitted."""
    assert decision.admitted == (not decision.reason)
    return None if decision.admitted else (decision.reason, decision.message)


# --- the field report of a kubelet 1.20 ------------------------------------------------------------------------------

SEED_ROWS = [
    ("", (), "3", 0, (1, True), "1-3", ()),
    ("", (), "13", 0, (1, True), "1-13", ()),
    ("", (), "14", 0, (2, True), "14-27", ()),
    ("14-27", (), "12", 0, (1, True), "1-12", ()),
    ("", (), "3", 1, (1, True), "1-3", ("GPU0",)),
    ("", (), "3", 2, (2, True), "14-16", ("GPU1", "GPU2")),
    ("1-3", ("GPU0",), "3", 1, (2, True), "14-16", ("GPU1",)),
    ("14-16", ("GPU1",), "3", 1, (1, True), "1-3", ("GPU0",)),
    ("14-16", ("GPU2",), "12", 0, (1, True), "1-12", ()),
    ("14-16", ("GPU2",), "16", 1, None, None, ("GPU0",)),
    ("14-16", ("GPU2",), "500m", 2, (3, False), "", ("GPU0", "GPU1")),
    ("14-16", ("GPU2",), "16", 2, (3, False), "1-5,17-27", ("GPU0", "GPU1")),
]
SIXTEEN_AND_A_GPU: dict[str, tuple[Hint, str]] = {
    "1.20": ((1, True), "1-13,17-19"),
    "1.36": ((3, False), "1-5,17-27"),
}
"""The one row in which the releases differ: since 1.24 a merged hint is preferred only if all masks are equal."""


@pytest.mark.parametrize("version", ["1.20", "1.36"])
@pytest.mark.parametrize(("taken", "taken_gpus", "wanted", "wanted_gpus", "merged", "expected", "ids"), SEED_ROWS)
def test_the_field_report_of_28_cpus_and_three_gpus(
    version: str,
    taken: str,
    taken_gpus: tuple[str, ...],
    wanted: str,
    wanted_gpus: int,
    merged: Hint | None,
    expected: str | None,
    ids: tuple[str, ...],
) -> None:
    """best-effort in the container scope; CPU 0 reserved (kubelet 1.20, and what 1.36 makes of it)."""
    if merged is None or expected is None:
        merged, expected = SIXTEEN_AND_A_GPU[version]
    node, ledger = running(SEED_BOX, settings(version, cpu="static", topology="best-effort"))
    devices = {GPU: str(wanted_gpus)} if wanted_gpus else {}
    decision = admit(node, occupied(ledger, taken, *taken_gpus), pod("p", cpus("app", wanted, devices)))
    placement = decision.containers["app"]
    found_ids = tuple(placement.devices.get(GPU, {}))
    assert (placement.affinity, cpuset_text(placement.cpus or 0), found_ids) == (merged, expected, ids)
    assert (decision.admitted, [step.best for step in decision.merges or ()]) == (True, [merged])


@pytest.mark.parametrize(
    ("version", "expected"), [("1.20", None), ("1.23", None), ("1.24", LOCALITY), ("1.36", LOCALITY)]
)
def test_since_1_24_restricted_rejects_hints_that_are_not_equal(version: str, expected: object) -> None:
    """16 CPUs need both nodes, the GPU one: both preferred, but for different masks."""
    node, ledger = running(SEED_BOX, settings(version, cpu="static", topology="restricted"))
    decision = admit(node, occupied(ledger, "14-16", "GPU2"), pod("p", cpus("app", "16", {GPU: "1"})))
    assert verdict(decision) == expected


# --- who reports a shortage ------------------------------------------------------------------------------------------

NO_DEVICES = unexpected(f"requested number of devices unavailable for {GPU}. Requested: 4, Available: 3")
NO_CPUS = unexpected("not enough cpus available to satisfy request: requested=28, available=27")
NO_CPUS_LEFT = unexpected("not enough cpus available to satisfy request: requested=15, available=14")
"""After the 13 of the node that the memory hints lead to."""
NO_DEFAULT = unexpected(
    "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
)
NO_EXTENSION = unexpected("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
TOO_MANY_DEVICES = container("app", {GPU: "4"})
TOO_MANY_CPUS = cpus("app", "28")
TOO_MUCH_MEMORY = memory("app", "25Gi")


@pytest.mark.parametrize(
    ("wanted", "policy", "expected"),
    [
        (TOO_MANY_DEVICES, "none", NO_DEVICES),
        (TOO_MANY_DEVICES, "best-effort", NO_DEVICES),
        (TOO_MANY_DEVICES, "restricted", LOCALITY),
        (TOO_MANY_DEVICES, "single-numa-node", LOCALITY),
        (TOO_MANY_CPUS, "none", NO_CPUS),
        (TOO_MANY_CPUS, "best-effort", NO_CPUS_LEFT),
        (TOO_MANY_CPUS, "restricted", LOCALITY),
        (TOO_MANY_CPUS, "single-numa-node", LOCALITY),
        (TOO_MUCH_MEMORY, "none", NO_DEFAULT),
        (TOO_MUCH_MEMORY, "best-effort", NO_EXTENSION),
        (TOO_MUCH_MEMORY, "restricted", NO_EXTENSION),
        (TOO_MUCH_MEMORY, "single-numa-node", NO_DEFAULT),
    ],
)
def test_a_shortage_is_reported_by_the_merge_or_by_the_manager(
    wanted: Container, policy: str, expected: tuple[str, str]
) -> None:
    """CPUs and devices that are not there are an empty list of hints; memory has no preference then (1.36)."""
    node, ledger = full_node(policy)
    assert verdict(admit(node, ledger, pod("p", wanted))) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("none", None), ("best-effort", None), ("restricted", LOCALITY), ("single-numa-node", LOCALITY)],
)
def test_what_fits_but_not_together_is_rejected_by_the_strict_policies(policy: str, expected: object) -> None:
    """CPUs are free on node 1 only, a GPU on node 0 only (1.36)."""
    node, ledger = full_node(policy)
    decision = admit(node, occupied(ledger, "1-13", "GPU1", "GPU2"), pod("p", cpus("app", "3", {GPU: "1"})))
    assert verdict(decision) == expected


def test_managers_are_asked_in_the_order_device_cpu_memory() -> None:
    """The first one that cannot ends the admission (all releases)."""
    node, ledger = full_node("none")
    limits = {"cpu": "28", "memory": "25Gi", GPU: "4"}
    found = []
    for dropped in (None, GPU, "cpu"):
        if dropped is not None:
            limits[dropped] = "1"
        found.append(verdict(admit(node, ledger, pod("p", container("app", dict(limits))))))
    assert found == [NO_DEVICES, NO_CPUS, NO_DEFAULT]


def test_hints_stand_in_the_order_of_the_managers() -> None:
    """Two before there was a memory manager, three since (1.20 and 1.36)."""
    for version, expected in (("1.20", [{GPU}, {"cpu"}]), ("1.36", [{GPU}, {"cpu"}, {"memory"}])):
        node, ledger = full_node("best-effort", version=version)
        decision = admit(node, ledger, pod("p", cpus("app", "2", {GPU: "1"})))
        assert decision.merges is not None
        assert [set(hints or ()) for hints in decision.merges[0].providers] == expected


def test_an_smt_error_keeps_its_reason_and_text() -> None:
    """A typed error since 1.22, when full-pcpus-only came."""
    for version in ("1.23", "1.36"):
        ordered = settings(version, cpu="static", options={"full-pcpus-only": "true"})
        node, ledger = running(box(1, 4, 2), ordered)
        assert verdict(admit(node, ledger, pod("p", cpus("app", "3")))) == (
            "SMTAlignmentError",
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
        )


# --- scopes ----------------------------------------------------------------------------------------------------------

TWO_CONTAINERS = pod("p", cpus("app", "10"), cpus("side", "10"), init=[cpus("setup", "2")])


def test_in_the_container_scope_hints_see_what_earlier_containers_took() -> None:
    """Init containers first; one merge per container (all releases)."""
    node, ledger = full_node("restricted")
    decision = admit(node, ledger, TWO_CONTAINERS)
    assert decision.admitted
    assert [(step.container, step.best) for step in decision.merges or ()] == [
        ("setup", (1, True)),
        ("app", (1, True)),
        ("side", (2, True)),
    ]
    assert {name: cpuset_text(own.cpus or 0) for name, own in decision.containers.items()} == {
        "setup": "1-2",
        "app": "1-10",
        "side": "14-23",
    }


def test_in_the_pod_scope_one_merge_counts_for_all_containers() -> None:
    """20 CPUs need both nodes, 2Gi only one: restricted rejects, best-effort has one hint for all (1.24 and later)."""
    node, ledger = full_node("restricted", "pod")
    decision = admit(node, ledger, TWO_CONTAINERS)
    assert verdict(decision) == LOCALITY
    node, ledger = full_node("best-effort", "pod")
    decision = admit(node, ledger, TWO_CONTAINERS)
    assert [(step.container, step.best) for step in decision.merges or ()] == [("", (3, False))]
    assert {own.affinity for own in decision.containers.values()} == {(3, False)}


def test_policy_none_merges_nothing() -> None:
    """Containers have no affinity then (all releases)."""
    node, ledger = full_node("none")
    decision = admit(node, ledger, pod("p", cpus("app", "2", {GPU: "1"})))
    assert (decision.merges, decision.qos) == (None, "Guaranteed")
    assert decision.containers == {
        "app": Placement(
            (None, False),
            parse_cpuset("1-2"),
            (Block((0,), "memory", GI),),
            {GPU: {"GPU0": (0,)}},
        )
    }


def test_a_pod_that_no_manager_cares_for_is_admitted() -> None:
    """No preference at all: the default affinity, which single-numa-node stores as none (all releases)."""
    for policy, affinity in (("restricted", (3, True)), ("single-numa-node", (None, True))):
        node, ledger = full_node(policy)
        decision = admit(node, ledger, pod("p", container("app")))
        assert (decision.admitted, decision.qos) == (True, "BestEffort")
        assert decision.containers == {"app": Placement(affinity)}


# --- what stays behind -----------------------------------------------------------------------------------------------


def test_a_rejected_pod_leaves_what_it_got_until_the_next_one_comes() -> None:
    """Nothing is rolled back: the CPUs, memory and GPU of its first container stay in the state (all releases)."""
    node, ledger = full_node("none")
    decision = admit(node, ledger, pod("p", cpus("app", "3", {GPU: "1"}), cpus("side", "28")))
    assert verdict(decision) == unexpected("not enough cpus available to satisfy request: requested=28, available=24")
    left = decision.ledger
    assert (left.active, left.affinity) == ({}, {})
    assert {uid: {name: cpuset_text(own) for name, own in held.items()} for uid, held in left.cpu.entries.items()} == {
        "p": {"app": "1-3"}
    }
    assert left.memory.entries == {"p": {"app": (Block((0,), "memory", GI),)}}
    assert left.device.held["p"]["app"][GPU].ids == {"GPU0"}
    after = admit(node, left, pod("next", cpus("app", "2", {GPU: "3"}))).ledger
    assert (set(after.cpu.entries), set(after.memory.entries), set(after.device.held)) == ({"next"}, {"next"}, {"next"})
    assert cpuset_text(after.cpu.default) == "0,3-27"


def test_a_rejected_merge_leaves_the_containers_before_it() -> None:
    """Container scope: the second container has no node left (all releases)."""
    node, ledger = full_node("single-numa-node")
    decision = admit(node, ledger, pod("p", cpus("app", "14"), cpus("side", "14")))
    assert verdict(decision) == LOCALITY
    assert [(step.container, step.admit) for step in decision.merges or ()] == [("app", True), ("side", False)]
    assert decision.containers["side"] == Placement((None, False))
    assert decision.ledger.cpu.entries == {"p": {"app": parse_cpuset("14-27")}}


def test_a_crash_is_no_verdict() -> None:
    """A page size that the nodes do not list: the kubelet's process ends, the text is Go's (1.21 to 1.36)."""
    node, ledger = full_node("none")
    decision = admit(node, ledger, pod("p", memory("app", "1Gi", {"hugepages-1Gi": "1Gi"})))
    assert (decision.admitted, decision.reason, decision.message) == (False, "", "")
    assert decision.panic == "runtime error: invalid memory address or nil pointer dereference"


def test_a_pod_that_is_known_is_admitted_again_with_what_it_has() -> None:
    """As after a restart of the kubelet (all releases)."""
    node, ledger = full_node("restricted")
    wanted = pod("p", cpus("app", "3", {GPU: "1"}))
    first = admit(node, ledger, wanted)
    again = admit(node, first.ledger, wanted)
    assert (again.admitted, again.containers, again.plugin_calls) == (True, first.containers, ())
    assert again.ledger.cpu.entries == first.ledger.cpu.entries
    assert again.ledger.memory.nodes == first.ledger.memory.nodes


# --- pods that are managed as a whole --------------------------------------------------------------------------------


def managed(uid: str, cpu: str) -> Pod:
    return pod(uid, cpus("app", "2"), container("side"), whole={"cpu": cpu, "memory": "4Gi"})


def test_a_managed_pod_is_allocated_at_once_in_the_pod_scope() -> None:
    """One merge, one hint for all, one allocation; devices wait for the containers (1.36)."""
    node, ledger = full_node("restricted", "pod", gates=BOTH_GATES)
    decision = admit(node, ledger, managed("p", "6"))
    assert decision.admitted
    assert {name: (own.affinity, cpuset_text(own.cpus or 0)) for name, own in decision.containers.items()} == {
        "app": ((1, True), "1-2"),
        "side": ((1, True), "3-6"),
    }
    assert (decision.ledger.cpu.pod_entries, decision.ledger.memory.pod_entries) == (
        {"p": parse_cpuset("1-6")},
        {"p": (Block((0,), "memory", 4 * GI),)},
    )


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (
            "container",
            "Pod Scope pod with pod-level resources failed admission with a container-level topology manager",
        ),
        ("pod", "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"),
    ],
)
def test_a_managed_pod_that_the_merge_rejects_has_texts_of_its_own(scope: str, text: str) -> None:
    """The reason is the usual one (1.36 with PodLevelResourceManagers)."""
    node, ledger = full_node("single-numa-node", scope, gates=BOTH_GATES)
    wanted = pod("p", cpus("app", "20"), whole={"cpu": "20", "memory": "4Gi"})
    assert verdict(admit(node, ledger, wanted)) == ("TopologyAffinityError", text)


def test_a_managed_pod_without_anything_to_share_is_rejected_by_name() -> None:
    """best-effort lets the empty hints pass, and the CPU manager refuses (1.36 with PodLevelResourceManagers)."""
    node, ledger = full_node("best-effort", "pod", gates=BOTH_GATES)
    assert verdict(admit(node, ledger, managed("p", "2"))) == (
        "EmptyPodSharedPoolError",
        "pod rejected, sum of exclusive container cpu requests equals pod budget, "
        "leaving no cpus for shared containers",
    )
