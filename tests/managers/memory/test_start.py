"""The memory manager when the kubelet starts."""

import pytest
from msgspec.structs import replace

from numafit.errors import StartError
from numafit.ledger.files.memory import memory_bytes
from numafit.ledger.ledger import Block, MemoryFile, MemoryLedger, MemoryNode, MemoryTable
from numafit.machine.model import Machine, NumaNode
from numafit.managers.memory.nodes import WRAP, MemoryNodes, fill, give_back
from numafit.managers.memory.start import hugepage_resource, idle_nodes, new_memory_manager, start_memory_manager
from numafit.managers.protocol import Choices
from numafit.settings.settings import ReservedMemory, Settings
from tests.decision.strategies import GI, MI, amounts, box, settings

BOX = box(2, 4, memory=11 * GI)
HALVES = {0: {"memory": "1Gi"}, 1: {"memory": "1Gi"}}


def ordered(
    version: str = "1.36",
    *,
    policy: str = "Static",
    listed: dict[int, dict[str, str]] | None = None,
    reservation: dict[str, str] | None = None,
    gates: dict[str, bool] | None = None,
) -> Settings:
    """`reservation`: what Node Allocatable reserves; else it is what is listed."""
    found = settings(version, memory=policy, reserved_memory=HALVES if listed is None else listed, gates=gates)
    return found if reservation is None else replace(found, reservation=amounts(reservation))


def refusal(wanted: Settings, machine: Machine = BOX) -> str:
    with pytest.raises(StartError) as caught:
        new_memory_manager(machine, wanted)
    assert caught.value.stage == "memorymanager.NewManager"
    return caught.value.message


# --- policy and reservation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "policy", "text"),
    [
        ("1.36", "static", 'unknown policy: "static"'),
        ("1.31", "BestEffort", 'unknown policy: "BestEffort"'),
        ("1.32", "BestEffort", 'policy "BestEffort" is not available for platform "linux"'),
    ],
)
def test_other_policies_stop_the_kubelet(version: str, policy: str, text: str) -> None:
    """Names are case sensitive; BestEffort is a policy for Windows since 1.32."""
    assert refusal(ordered(version, policy=policy)) == text


@pytest.mark.parametrize(
    ("listed", "reservation", "text"),
    [
        (
            {0: {"memory": "2Gi"}, 1: {"memory": "2Gi"}},
            {"memory": "4196Mi"},
            'the total amount "4Gi" of type "memory" is not equal to the value "4196Mi" '
            "determined by Node Allocatable feature",
        ),
        (
            {},
            {"memory": "100Mi"},
            'the total amount "0" of type "memory" is not equal to the value "100Mi" '
            "determined by Node Allocatable feature",
        ),
        ({}, {}, "[memorymanager] you should specify the system reserved memory"),
        (
            {0: {"memory": "1Gi"}, 7: {"memory": "1Gi"}},
            {"memory": "2Gi"},
            "the reserved memory configuration references a NUMA node 7 that does not exist on this machine",
        ),
        (
            {0: {"memory": "1Gi", "hugepages-1Gi": "1Gi"}},
            {"memory": "1Gi"},
            'the total amount "1Gi" of type "hugepages-1Gi" is not equal to the value "0" '
            "determined by Node Allocatable feature",
        ),
        (
            {0: {"memory": "1.5Gi"}},
            {"memory": "1536Mi"},
            "could not covert a variable of type Quantity to int64",
        ),
        (
            {0: {"memory": "1024Mi"}, 1: {"memory": "1G"}},
            {"memory": "2Gi"},
            'the total amount "2073741824" of type "memory" is not equal to the value "2Gi" '
            "determined by Node Allocatable feature",
        ),
    ],
)
def test_reserved_memory_must_add_up_to_what_node_allocatable_reserves(
    listed: dict[int, dict[str, str]], reservation: dict[str, str], text: str
) -> None:
    """Per type; a sum prints in the format of the quantity listed last; typing errors are the kubelet's."""
    assert refusal(ordered(listed=listed, reservation=reservation)) == text


@pytest.mark.parametrize(
    "listed",
    [
        {0: {"memory": "2Gi"}, 1: {"memory": "2Gi"}},
        {1: {"memory": "4Gi"}},
        {0: {"memory": "4294967296"}},
    ],
)
def test_how_the_sum_is_spread_over_the_nodes_is_free(listed: dict[int, dict[str, str]]) -> None:
    """One node may reserve nothing as long as another does (1.21 to 1.36)."""
    manager, nodes = new_memory_manager(BOX, ordered(listed=listed, reservation={"memory": "4Gi"}))
    assert manager.static
    assert sum(node.tables["memory"].system_reserved for node in nodes.values()) == 4 * GI


def test_policy_none_has_no_tables() -> None:
    """And looks at no reservation (all releases)."""
    manager, nodes = new_memory_manager(BOX, ordered(policy="None", listed={7: {"memory": "1Gi"}}))
    assert (manager.static, nodes) == (False, {})


# --- the idle machine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "name"),
    [(2 * MI, "hugepages-2Mi"), (GI, "hugepages-1Gi"), (64 << 10, "hugepages-64Ki"), (512 * MI, "hugepages-512Mi")],
)
def test_a_page_size_names_its_resource(size: int, name: str) -> None:
    """The canonical binary quantity of the size (1.21 to 1.36)."""
    assert hugepage_resource(size) == name


def test_huge_pages_are_taken_out_of_the_memory_of_their_node() -> None:
    """A size with no pages still has a table, of zeros (1.21 to 1.36)."""
    machine = Machine((), (NumaNode(8, 10 * GI, {2 * MI: 512, GI: 0}),))
    assert idle_nodes(machine, {8: {"memory": GI}}) == {
        8: MemoryNode(
            0,
            {
                "hugepages-2Mi": MemoryTable(GI, 0, GI, 0, GI),
                "hugepages-1Gi": MemoryTable(),
                "memory": MemoryTable(10 * GI, GI, 8 * GI, 0, 8 * GI),
            },
            (8,),
        )
    }


def test_a_node_that_reserves_more_than_it_has_looks_endless() -> None:
    """The subtraction wraps, and nobody checks (1.21 to 1.36)."""
    nodes = idle_nodes(Machine((), (NumaNode(0, GI, {GI: 1}),)), {0: {"memory": 1}})
    assert nodes[0].tables["memory"] == MemoryTable(GI, 1, WRAP, 0, WRAP)


# --- the state on disk -----------------------------------------------------------------------------------------------


def idle(wanted: Settings) -> MemoryNodes:
    return new_memory_manager(BOX, wanted)[1]


def started(content: MemoryFile | str | None, wanted: Settings, choices: Choices | None = None) -> MemoryLedger:
    manager, nodes = new_memory_manager(BOX, wanted)
    text = memory_bytes(content, "v2" if manager.pod_entries else "v1") if isinstance(content, MemoryFile) else content
    return start_memory_manager(manager, nodes, wanted, text, choices or Choices())


def failure(content: MemoryFile | str, wanted: Settings) -> str:
    with pytest.raises(StartError) as caught:
        started(content, wanted)
    assert caught.value.stage == "memorymanager.Start"
    return caught.value.message


FOUR: dict[str, dict[str, tuple[Block, ...]]] = {"p": {"app": (Block((0,), "memory", 4 * GI),)}}


def test_without_a_file_the_machine_is_idle() -> None:
    """The same after a file that holds nothing at all (all releases)."""
    wanted = ordered()
    assert started(None, wanted) == MemoryLedger(nodes=idle(wanted))
    assert started(MemoryFile("Static"), wanted) == MemoryLedger(nodes=idle(wanted))


def test_a_file_that_matches_the_machine_is_restored_and_kept_as_it_is() -> None:
    """A start that changes nothing does not write (1.21 to 1.36)."""
    wanted = ordered()
    content = MemoryFile("Static", dict(fill(idle(wanted), (0,), "memory", 4 * GI)), FOUR)
    text = memory_bytes(content, "v1")
    assert started(text, wanted) == MemoryLedger(nodes=content.nodes, entries=FOUR, file=text)


DIFFERENT = "[memorymanager] the expected machine state is different from the real one"


@pytest.mark.parametrize(
    ("nodes", "entries", "text"),
    [
        ({}, FOUR, "[memorymanager] machine state can not be empty when it has memory assignments"),
        (
            idle(ordered()),
            {"p": {"app": (Block((5,), "memory", GI),)}},
            "[memorymanager] (pod: p, container: app) the memory assignment uses the NUMA that does not exist",
        ),
        (
            idle(ordered()),
            {"p": {"app": (Block((0,), "hugepages-1Gi", GI),)}},
            "[memorymanager] (pod: p, container: app) the memory assignment uses memory resource that does not exist",
        ),
        (idle(ordered()), FOUR, DIFFERENT),
        ({0: idle(ordered())[0]}, {}, DIFFERENT),
        (idle(ordered(listed={0: {"memory": "2Gi"}})), {}, DIFFERENT),
        (fill(idle(ordered()), (1,), "memory", 4 * GI), FOUR, DIFFERENT),
        (fill(idle(ordered()), (0,), "memory", 3 * GI), FOUR, DIFFERENT),
    ],
    ids=["empty", "node", "type", "assignments", "nodes", "reservation", "place", "bytes"],
)
def test_a_state_that_does_not_fit_the_machine_stops_the_kubelet(
    nodes: MemoryNodes, entries: dict[str, dict[str, tuple[Block, ...]]], text: str
) -> None:
    """A reboot that changes the size of a node by a few kB is enough (1.21 to 1.36)."""
    assert failure(MemoryFile("Static", dict(nodes), entries), ordered()) == text


def drifted(wanted: Settings) -> MemoryFile:
    """Two pods shared a group, and the older one is gone: its bytes came from node 0, and went back there."""
    nodes = fill(fill(idle(wanted), (0, 1), "memory", 12 * GI), (0, 1), "memory", 4 * GI)
    nodes = give_back(nodes, (Block((0, 1), "memory", 12 * GI),))
    return MemoryFile("Static", nodes, {"p": {"app": (Block((0, 1), "memory", 4 * GI),)}})


@pytest.mark.parametrize(("version", "starts"), [("1.31", False), ("1.32", True)])
def test_bytes_that_drifted_inside_a_group_stop_the_kubelet_up_to_1_31(version: str, starts: bool) -> None:
    """Since 1.32 only the sums over a group are compared."""
    wanted = ordered(version)
    content = drifted(wanted)
    reserved = [node.tables["memory"].reserved // GI for node in content.nodes.values()]
    assert reserved == [0, 4]
    if starts:
        assert started(content, wanted).nodes == content.nodes
    else:
        assert failure(content, wanted) == DIFFERENT


def test_a_switched_policy_stops_the_kubelet() -> None:
    """The file of the policy before must be deleted (1.21 to 1.36)."""
    assert failure(MemoryFile("None"), ordered()) == (
        'could not restore state from checkpoint: [memorymanager] configured policy "Static" differs from state '
        'checkpoint policy "None", please drain this node and delete the memory manager checkpoint file '
        '"/var/lib/kubelet/memory_manager_state" before restarting Kubelet'
    )


def test_policy_none_does_not_check_what_it_restores() -> None:
    """It can fail only on a file that it cannot read (1.21 to 1.36)."""
    assert started(MemoryFile("None", {}, FOUR), ordered(policy="None")).entries == FOUR


def test_a_managed_pod_is_charged_by_its_own_blocks() -> None:
    """Not by those of its containers, which overlap (1.36 with PodLevelResourceManagers)."""
    wanted = ordered(gates={"PodLevelResourceManagers": True})
    whole: tuple[Block, ...] = (Block((0,), "memory", 4 * GI),)
    entries = {"p": {"a": whole, "b": whole}}
    content = MemoryFile("Static", fill(idle(wanted), (0,), "memory", 4 * GI), entries, {"p": whole})
    restored = started(content, wanted)
    assert (restored.nodes, restored.entries, restored.pod_entries) == (content.nodes, entries, {"p": whole})


def test_two_reservations_of_one_node_and_type_count_only_once() -> None:
    """The later one overwrites; the check of the configuration keeps this from happening (1.21 to 1.36)."""
    wanted = replace(
        ordered(reservation={"memory": "3Gi"}),
        reserved_memory=(ReservedMemory(0, amounts({"memory": "1Gi"})), ReservedMemory(0, amounts({"memory": "2Gi"}))),
    )
    assert idle(wanted)[0].tables["memory"].system_reserved == 2 * GI
