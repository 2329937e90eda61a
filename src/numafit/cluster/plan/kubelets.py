"""Another configuration for each kubelet of a fleet, as each machine wants it.

What a kubelet needs beside the field that is changed comes with it, or it would not start: gates of options that are
not stable, the reservation of a memory manager, reserved CPUs for a static CPU manager.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.cluster.plan.planned import idle_state
from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.group import reconfigured
from numafit.cluster.sim.table import usual_config
from numafit.document import read_document
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.managers.ask import MEMORY
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES, stage_of
from numafit.settings.versions import behaviour_of

CPU_OPTIONS, TOPOLOGY_OPTIONS = "cpuManagerPolicyOptions", "topologyManagerPolicyOptions"
RESERVED_CPUS = "reservedSystemCPUs"


def fields_of(group: SimulatedGroup) -> dict[str, object]:
    """As its file has them."""
    if group.config is None:
        return {}
    value = read_document(group.config.text, group.config.name).value
    return {str(name): own for name, own in value.items()} if isinstance(value, dict) else {}


def with_option(group: SimulatedGroup, field: str, option: str, text: str) -> SimulatedGroup:
    """`text` is its value; `false` of one that is not there changes nothing."""
    known = fields_of(group)
    own = known.get(field)
    options = {str(name): value for name, value in own.items()} if isinstance(own, dict) else {}
    if text == "false" and option not in options:
        return group
    changed: dict[str, object] = {field: {**options, option: text}}
    known_gates = idle_state(group).node.settings.gates
    missing = (
        [] if text == "false" else [gate for gate in _gates(group, field, option) if not known_gates.get(gate, True)]
    )
    if missing:
        before = known.get("featureGates")
        changed["featureGates"] = {**(before if isinstance(before, dict) else {}), **dict.fromkeys(missing, True)}
    return reconfigured(group, changed)


def _gates(group: SimulatedGroup, field: str, option: str) -> Iterator[str]:
    """Those that the stage of the option asks for."""
    stages = CPU_OPTION_STAGES if field == CPU_OPTIONS else TOPOLOGY_OPTION_STAGES
    stage = stage_of(option, stages, group.version.minor) if option in stages else None
    manager = "CPUManager" if field == CPU_OPTIONS else "TopologyManager"
    staged = field == TOPOLOGY_OPTIONS or behaviour_of(group.version).cpu_option_stages
    yield f"{manager}PolicyOptions"
    if stage not in (None, "stable") and staged:
        yield f"{manager}Policy{str(stage).capitalize()}Options"


def with_cpu_manager(group: SimulatedGroup, policy: str) -> SimulatedGroup:
    known = fields_of(group)
    changed: dict[str, object] = {"cpuManagerPolicy": policy}
    if policy == "none":
        return reconfigured(group, {**changed, CPU_OPTIONS: {}})
    if RESERVED_CPUS not in known and not idle_state(group).node.settings.reservation.get("cpu"):
        changed[RESERVED_CPUS] = _usual_cpus(group)
    return reconfigured(group, changed)


def _usual_cpus(group: SimulatedGroup) -> object:
    document = usual_config(group.machine)
    value = read_document(document.text, document.name).value
    return value[RESERVED_CPUS] if isinstance(value, dict) else ""


def with_memory_manager(group: SimulatedGroup, policy: str) -> SimulatedGroup:
    """Static: what is reserved of the machine's memory is reserved on its first NUMA node, unless the file says where;
    a kubelet wants the sums to be equal."""
    known = fields_of(group)
    if policy == "None":
        return reconfigured(group, {"memoryManagerPolicy": policy, "reservedMemory": []})
    if known.get("memoryManagerPolicy") == policy:
        return group
    reserved = idle_state(group).node.settings.reservation.get(MEMORY)
    if reserved is None:
        said = f"the kubelet of {group.name} reserves no memory, and a static memory manager wants that"
        raise InputError(said, cure="name some in systemReserved, or a threshold in evictionHard")
    first = min(own.id for own in group.machine.numa_nodes)
    blocks = [{"numaNode": first, "limits": {MEMORY: str(reserved)}}]
    return reconfigured(group, {"memoryManagerPolicy": policy, "reservedMemory": blocks})


def with_reserved_cores(group: SimulatedGroup, many: int, *, each: bool) -> SimulatedGroup:
    """The first cores of the first NUMA node, or with `each` so many of each."""
    topology = idle_state(group).node.cpu.topology
    nodes = sorted(topology.numa_nodes)
    cpus = 0
    for numa in nodes if each else nodes[:1]:
        cores = topology.numa_cores[numa]
        if len(cores) < many:
            has = "1 core" if len(cores) == 1 else f"{len(cores)} cores"
            raise InputError(f"NUMA node {numa} of {group.name} has {has}", cure="reserve fewer")
        for core in cores[:many]:
            cpus |= core
    if cpus == topology.cpus:
        raise InputError(f"these are all cores of {group.name}", cure="reserve fewer")
    return with_reserved_cpus(group, cpuset_text(cpus))


def with_reserved_cpus(group: SimulatedGroup, cpus: str) -> SimulatedGroup:
    """By name; amounts of CPUs in `systemReserved` and `kubeReserved` do not count then."""
    return reconfigured(group, {RESERVED_CPUS: cpus})


def with_machine(group: SimulatedGroup, machine: Machine) -> SimulatedGroup:
    """With as many cores reserved as before, where they are named, and as much memory: which CPUs and NUMA nodes these
    are is another matter on another machine."""
    before = idle_state(group).node
    known = fields_of(group)
    bare: dict[str, object] = {}
    if known.get(RESERVED_CPUS):
        bare[RESERVED_CPUS] = ""
    static = known.get("memoryManagerPolicy") == "Static"
    if static:
        bare |= {"memoryManagerPolicy": "None", "reservedMemory": []}
    # A static CPU manager wants reserved CPUs, and those of the old machine may not be there.
    bare |= {"cpuManagerPolicy": "none", CPU_OPTIONS: {}} if bare.get(RESERVED_CPUS) == "" else {}
    found = replace(reconfigured(group, bare) if bare else group, machine=machine, plugins=None)
    if known.get(RESERVED_CPUS):
        per_node = [
            sum(bool(core & before.cpu.reserved) for core in before.cpu.topology.numa_cores[numa])
            for numa in sorted(before.cpu.topology.numa_nodes)
        ]
        each = len(per_node) > 1 and min(per_node) > 0
        found = with_reserved_cores(found, max(per_node) if each else sum(per_node), each=each)
        found = reconfigured(found, {name: known.get(name, "none") for name in ("cpuManagerPolicy",)})
        if CPU_OPTIONS in known:
            found = reconfigured(found, {CPU_OPTIONS: known[CPU_OPTIONS]})
    return with_memory_manager(found, "Static") if static else found
