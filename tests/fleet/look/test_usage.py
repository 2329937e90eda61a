"""What is stranded: free, and not usable together with the rest of its NUMA node."""

from numafit.decision.start import Start, start
from numafit.fleet.look.usage import KindUsage, NodeUsage, usage_of
from numafit.fleet.state import NodeState, state_of
from numafit.settings.gates import default_gates
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion
from tests.fleet.fleets import ALLOCATABLE, GI, admitted_all, pod, started


def state(*pods: tuple[str, str, int], policy: str = "single-numa-node", gpus: int = 2) -> NodeState:
    """After pods with so many CPUs, so much memory and so many GPUs."""
    node, ledger = started(policy, gpus=gpus)
    comes = [pod(str(number), cpus, memory, wanted) for number, (cpus, memory, wanted) in enumerate(pods)]
    after = admitted_all(node, ledger, comes)
    assert after is not None
    return state_of("kind", node, after, ALLOCATABLE)


def test_on_an_idle_node_nothing_is_stranded() -> None:
    assert usage_of(state()) == NodeUsage(
        KindUsage(15, 15, 0), KindUsage(4, 4, 0), KindUsage(31 * GI, 31 * GI, 0), largest=8, pods=0, largest_gpus=2
    )


def test_cpus_beside_gpus_that_are_all_held_are_stranded_and_so_is_the_memory() -> None:
    """Both GPUs of one NUMA node are held with two of its CPUs; the other one is as it was."""
    usage = usage_of(state(("2", "1Gi", 2)))
    assert usage.gpus == KindUsage(4, 2, 0)
    assert usage.cpus.free == 13
    assert usage.cpus.stranded in (5, 6), "NUMA node 0 has a reserved CPU"
    assert usage.memory.stranded > 0


def test_the_largest_shape_of_gpus_has_its_share_of_cpus() -> None:
    """Two GPUs and four of eight CPUs are free on one NUMA node: one GPU with its four CPUs fits, and two with eight do
    not. On the other one three of seven are free, which is less than a share."""
    usage = usage_of(state(("4", "1Gi", 0), ("4", "1Gi", 0)))
    assert usage.gpus.free == 4
    assert usage.largest == 4
    assert usage.largest_gpus == 1


def test_gpus_beside_cpus_that_are_all_held_are_stranded() -> None:
    usage = usage_of(state(("8", "1Gi", 0)))
    assert usage.gpus == KindUsage(4, 4, 2)
    assert usage.cpus.stranded == 0
    assert usage.memory == KindUsage(31 * GI, 30 * GI, 15 * GI)


def test_where_everything_of_a_numa_node_is_held_nothing_of_it_is_stranded() -> None:
    assert usage_of(state(("8", "16Gi", 2))).cpus == KindUsage(15, 7, 0)


def test_without_gpus_cpus_are_stranded_for_want_of_memory_only() -> None:
    """Less memory is free on the NUMA node than one CPU's share of it."""
    usage = usage_of(state(("1", "12Gi", 0), gpus=0))
    assert (usage.gpus, usage.cpus.stranded) == (KindUsage(), 0)
    full = usage_of(state(("1", "14Gi", 0), gpus=0))
    assert full.cpus.stranded == 6


def test_a_kubelet_that_pins_nothing_has_nothing_that_can_be_stranded() -> None:
    node, _ = started("none")
    version = KubeVersion(1, 36, 0)
    known = start(Start(machine=node.machine, settings=Settings(version=version, gates=default_gates(version))))
    usage = usage_of(state_of("shared", known.node, known.ledger, ALLOCATABLE))
    assert (usage.cpus, usage.memory, usage.gpus) == (KindUsage(), KindUsage(), KindUsage(4, 4, 0))
