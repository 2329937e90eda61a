"""The CPU manager when the kubelet starts: its policy, the reserved CPUs, and the state it finds on disk."""

from collections.abc import Mapping

from numafit.bits import CpusetError, cpuset_text, parse_cpuset
from numafit.errors import KubeletError, StartError
from numafit.golang.text import map_text, quoted
from numafit.ledger.ledger import CpuLedger
from numafit.machine.model import Machine
from numafit.machine.topology import CpuTopology, TopologyError, cpu_topology
from numafit.managers.cpu.assignment import take_outcomes
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.cpu.pick.errors import PickError
from numafit.managers.protocol import Choices
from numafit.settings.options import ALIGN_BY_SOCKET, CPU_OPTIONS, CpuOptions, cpu_options, socket_single_numa
from numafit.settings.settings import Settings
from numafit.settings.versions import Behaviour

NEW = "cpumanager.NewManager"
START = "cpumanager.Start"


def new_cpu_manager(machine: Machine, settings: Settings, choices: Choices) -> CpuManager:
    behaviour = settings.behaviour
    if settings.cpu_policy not in ("none", "static"):
        text = f'unknown policy: "{settings.cpu_policy}"'
        raise StartError(NEW, text, code="cpu-policy", field=("cpuManagerPolicy",))
    static = settings.cpu_policy == "static"
    try:
        topology = cpu_topology(machine, behaviour)
    except TopologyError as error:
        # Up to 1.31 the policy none does not look at the CPUs; a machine without any is refused all the same.
        raise StartError(NEW, str(error), code="cpu-topology") from error
    pod_entries = settings.gate("PodLevelResourceManagers")
    if not static:
        if settings.cpu_options:
            text = f"None policy: received unsupported options={map_text(settings.cpu_options)}"
            raise StartError(NEW, f"new none policy error: {text}", code="cpu-options-none", field=(CPU_OPTIONS,))
        return CpuManager(False, topology, behaviour, pod_entries=pod_entries)
    count = _reserved_count(settings)
    try:
        options = cpu_options(settings)
        _check_machine(options, settings, topology)
        reserved = _reserve(topology, settings, options, count, choices)
    except KubeletError as error:
        raise StartError(NEW, f"new static policy error: {error}", cause=error) from error
    return static_manager(topology, behaviour, options, reserved, pod_entries=pod_entries)


def static_manager(
    topology: CpuTopology, behaviour: Behaviour, options: CpuOptions, reserved: int, *, pod_entries: bool = False
) -> CpuManager:
    """The policy static, with nothing checked."""
    siblings = topology.with_siblings(reserved & topology.cpus)
    return CpuManager(True, topology, behaviour, options, reserved, siblings, pod_entries)


def _reserved_count(settings: Settings) -> int:
    reserved = settings.reservation.get("cpu")
    if reserved is None:
        text = "[cpumanager] unable to determine reserved CPU resources for static policy"
        raise StartError(NEW, text, code="cpu-reserve-unknown", field=("cpuManagerPolicy",))
    if reserved.is_zero:
        text = "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
        raise StartError(NEW, text, code="cpu-reserve-zero", field=("cpuManagerPolicy",))
    return -(-reserved.milli() // 1000)


def _check_machine(options: CpuOptions, settings: Settings, topology: CpuTopology) -> None:
    if not options.align_by_socket:
        return
    if settings.topology_policy == "single-numa-node":
        raise socket_single_numa()
    if topology.num_sockets > topology.num_numa_nodes:
        raise KubeletError(
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA",
            code="socket-hardware",
            field=(CPU_OPTIONS, ALIGN_BY_SOCKET),
        )


def _reserve(topology: CpuTopology, settings: Settings, options: CpuOptions, count: int, choices: Choices) -> int:
    behaviour = settings.behaviour
    field = ("reservedSystemCPUs",)
    try:
        reserved = parse_cpuset(settings.reserved_cpus, reversed_sign=behaviour.reversed_range_sign)
    except CpusetError as error:
        raise KubeletError(str(error), code="cpus-list", field=field) from None
    if reserved == 0:
        used = options if behaviour.reserved_uses_options else CpuOptions()
        try:
            reserved = choices.cpus("", take_outcomes(topology, behaviour, used, topology.cpus, count))
        except PickError:
            reserved = 0
    if reserved.bit_count() != count:
        raise KubeletError(
            "[cpumanager] unable to reserve the required amount of CPUs "
            f"(size of {cpuset_text(reserved)} did not equal {count})",
            code="cpu-reserve-count",
            field=field,
            facts={"resource": "cpu"},
        )
    if behaviour.reserved_must_exist:
        try:
            topology.with_siblings(reserved)
        except TopologyError as error:
            raise KubeletError(
                f"[cpumanager] unable to build the reserved physical CPUs from the reserved set: {error}",
                code="cpu-reserve-missing",
                field=field,
            ) from error
    return reserved


def start_cpu_manager(
    manager: CpuManager, settings: Settings, text: str | None, containers: tuple[tuple[str, str, str], ...] = ()
) -> CpuLedger:
    """The ledger that the file on disk gives; `containers`: (pod UID, container, container id) known to the runtime."""
    ledger = CpuLedger()
    if text is not None:
        # A node that starts empty needs no reader, and a command starts quicker without it.
        from numafit.ledger.files.cpu import RESIZE_GATE, read_cpu

        try:
            restored = read_cpu(
                text,
                policy=settings.cpu_policy,
                behaviour=settings.behaviour,
                gate=manager.pod_entries,
                resize_gate=settings.gate(RESIZE_GATE),
                containers=containers,
                state_dir=settings.state_dir,
            )
        except KubeletError as error:
            raise StartError(START, str(error), cause=error) from error
        baselines = _baselines_apart(restored.entries, restored.baselines)
        ledger = CpuLedger(restored.default, restored.entries, restored.pod_entries, baselines, file=text)
    return _validated(manager, ledger) if manager.static else ledger


def _baselines_apart(
    entries: Mapping[str, Mapping[str, int]], baselines: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int | None]]:
    """Those that are not what their container holds. No kubelet up to 1.37 writes such; it keeps them as they are."""
    apart: dict[str, dict[str, int | None]] = {}
    for uid in sorted({*entries, *baselines}) if baselines else ():
        held, own = entries.get(uid, {}), baselines.get(uid, {})
        other = {name: own.get(name) for name in sorted({*held, *own}) if held.get(name) != own.get(name)}
        if other:
            apart[uid] = other
    return apart


def _validated(manager: CpuManager, ledger: CpuLedger) -> CpuLedger:
    strict = manager.options.strict_cpu_reservation
    everything = manager.topology.cpus & ~(manager.reserved if strict else 0)
    default, reserved = ledger.default, manager.reserved
    if default == 0:
        if ledger.entries:
            raise StartError(START, "default cpuset cannot be empty", code="cpu-state-empty")
        return CpuLedger(default=everything, pod_entries=ledger.pod_entries, baselines=ledger.baselines)
    default_text = quoted(cpuset_text(default))
    if strict and reserved & default:
        both = quoted(cpuset_text(reserved & default))
        text = f"some of strictly reserved cpus: {both} are present in defaultCpuSet: {default_text}"
        raise StartError(START, text, code="cpu-state-strict")
    if not strict and reserved & ~default:
        own = quoted(cpuset_text(reserved))
        text = f"not all reserved cpus: {own} are present in defaultCpuSet: {default_text}"
        raise StartError(START, text, code="cpu-state-reserved")
    known = default
    for uid, containers in sorted(ledger.entries.items()):
        for container, cpus in sorted(containers.items()):
            if cpus & default:
                held = quoted(cpuset_text(cpus))
                raise StartError(
                    START,
                    f"pod: {uid}, container: {container} cpuset: {held} overlaps with default cpuset {default_text}",
                    code="cpu-state-overlap",
                )
            known |= cpus
    if manager.pod_entries:
        for cpus in ledger.pod_entries.values():
            known |= cpus
    if known != everything:
        raise StartError(
            START,
            f"current set of available CPUs {quoted(cpuset_text(everything))} "
            f"doesn't match with CPUs in state {quoted(cpuset_text(known))}",
            code="cpu-state-cpus",
        )
    return ledger
