"""For which pods it matters who chooses the node."""

import random

import pytest
from msgspec.structs import replace

from numafit.decision.decide import decide, load_of, offered_by, shortages, wanted_of
from numafit.decision.life import start_containers
from numafit.decision.start import Start, start
from numafit.fleet.fleet import Fleet
from numafit.fleet.needs import ALIGNED, CPUS, PINNED, NeedMemory, PlaceNeed, idle_state, may_refuse, need_of
from numafit.fleet.state import NodeState, state_of
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.quantity import parse_quantity
from numafit.settings.facts import NodeFacts, Taint
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import KubeVersion
from numafit.workload.demands import Demands, Toleration
from numafit.workload.pod import Container, Pod
from tests.fleet.fleets import GI, GPU

NIC = "example.com/nic"


def machine(numa: int, threads: int, nics: tuple[int, ...] = (0, 0)) -> Machine:
    """With 8 CPUs, 16 GiB and 2 GPUs on each NUMA node; `nics`: the NUMA nodes of network cards."""
    cpus = tuple(Cpu(id=own, core=own // threads, socket=own // 8, numa=own // 8) for own in range(8 * numa))
    nodes = tuple(
        NumaNode(id=own, memory=16 * GI, distances=tuple(10 if own == other else 20 for other in range(numa)))
        for own in range(numa)
    )
    gpus = tuple(Device(GPU, f"gpu-{own}-{number}", (own,)) for own in range(numa) for number in range(2))
    cards = tuple(Device(NIC, f"nic-{number}", (own,)) for number, own in enumerate(nics))
    return Machine(cpus=cpus, numa_nodes=nodes, devices=(*gpus, *cards))


def kubelet(
    policy: str = "none",
    *,
    cpu: str = "static",
    memory: str = "None",
    numa: int = 2,
    threads: int = 2,
    reserved: str = "",
    minor: int = 36,
    **options: str,
) -> NodeState:
    """Nobody is there."""
    version, kept = KubeVersion(1, minor, 0), parse_quantity("1Gi")
    count = len(reserved.split(",")) if reserved else 1
    settings = Settings(
        version=version,
        cpu_policy=cpu,
        cpu_options={name.replace("_", "-"): text for name, text in options.items()},
        memory_policy=memory,
        reserved_memory=(ReservedMemory(0, {"memory": kept}),) if memory == "Static" else (),
        topology_policy=policy,
        gates=default_gates(version),
        reserved_cpus=reserved,
        reservation={"cpu": parse_quantity(str(count)), "memory": kept},
    )
    known = start(Start(machine=machine(numa, threads), settings=settings))
    allocatable = {
        "cpu": parse_quantity(str(8 * numa - count)),
        "memory": parse_quantity(f"{16 * numa - 1}Gi"),
        "pods": parse_quantity("40"),
    }
    return state_of(f"{settings!r}{numa}{threads}", known.node, known.ledger, allocatable)


KUBELETS = {
    "single": kubelet("single-numa-node", memory="Static"),
    "restricted": kubelet("restricted"),
    "best-effort": kubelet("best-effort"),
    "best-effort-pinned": kubelet("best-effort", memory="Static"),
    "none": kubelet("none"),
    "none-pinned": kubelet("none", memory="Static"),
    "none-shared": kubelet("none", cpu="none"),
    "strict-shared": kubelet("restricted", cpu="none"),
    "one-node": kubelet("single-numa-node", memory="Static", numa=1),
    "one-node-cores": kubelet("restricted", numa=1, reserved="0,1", full_pcpus_only="true"),
    "cores-split": kubelet("none", reserved="0,2", full_pcpus_only="true"),
    "cores-whole": kubelet("none", reserved="0,1", full_pcpus_only="true"),
    "cores-half": kubelet("none", reserved="0", full_pcpus_only="true"),
    "spread": kubelet("none", distribute_cpus_across_numa="true"),
    "old": kubelet("restricted", memory="Static", minor=30),
}


def wanting(uid: str, cpu: str, memory: str, *, limits: bool = True, **devices: int) -> Pod:
    amounts = {"cpu": parse_quantity(cpu), "memory": parse_quantity(memory)}
    for name, count in devices.items():
        if count:
            amounts[f"example.com/{name}"] = parse_quantity(str(count))
    own = {name: amount for name, amount in amounts.items() if limits or "/" in name}
    return Pod(uid, f"pod-{uid}", (Container("app", amounts, own),))


def by_chance(uid: str, chance: random.Random) -> Pod:
    cpu = chance.choice(("500m", "1", "2", "2", "3", "4", "4", "6", "8", "10"))
    memory = f"{chance.choice((1, 1, 2, 6, 12))}Gi"
    devices = {"gpu": chance.choice((0, 0, 1, 2, 3)), "nic": chance.choice((0, 0, 1))}
    own = wanting(uid, cpu, memory, limits=chance.random() < 0.7, **devices)
    if chance.random() < 0.3:
        init = wanting(uid, chance.choice(("1", "2", "5")), "1Gi").containers[0]
        return replace(own, init_containers=(replace(init, name="init"),))
    return own


def lived(state: NodeState, chance: random.Random) -> NodeState:
    """After pods that came, and some that went again."""
    node, ledger = state.node, state.ledger
    for number in range(chance.randrange(16)):
        decision = decide(node, ledger, by_chance(f"there-{number}", chance), state.allocatable, evicts=False)
        ledger = decision.ledger
        if decision.admitted:
            ledger, _ = start_containers(node, ledger, decision.pod.uid)
        active = {uid: own for uid, own in ledger.active.items() if chance.random() < 0.85}
        ledger = replace(ledger, active=active)
    return state_of(state.kind, node, ledger, state.allocatable)


@pytest.mark.parametrize("name", KUBELETS)
def test_what_matters_to_nobody_is_refused_for_sums_only(name: str) -> None:
    """In whatever state the node is; and of what matters, some state shows it."""
    idle, chance = KUBELETS[name], random.Random(name)
    pods = {}
    for number in range(60):
        own = by_chance(f"new-{number}", chance)
        pods[own.uid] = (own, may_refuse(idle, own))
    shown = {why: False for _, why in pods.values() if why}
    for _ in range(80):
        state = lived(idle, chance)
        for own, why in pods.values():
            decision = decide(state.node, state.ledger, own, state.allocatable, evicts=False)
            sums = decision.admitted or _is_short(state, own)
            assert why or sums, (own, decision.reason, decision.message)
            if why and not sums:
                shown[why] = True
    assert all(shown.values())


def _is_short(state: NodeState, own: Pod) -> bool:
    """Sums have no room: a scheduler would not have sent it."""
    settings = state.node.settings
    assert state.allocatable is not None
    offered = offered_by(state.ledger.device, state.allocatable)
    load = load_of(settings, state.ledger.active.values())
    return bool(shortages(settings, wanted_of(settings, own, offered), load, offered))


def small(uid: str = "a", **more: int) -> Pod:
    return wanting(uid, "2", "1Gi", **more)


def test_why_it_matters() -> None:
    burstable = wanting("b", "500m", "1Gi", limits=False)
    assert {name: may_refuse(idle, small()) for name, idle in KUBELETS.items()} == {
        "single": ALIGNED,
        "restricted": ALIGNED,
        "best-effort": CPUS,
        "best-effort-pinned": PINNED,
        "none": CPUS,
        "none-pinned": PINNED,
        "none-shared": "",
        "strict-shared": "",
        "one-node": CPUS,
        "one-node-cores": CPUS,
        "cores-split": CPUS,
        "cores-whole": CPUS,
        "cores-half": CPUS,
        "spread": CPUS,
        "old": ALIGNED,
    }
    assert not any(may_refuse(idle, burstable) for idle in KUBELETS.values())


def test_devices_matter_where_they_lie_on_several_numa_nodes() -> None:
    """Whatever the class of the pod. Network cards lie on the first node only: those that are free are on it."""
    gpus = wanting("a", "500m", "1Gi", limits=False, gpu=1)
    cards = wanting("a", "500m", "1Gi", limits=False, nic=1)
    both = wanting("a", "500m", "1Gi", limits=False, nic=1, gpu=1)
    strict, loose = KUBELETS["strict-shared"], KUBELETS["best-effort"]
    assert [may_refuse(strict, own) for own in (gpus, cards, both)] == [ALIGNED, "", ALIGNED]
    assert [may_refuse(loose, own) for own in (gpus, cards, both)] == ["", "", ""]


def test_what_even_an_empty_node_refuses_matters_and_what_is_too_large_for_it_does_not() -> None:
    cores, strict = KUBELETS["cores-whole"], KUBELETS["single"]
    assert may_refuse(cores, wanting("a", "3", "1Gi")) == "SMTAlignmentError"
    assert may_refuse(strict, wanting("a", "9", "1Gi")) == "TopologyAffinityError"
    assert may_refuse(strict, wanting("a", "17", "1Gi")) == ""
    assert may_refuse(strict, wanting("a", "2", "1Gi", tpu=1)) == ""


def fleet_of(**states: NodeState) -> Fleet:
    fleet = Fleet()
    for name, state in states.items():
        fleet = fleet.reported(name, state)
    return fleet


def test_one_node_that_the_pod_may_go_to_is_enough() -> None:
    strict, loose, memory = KUBELETS["single"], KUBELETS["none-shared"], NeedMemory()
    assert need_of(fleet_of(a=loose, b=strict), small(), memory) == PlaceNeed("b", ALIGNED)
    assert need_of(fleet_of(a=loose), small(), memory) is None
    assert need_of(Fleet(), small(), memory) is None

    labelled = fleet_of(a=loose).reported("b", strict, NodeFacts(labels={"pool": "gpu"}))
    wants_other = replace(small(), demands=Demands(selector=(("pool", "web"),)))
    wants_this = replace(small(), demands=Demands(selector=(("pool", "gpu"),)))
    assert need_of(labelled, wants_other, memory) is None
    assert need_of(labelled, wants_this, memory) == PlaceNeed("b", ALIGNED)


def test_a_taint_counts_unless_it_goes_by_itself_and_a_cordon_does_not() -> None:
    strict, memory = KUBELETS["single"], NeedMemory()
    tainted = Fleet().reported("a", strict, NodeFacts(taints=(Taint("pool", "gpu", "NoSchedule"),)))
    assert need_of(tainted, small(), memory) is None
    tolerating = replace(small(), demands=Demands(tolerations=(Toleration("pool", "Exists"),)))
    assert need_of(tainted, tolerating, memory) == PlaceNeed("a", ALIGNED)
    pressed = NodeFacts(taints=(Taint("node.kubernetes.io/memory-pressure", "", "NoSchedule"),))
    assert need_of(Fleet().reported("a", strict, pressed), small(), memory) == PlaceNeed("a", ALIGNED)
    assert need_of(Fleet().reported("a", strict, schedulable=False), small(), memory) == PlaceNeed("a", ALIGNED)


def test_who_is_there_does_not_matter_and_is_asked_once() -> None:
    """A full node may have room when somebody looks again."""
    chance, memory = random.Random(1), NeedMemory()
    idle = KUBELETS["single"]
    states = [lived(idle, chance) for _ in range(10)]
    assert {idle_state(state).key for state in states} == {idle.key}
    fleet = fleet_of(**{f"n{number}": state for number, state in enumerate(states)})
    own = small()
    need = need_of(fleet, own, memory)
    assert need is not None
    assert need.why == ALIGNED
    assert {memory.why(state, own, b"shape") for state in states} == {ALIGNED}
