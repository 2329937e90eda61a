"""The node as a whole: what it has, who is refused for want of it, and who goes for a critical pod."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.decide import (
    Load,
    decide,
    load_after,
    load_of,
    offered_by,
    requests_of,
    shortages,
    wanted_of,
)
from numafit.decision.decision import Decision, NodeShort, NothingToEvict, Preempted, Unsuited
from numafit.decision.life import release, start_containers
from numafit.ledger.ledger import DeviceLedger, Held, Ledger
from numafit.managers.protocol import WatchedChoices
from numafit.settings.facts import NodeFacts
from numafit.settings.settings import Settings
from numafit.workload.demands import Demands, HostPort
from numafit.workload.pod import CRITICAL, Pod
from tests.decision.evictions import check_victims, missing_of
from tests.decision.strategies import (
    GI,
    GPU,
    MI,
    NIC,
    Ordered,
    amounts,
    box,
    container,
    cpus,
    gpus,
    nodes,
    pod,
    running,
    settings,
)
from tests.decision.strategies import pods as any_pods

THING = "nobody.io/thing"
NEW = settings("1.36")


def asks(uid: str, **requests: str) -> Pod:
    """A Burstable pod; `_` stands for `-`."""
    return pod(
        uid, container("app", {}, requests={name.replace("_", "-"): amount for name, amount in requests.items()})
    )


def decided(wanted: Pod, offered: dict[str, str], *others: Pod, ordered: Settings = NEW) -> Decision:
    node, ledger = running(box(2, 16, memory=8 * GI), ordered)
    ledger = replace(ledger, active={other.uid: other for other in others})
    return decide(node, ledger, wanted, amounts(offered))


def names(short: tuple[NodeShort, ...]) -> list[str]:
    return [each.resource for each in short]


def short_of(
    wanted: Pod, offered: dict[str, int], others: Load | None = None, ordered: Settings = NEW
) -> tuple[NodeShort, ...]:
    return shortages(ordered, wanted_of(ordered, wanted, offered), others or Load(), offered)


# --- what the node has -----------------------------------------------------------------------------------------------


def test_a_huge_page_size_that_the_node_does_not_list_is_none_of_it() -> None:
    """As in a run of 1.36.3, of a Burstable pod."""
    decision = decided(asks("a", cpu="1", hugepages_32Mi="32Mi"), {"cpu": "8", "memory": "8Gi", "pods": "110"})
    assert decision.reason == "OutOfhugepages-32Mi"
    text = "Node didn't have enough resource: hugepages-32Mi, requested: 33554432, used: 0, capacity: 0"
    assert (decision.admitted, decision.message) == (False, text)


def test_a_device_that_the_node_does_not_list_is_dropped() -> None:
    thing = pod("a", container("app", {"cpu": "1", "memory": "1Gi", THING: "2"}))
    assert decided(thing, {"cpu": "8", "memory": "8Gi"}).admitted
    refused = decided(thing, {"cpu": "8", "memory": "8Gi", THING: "3"}, replace(thing, uid="b"))
    assert refused.cause == NodeShort(THING, 2, 2, 3)
    assert refused.reason == "OutOfnobody.io/thing"


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("example.com/kubernetes.io/x", True),
        ("kubernetes.io/batch", True),
        ("requests.nobody.io/thing", False),
        ("attachable-volumes-x", True),
        ("storage", False),
        ("hugepages-1Gi", True),
    ],
)
def test_of_native_names_only_those_with_a_kind_are_counted(name: str, counts: bool) -> None:
    """Huge pages, volumes and names of kubernetes.io; others the fit check does not know (1.20 to 1.37)."""
    wanted = {name: 1}
    assert shortages(NEW, wanted, Load(), {"cpu": 1}) == ((NodeShort(name, 1, 0, 0),) if counts else ())


def test_storage_that_nobody_told_is_not_compared() -> None:
    wanted = asks("a", cpu="1", ephemeral_storage="3Ti")
    assert decided(wanted, {"cpu": "8", "memory": "8Gi"}).admitted
    refused = decided(wanted, {"cpu": "8", "memory": "8Gi", "ephemeral-storage": "1Gi"})
    assert refused.reason == "OutOfephemeral-storage"


def test_nothing_is_compared_where_it_is_not_known_what_the_node_has() -> None:
    assert decided(asks("a", cpu="800", hugepages_32Mi="32Mi"), {}).admitted


def test_all_shortages_come_in_the_kubelets_order_and_the_first_is_the_reason() -> None:
    """Pods, CPUs, memory, storage; then the others, which the kubelet takes out of a map, by name."""
    wanted = asks("a", hugepages_2Mi="2Mi", hugepages_1Gi="1Gi", ephemeral_storage="2", memory="2Gi", cpu="2")
    offered = {"pods": "0", "cpu": "1", "memory": "1Gi", "ephemeral-storage": "1"}
    decision = decided(wanted, offered)
    assert names(decision.short) == ["pods", "cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi"]
    assert decision.cause == decision.short[0] == NodeShort("pods", 1, 0, 0)


@pytest.mark.parametrize(("version", "short"), [("1.20", ["cpu"]), ("1.27", ["cpu"]), ("1.28", []), ("1.36", [])])
def test_up_to_1_27_a_node_that_gave_away_too_much_refuses_all_who_ask_for_anything(
    version: str, short: list[str]
) -> None:
    others = Load(1, {"cpu": 9000})
    offered = {"cpu": 8000, "memory": 8 * GI, "pods": 110}
    assert names(short_of(asks("a", memory="1Gi"), offered, others, settings(version))) == short
    assert short_of(asks("b"), offered, others, settings(version)) == ()


@pytest.mark.parametrize(("version", "short"), [("1.25", [GPU]), ("1.26", [])])
def test_up_to_1_25_so_does_one_that_gave_away_too_many_devices(version: str, short: list[str]) -> None:
    wanted = pod("a", container("app", {"cpu": "1", GPU: "0"}))
    offered = {"cpu": 8000, "memory": 8 * GI, GPU: 1}
    assert names(short_of(wanted, offered, Load(1, {GPU: 2}), settings(version))) == short


@pytest.mark.parametrize(("version", "short"), [("1.20", [THING]), ("1.30", [THING]), ("1.31", []), ("1.37", [])])
def test_up_to_1_30_a_device_that_is_not_listed_is_dropped_from_app_containers_only(
    version: str, short: list[str]
) -> None:
    wanted = pod("a", cpus("app", "1", {THING: "4"}), init=[cpus("init", "1", {THING: "2"})])
    found = short_of(wanted, {"cpu": 8000, "memory": 8 * GI}, ordered=settings(version))
    assert names(found) == short
    assert [each.asked for each in found] == [2] * len(short)


@pytest.mark.parametrize(
    ("version", "gate", "unlisted", "none"),
    [
        ("1.33", False, True, True),
        ("1.34", False, True, True),
        ("1.34", True, False, True),
        ("1.35", True, False, False),
        ("1.36", True, True, True),
    ],
)
def test_devices_by_dynamic_resources_were_left_out_of_the_check_while_they_were_alpha(
    version: str, gate: bool, unlisted: bool, none: bool
) -> None:
    """1.34 and 1.35 leave out whatever the node does not list, huge pages too; 1.35 also what it lists none of."""
    ordered = settings(version, gates={"DRAExtendedResource": gate})
    wanted = {"hugepages-2Mi": 2 * MI}
    assert bool(shortages(ordered, wanted, Load(), {"cpu": 1})) is unlisted
    assert bool(shortages(ordered, wanted, Load(), {"cpu": 1, "hugepages-2Mi": 0})) is none


@pytest.mark.parametrize(("version", "cpu"), [("1.27", 3000), ("1.28", 5000), ("1.36", 5000)])
def test_the_sum_of_a_pod_knows_sidecars_from_1_28_on(version: str, cpu: int) -> None:
    sidecar = container("sidecar", {}, requests={"cpu": "2"}, restartable=True)
    wanted = pod("a", container("app", {}, requests={"cpu": "3"}), init=[sidecar])
    assert requests_of(settings(version), wanted) == {"cpu": cpu}


def test_overhead_and_storage_follow_their_gates_as_long_as_there_are_gates() -> None:
    wanted = replace(asks("a", cpu="1", ephemeral_storage="2Gi"), overhead=amounts({"cpu": "1"}))
    old = settings("1.23", gates={"PodOverhead": False, "LocalStorageCapacityIsolation": False})
    assert requests_of(old, wanted)["cpu"] == 1000
    assert requests_of(NEW, wanted)["cpu"] == 2000
    offered = {"cpu": 8000, "memory": GI, "ephemeral-storage": GI}
    assert short_of(wanted, offered, ordered=old) == ()
    assert names(short_of(wanted, offered)) == ["ephemeral-storage"]


def test_the_devices_of_a_node_are_raised_to_those_allocated_only_for_a_pod_that_holds_some() -> None:
    """Else only healthy ones count, and none of a resource whose plugin never came back (1.20 to 1.37)."""
    held = {"a": {"app": {GPU: Held({0: ("g0", "g1")}, frozenset({"g0", "g1"}), b"")}}}
    device = DeviceLedger(
        healthy={GPU: frozenset({"g0"})}, allocated={GPU: frozenset({"g0", "g1"}), NIC: frozenset({"n0"})}, held=held
    )
    known = amounts({"cpu": "2", THING: "4"})
    assert offered_by(device, known, "a") == {"cpu": 2000, THING: 4, GPU: 2, NIC: 1}
    assert offered_by(device, known, "b") == {"cpu": 2000, THING: 4, GPU: 1}
    assert offered_by(device, {}, "a") == {}


# --- critical pods ---------------------------------------------------------------------------------------------------


def test_others_go_for_a_critical_pod_and_are_decisions_of_their_own() -> None:
    """The run critical-preempts of 1.36.3: what the managers gave the victims stays until stale state is removed."""
    node, ledger = running(box(2, 16), settings("1.36", cpu="static"))
    offered = amounts({"cpu": "15", "memory": "8Gi", "pods": "110"})
    for each in (pod("g1", cpus("app", "6")), asks("b1", cpu="5"), asks("b2", cpu="3500m")):
        decision = decide(node, ledger, each, offered)
        ledger = start_containers(node, decision.ledger, each.uid)[0]
    critical = replace(pod("critical", cpus("app", "6")), priority=CRITICAL)
    decision = decide(node, ledger, critical, offered)
    assert (decision.admitted, decision.reason, decision.cause) == (True, "", None)
    assert decision.short == (NodeShort("cpu", 6000, 14500, 15000),)
    assert [(each.pod.uid, each.qos, each.admitted) for each in decision.evicted] == [
        ("b1", "Burstable", False),
        ("b2", "Burstable", False),
    ]
    first = decision.evicted[0]
    assert (first.reason, first.message) == ("Preempting", "Preempted in order to admit critical pod")
    assert first.cause == Preempted(
        "default/pod-critical", "Burstable", {"cpu": 5500}, {"cpu": 5000}, (500 / 5500) ** 2, 2, 0
    )
    assert list(decision.ledger.active) == ["g1", "critical"]
    assert list(decision.evicted[0].ledger.active) == ["g1", "b2", "critical"]
    load = load_of(node.settings, ledger.active.values())
    assert load_after(node.settings, load, decision) == load_of(node.settings, decision.ledger.active.values())


def test_a_critical_pod_for_which_too_few_may_go_is_refused_with_what_is_missing() -> None:
    """The message of the run out-of-static-pods of 1.36.3, with what would be missing without all who may go."""
    static = replace(asks("a", cpu="2", memory="3Gi"), static=True)
    offered = {"cpu": "3", "memory": "4Gi", "pods": "110"}
    other = replace(asks("b", cpu="1900m", memory="2Gi"), static=True)
    decision = decided(static, offered, other, asks("c", cpu="500m"))
    assert decision.cause == NothingToEvict(decision.short, {"cpu": 900, "memory": GI}, 1)
    assert (decision.admitted, decision.reason, decision.shortage) == (False, "UnexpectedAdmissionError", "cpu")
    assert decision.message == (
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods "
        "to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 900), (res: memory, q: "
        "1073741824), ]"
    )
    assert list(decision.ledger.active) == ["b", "c"]


def test_a_high_priority_below_the_critical_ones_evicts_nobody() -> None:
    high = replace(asks("a", cpu="2"), priority=CRITICAL - 1)
    decision = decided(high, {"cpu": "2", "pods": "110"}, asks("b", cpu="1"))
    assert (decision.reason, decision.evicted) == ("OutOfcpu", ())


def test_the_topology_manager_comes_first_and_knows_no_priority() -> None:
    node, ledger = running(box(2, 8, devices=gpus(0, 1)), settings(cpu="static", topology="single-numa-node"))
    critical = replace(pod("a", cpus("app", "6")), priority=CRITICAL)
    decision = decide(node, ledger, critical, amounts({"cpu": "4", "pods": "110"}))
    assert (decision.reason, decision.evicted) == ("TopologyAffinityError", ())


def test_who_asks_what_fits_has_nobody_evicted() -> None:
    node, ledger = running(box(2, 16), NEW)
    ledger = replace(ledger, active={"b": asks("b", cpu="1")})
    critical = replace(asks("a", cpu="2"), priority=CRITICAL)
    decision = decide(node, ledger, critical, amounts({"cpu": "2"}), evicts=False)
    assert (decision.reason, decision.evicted) == ("OutOfcpu", ())


def test_which_of_equal_pods_goes_is_recorded_as_left_to_chance() -> None:
    node, ledger = running(box(2, 16), NEW)
    ledger = replace(ledger, active={uid: pod(uid, container("app", {})) for uid in ("a", "b")})
    critical = replace(asks("c", cpu="1"), priority=CRITICAL)
    watched = WatchedChoices()
    decision = decide(node, ledger, critical, amounts({"cpu": "2", "pods": "2"}), watched)
    assert [each.pod.uid for each in decision.evicted] == ["b"]
    assert [(draw.kind, draw.candidates, draw.count) for draw in watched.draws] == [("victim", 2, 1)]


# --- laws ------------------------------------------------------------------------------------------------------------

PRIORITIES = st.sampled_from([None, None, 0, 10, CRITICAL, CRITICAL + 1000])


@st.composite
def crowds(draw: st.DrawFn) -> list[Pod]:
    crowd = [draw(any_pods(f"uid-{number}")) for number in range(draw(st.integers(1, 12)))]
    return [replace(each, priority=draw(PRIORITIES)) for each in crowd]


OFFERS = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["3", "8", "24"]),
        "memory": st.sampled_from(["4Gi", "20Gi"]),
        "pods": st.sampled_from(["2", "4", "20"]),
    }
)


@given(nodes(policies=("none", "best-effort")), crowds(), OFFERS)
def test_a_node_never_gives_more_than_it_has(on: Ordered, crowd: list[Pod], offer: dict[str, str]) -> None:
    """Whoever is evicted: what is active fits the node, by the sums that the fit check makes of it.

    Up to 1.33 an evicted pod is taken to free less than it does where it has sidecars, so never too much."""
    node, ledger = running(on.machine, on.settings, on.plugins)
    known = amounts(offer)
    for each in crowd:
        before = ledger
        decision = decide(node, ledger, each, known)
        if decision.panic:
            return
        ledger = start_containers(node, decision.ledger, each.uid)[0] if decision.admitted else decision.ledger
        load = load_of(node.settings, ledger.active.values())
        offered = offered_by(ledger.device, known)
        assert load.pods <= offered["pods"]
        assert all(load.amounts.get(name, 0) <= offered[name] for name in ("cpu", "memory"))
        _check_evictions(node.settings, before, decision)


def _check_evictions(ordered: Settings, before: Ledger, decision: Decision) -> None:
    gone = set(before.active) - set(decision.ledger.active)
    assert gone == {victim.pod.uid for victim in decision.evicted}
    if not decision.evicted:
        assert not (decision.admitted and decision.short)
        return
    assert decision.admitted
    assert decision.pod.critical
    others = [other for uid, other in before.active.items() if uid != decision.pod.uid]
    check_victims(ordered, decision.pod, others, missing_of(decision.short), decision.evicted)
    ledger = decision.ledger
    assert all(release(ledger, victim.pod.uid) == ledger for victim in decision.evicted)


# --- what counts nothing ---------------------------------------------------------------------------------------------

WINDOWS = Demands(os="windows")
ELSEWHERE = Demands(selector=(("disk", "hdd"),))
ROOM = {"cpu": "8", "memory": "8Gi", "pods": "110"}


def on_ssd(wanted: Pod, offered: dict[str, str], *others: Pod, ordered: Settings = NEW) -> Decision:
    node, ledger = running(box(2, 16, memory=8 * GI), ordered)
    node = replace(node, facts=NodeFacts("one", {"disk": "ssd"}))
    ledger = replace(ledger, active={other.uid: other for other in others})
    return decide(node, ledger, wanted, amounts(offered))


def test_a_pod_that_its_node_does_not_suit_is_refused_after_all_shortages() -> None:
    """1.20 to 1.37."""
    wanted = replace(asks("a", cpu="1"), demands=ELSEWHERE)
    refused = on_ssd(wanted, ROOM)
    assert (refused.reason, refused.cause) == (
        "NodeAffinity",
        Unsuited("NodeAffinity", refused.message, {"selector": "disk=hdd", "label": "ssd"}),
    )
    assert wanted.uid not in refused.ledger.active
    assert on_ssd(wanted, ROOM | {"cpu": "0"}).reason == "OutOfcpu"


def test_nobody_goes_for_a_critical_pod_that_its_node_does_not_suit() -> None:
    """It is refused for that alone, though resources come first in the list."""
    wanted = replace(asks("a", cpu="8"), demands=ELSEWHERE, priority=CRITICAL)
    refused = on_ssd(wanted, ROOM, asks("b", cpu="4"))
    assert (refused.reason, refused.evicted) == ("NodeAffinity", ())


@pytest.mark.parametrize(("version", "victims"), [("1.28", ["b"]), ("1.29", [])])
def test_up_to_1_28_others_went_for_a_critical_pod_of_another_system(version: str, victims: list[str]) -> None:
    wanted = replace(asks("a", cpu="8"), demands=WINDOWS, priority=CRITICAL)
    refused = on_ssd(wanted, ROOM, asks("b", cpu="4"), ordered=settings(version))
    assert refused.reason == "PodOSNotSupported"
    assert [each.pod.uid for each in refused.evicted] == victims
    assert list(refused.ledger.active) == [uid for uid in ("b",) if uid not in victims]


def test_a_port_of_the_host_is_free_when_its_pod_is_gone() -> None:
    wanted = replace(asks("a", cpu="1"), demands=Demands(ports=(HostPort(80),)))
    holder = replace(wanted, uid="b")
    assert on_ssd(wanted, ROOM, holder).reason == "NodePorts"
    assert on_ssd(wanted, ROOM, wanted).admitted
    assert on_ssd(wanted, ROOM).admitted
