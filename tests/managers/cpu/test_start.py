"""The CPU manager when the kubelet starts."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text, parse_cpuset
from numafit.errors import StartError
from numafit.ledger.files.cpu import CpuFile, cpu_bytes
from numafit.ledger.ledger import CpuLedger
from numafit.machine.model import Machine
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.cpu.start import new_cpu_manager, start_cpu_manager
from numafit.managers.protocol import Choices
from numafit.settings.settings import Settings
from tests.decision.strategies import SEED_BOX, amounts, box, settings

SMT_BOX = box(1, 4, 2)
"""Eight CPUs, siblings i and i + 4."""
STRICT = {"strict-cpu-reservation": "true"}


def made(machine: Machine, ordered: Settings) -> CpuManager:
    return new_cpu_manager(machine, ordered, Choices())


def refusal(machine: Machine, ordered: Settings) -> str:
    with pytest.raises(StartError) as caught:
        made(machine, ordered)
    assert caught.value.stage == "cpumanager.NewManager"
    return caught.value.message


# --- reserved CPUs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "reserved", "options", "expected", "cores"),
    [
        (SEED_BOX, "200m", None, "0", "0"),
        (SEED_BOX, "1001m", None, "0-1", "0-1"),
        (SMT_BOX, "2", None, "0,4", "0,4"),
        (SMT_BOX, "1", None, "0", "0,4"),
        (SMT_BOX, "2", {"distribute-cpus-across-cores": "true"}, "0-1", "0-1,4-5"),
    ],
)
def test_reserved_cpus_are_those_the_policy_itself_would_give(
    machine: Machine, reserved: str, options: dict[str, str] | None, expected: str, cores: str
) -> None:
    """The amount is rounded up to whole CPUs; the options count since 1.23."""
    manager = made(machine, settings(cpu="static", reserved=reserved, options=options))
    assert (cpuset_text(manager.reserved), cpuset_text(manager.reserved_cores)) == (expected, cores)


def test_a_list_of_reserved_cpus_is_taken_as_it_is() -> None:
    """reservedSystemCPUs; the amount is then the length of the list (all releases)."""
    manager = made(SEED_BOX, settings(cpu="static", reserved="3", reserved_cpus="1,14-15"))
    assert cpuset_text(manager.reserved) == "1,14-15"


@pytest.mark.parametrize(
    ("ordered", "text"),
    [
        (
            settings(cpu="static", reserved=""),
            "[cpumanager] unable to determine reserved CPU resources for static policy",
        ),
        (
            settings(cpu="static", reserved="0"),
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
        ),
        (
            settings(cpu="static", reserved="29"),
            "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
            "(size of  did not equal 29)",
        ),
        (
            settings(cpu="static", reserved="3", reserved_cpus="0-1"),
            "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
            "(size of 0-1 did not equal 3)",
        ),
        (
            settings("1.27", cpu="static", reserved="1", reserved_cpus="99"),
            "new static policy error: [cpumanager] unable to build the reserved physical CPUs from the reserved set: "
            "unknown CPU ID: 99",
        ),
        (
            settings("1.26", cpu="static", reserved="1", reserved_cpus="3-1"),
            'new static policy error: invalid range "3-1" (3 >= 1)',
        ),
        (
            settings("1.27", cpu="static", reserved="1", reserved_cpus="3-1"),
            'new static policy error: invalid range "3-1" (3 > 1)',
        ),
        (settings(cpu="dynamic"), 'unknown policy: "dynamic"'),
        (
            settings(options={"full-pcpus-only": "true"}),
            "new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]",
        ),
        (
            settings(cpu="static", options={"full-cores": "true"}),
            'new static policy error: unknown CPU Manager Policy option: "full-cores"',
        ),
        (
            settings(cpu="static", options={"align-by-socket": "true"}, topology="single-numa-node"),
            "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager "
            "align-by-socket policy option",
        ),
    ],
)
def test_a_policy_that_cannot_be_made_stops_the_kubelet(ordered: Settings, text: str) -> None:
    """In the kubelet's words, typing errors included; the sign in a reversed range changed with 1.27."""
    assert refusal(SEED_BOX, ordered) == text


def test_align_by_socket_needs_at_least_as_many_numa_nodes_as_sockets() -> None:
    """Two sockets in one NUMA node (1.25 and later)."""
    machine = replace(box(2, 8), numa_nodes=box(1, 8).numa_nodes)
    machine = replace(machine, cpus=tuple(replace(cpu, numa=0) for cpu in machine.cpus))
    assert refusal(machine, settings(cpu="static", options={"align-by-socket": "true"})) == (
        "new static policy error: Align by socket is not compatible with hardware where number of sockets are more "
        "than number of NUMA"
    )


def test_up_to_1_26_a_reserved_cpu_need_not_exist() -> None:
    """Nobody looks it up: the kubelet starts, and the reservation keeps nothing free."""
    ordered = settings("1.26", cpu="static", reserved="1", reserved_cpus="99")
    manager = made(SEED_BOX, ordered)
    assert cpuset_text(manager.reserved) == "99"


def test_a_machine_without_cpus_is_refused_with_policy_none_too() -> None:
    """Since 1.32 the topology is always discovered; before, the node has no CPUs to run anything on."""
    assert refusal(Machine((), ()), settings()) == "could not detect number of cpus"


# --- the state on disk -----------------------------------------------------------------------------------------------


def file(default: str, entries: dict[str, dict[str, str]] | None = None, policy: str = "static") -> str:
    return cpu_bytes(CpuFile(policy, default, entries or {}), "v2")


def started(text: str | None, ordered: Settings) -> CpuLedger:
    return start_cpu_manager(made(SEED_BOX, ordered), ordered, text)


def failure(text: str, ordered: Settings) -> str:
    with pytest.raises(StartError) as caught:
        started(text, ordered)
    assert caught.value.stage == "cpumanager.Start"
    return caught.value.message


@pytest.mark.parametrize(
    ("options", "default"), [(None, "0-27"), (STRICT, "1-27"), ({"strict-cpu-reservation": "false"}, "0-27")]
)
def test_without_a_file_all_cpus_are_shared(options: dict[str, str] | None, default: str) -> None:
    """With strict-cpu-reservation all but the reserved ones; the file is written anew (1.32 and later)."""
    assert started(None, settings(cpu="static", options=options)) == CpuLedger(default=parse_cpuset(default))


def test_policy_none_shares_nothing_it_knows_of() -> None:
    """Its state file says `"defaultCpuSet":""` (all releases)."""
    assert started(None, settings()) == CpuLedger(default=0)


def test_a_file_that_matches_the_machine_is_restored_and_kept_as_it_is() -> None:
    """A start that changes nothing does not write (all releases)."""
    text = file("0,4-27", {"p": {"app": "1-3"}})
    assert started(text, settings(cpu="static")) == CpuLedger(
        default=parse_cpuset("0,4-27"), entries={"p": {"app": parse_cpuset("1-3")}}, file=text
    )


def test_an_empty_default_without_entries_is_filled() -> None:
    """What a kubelet leaves that was killed right after its first write (all releases)."""
    assert started(file(""), settings(cpu="static")) == CpuLedger(default=parse_cpuset("0-27"))


@pytest.mark.parametrize(
    ("default", "entries", "options", "text"),
    [
        ("", {"p": {"app": "1-3"}}, None, "default cpuset cannot be empty"),
        (
            "0,4-27",
            {"p": {"app": "1-3"}},
            STRICT,
            'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0,4-27"',
        ),
        ("4-27", {"p": {"app": "0-3"}}, None, 'not all reserved cpus: "0" are present in defaultCpuSet: "4-27"'),
        (
            "0-27",
            {"p": {"app": "1-3"}},
            None,
            'pod: p, container: app cpuset: "1-3" overlaps with default cpuset "0-27"',
        ),
        (
            "0,4-26",
            {"p": {"app": "1-3"}},
            None,
            'current set of available CPUs "0-27" doesn\'t match with CPUs in state "0-26"',
        ),
        (
            "4-27",
            {"p": {"app": "1-2"}},
            STRICT,
            'current set of available CPUs "1-27" doesn\'t match with CPUs in state "1-2,4-27"',
        ),
    ],
)
def test_a_state_that_does_not_fit_the_machine_stops_the_kubelet(
    default: str, entries: dict[str, dict[str, str]], options: dict[str, str] | None, text: str
) -> None:
    """The checks in their order (all releases; strict-cpu-reservation since 1.32)."""
    assert failure(file(default, entries), settings(cpu="static", options=options)) == text


def test_a_switched_policy_stops_the_kubelet() -> None:
    """Seen in the field with 1.27: the file of the policy before must be deleted."""
    assert failure(file("", policy="none"), settings("1.27.3", cpu="static")) == (
        'could not restore state from checkpoint: configured policy "static" differs from state checkpoint policy '
        '"none", please drain this node and delete the CPU manager checkpoint file '
        '"/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
    )


def test_policy_none_does_not_check_what_it_restores() -> None:
    """It can fail only on a file that it cannot read (all releases)."""
    text = file("99", {"p": {"app": "98"}}, policy="none")
    assert started(text, settings()).entries == {"p": {"app": 1 << 98}}


def test_cpus_of_managed_pods_count_as_known() -> None:
    """A pod entry holds CPUs that no container entry names (1.36 with PodLevelResourceManagers)."""
    ordered = settings(cpu="static", gates={"PodLevelResourceManagers": True})
    text = cpu_bytes(CpuFile("static", "0,4-27", {}, {"p": "1-3"}), "v3")
    restored = started(text, ordered)
    assert restored.pod_entries == {"p": parse_cpuset("1-3")}


def test_a_reservation_of_memory_alone_reserves_no_cpu() -> None:
    """Only `cpu` of the reservation counts (all releases)."""
    ordered = replace(settings(cpu="static", reserved=""), reservation=amounts({"memory": "1Gi"}))
    assert refusal(SEED_BOX, ordered) == "[cpumanager] unable to determine reserved CPU resources for static policy"
