"""A kubelet that starts, but not as its author thinks: thresholds that vanish, settings that defeat each other."""

from collections.abc import Iterable, Iterator

from numafit.advice.inspection.checks import touches
from numafit.advice.inspection.text import KubeletText
from numafit.advice.lint.findings import Finding, finding
from numafit.bits import cpuset_text, parse_cpuset
from numafit.document import Path
from numafit.errors import KubeletError
from numafit.golang.text import parse_bool
from numafit.machine.model import Machine
from numafit.machine.topology import TopologyError, cpu_topology
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.config import KubeletConfig, default_eviction_hard
from numafit.settings.options import DISTRIBUTE_CPUS_ACROSS_NUMA, FULL_PCPUS_ONLY, PREFER_CLOSEST_NUMA_NODES
from numafit.settings.read.decoder import known_fields
from numafit.settings.versions import KubeVersion, behaviour_of

_OPTIONS = "cpuManagerPolicyOptions"
_TOPOLOGY_OPTIONS = "topologyManagerPolicyOptions"


def advice(
    text: KubeletText, config: KubeletConfig, version: KubeVersion, machine: Machine | None, doubts: Iterable[Path] = ()
) -> Iterator[Finding]:
    """Only what stands on values that somebody wrote; `doubts` are others."""

    def stand(*fields: str) -> bool:
        return not any(touches(doubt, (field,)) for doubt in doubts for field in fields)

    policies = stand("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy")
    if stand("evictionHard"):
        yield from _eviction(text, config, version)
    if stand("cpuManagerPolicy", "reservedSystemCPUs", "kubeReserved", "systemReserved", _OPTIONS):
        yield from _reserved_cpus(text, config, version, machine)
    if policies and stand(_OPTIONS, _TOPOLOGY_OPTIONS):
        yield from _options(text, config, version)
    if policies:
        yield from _alignment(text, config, version)
    if machine is not None and stand("reservedMemory"):
        yield from _reserved_memory(text, config, machine)


def flag_advice(text: KubeletText, config: KubeletConfig, version: KubeVersion) -> Iterator[Finding]:
    """What can be said of flags alone, while the configuration file is not known."""
    yield from _eviction(text, config, version)


def _eviction(text: KubeletText, config: KubeletConfig, version: KubeVersion) -> Iterator[Finding]:
    if not text.sets("evictionHard"):
        return
    missing = {
        signal: value for signal, value in default_eviction_hard(version).items() if signal not in config.eviction_hard
    }
    if not missing:
        return
    shown = ", ".join(f"{signal} {value}" for signal, value in missing.items())
    cure = f"add {shown}"
    if "mergeDefaultEvictionSettings" in known_fields(version):
        cure += ", or set mergeDefaultEvictionSettings: true"
    message = f"evictionHard replaces all default thresholds: {shown} no longer applies"
    yield finding("NF202", text.place("evictionHard", key=True), message, cure)


def _reserved_cpus(
    text: KubeletText, config: KubeletConfig, version: KubeVersion, machine: Machine | None
) -> Iterator[Finding]:
    amounts = [
        field
        for field, reserved in (("kubeReserved", config.kube_reserved), ("systemReserved", config.system_reserved))
        if "cpu" in reserved
    ]
    listed = config.reserved_system_cpus
    if listed and amounts:
        message = f"reservedSystemCPUs {listed} replaces cpu under {' and '.join(amounts)}, which no longer counts"
        yield finding("NF206", text.place(amounts[0]), message, "remove cpu there, so that nobody counts on it")
    if config.cpu_manager_policy != "static":
        return
    if not listed:
        yield from _fraction(text, config, amounts)
    elif machine is not None and _on(config, FULL_PCPUS_ONLY):
        yield from _split_cores(text, listed, machine, version)


def _fraction(text: KubeletText, config: KubeletConfig, fields: list[str]) -> Iterator[Finding]:
    total = Quantity(0)
    for reserved in (config.kube_reserved, config.system_reserved):
        try:
            total += parse_quantity(reserved.get("cpu", "0"))
        except QuantityError:
            return
    if fields and total.milli() % 1000:
        whole = -(-total.milli() // 1000)
        message = f"{total} CPUs are reserved, so the static policy keeps {whole} whole CPU{'s' * (whole > 1)} back"
        cure = f"name them by reservedSystemCPUs, or reserve {whole}, so that Node Allocatable says the same"
        yield finding("NF210", text.place(fields[0]), message, cure)


def _split_cores(text: KubeletText, listed: str, machine: Machine, version: KubeVersion) -> Iterator[Finding]:
    behaviour = behaviour_of(version)
    try:
        reserved = parse_cpuset(listed, reversed_sign=behaviour.reversed_range_sign)
        topology = cpu_topology(machine, behaviour)
    except (KubeletError, TopologyError):
        return
    whole = 0
    for core in topology.cores.values():
        if core & reserved:
            whole |= core
    split = whole & ~reserved
    if split and whole & ~split == reserved:
        message = (
            f"reserved CPUs {listed} leave the other threads of their cores ({cpuset_text(split)}) behind, "
            "which full-pcpus-only can never hand out"
        )
        yield finding("NF203", text.place("reservedSystemCPUs"), message, f'reserve "{cpuset_text(whole)}"')


def _options(text: KubeletText, config: KubeletConfig, version: KubeVersion) -> Iterator[Finding]:
    policy = config.topology_manager_policy
    if _on(config, DISTRIBUTE_CPUS_ACROSS_NUMA) and policy in ("restricted", "single-numa-node"):
        when = "which are rejected" if policy == "single-numa-node" else "even when idle"
        message = (
            f"{policy} defeats {DISTRIBUTE_CPUS_ACROSS_NUMA}: it acts only on requests that no NUMA node holds, {when}"
        )
        cure = "remove the option, or use best-effort or none where CPUs shall be spread"
        yield finding("NF204", text.place(_OPTIONS, DISTRIBUTE_CPUS_ACROSS_NUMA, key=True), message, cure)
    options = config.topology_manager_policy_options or {}
    if policy == "none" and options and behaviour_of(version).none_checks_nothing:
        message = f"{', '.join(sorted(options))} does nothing with topologyManagerPolicy none"
        cure = "choose best-effort, restricted or single-numa-node, or remove the options"
        yield finding("NF205", text.place(_TOPOLOGY_OPTIONS, key=True), message, cure)
    elif policy == "single-numa-node" and PREFER_CLOSEST_NUMA_NODES in options:
        message = (
            f"{PREFER_CLOSEST_NUMA_NODES} chooses between sets of several NUMA nodes, of which {policy} admits none"
        )
        path = (_TOPOLOGY_OPTIONS, PREFER_CLOSEST_NUMA_NODES)
        yield finding("NF205", text.place(*path, key=True), message, "remove it, or use restricted or best-effort")


def _alignment(text: KubeletText, config: KubeletConfig, version: KubeVersion) -> Iterator[Finding]:
    static_cpu = config.cpu_manager_policy == "static"
    static_memory = config.memory_manager_policy == "Static"
    policy = config.topology_manager_policy
    if policy != "none" and not static_cpu:
        message = f"topologyManagerPolicy {policy} aligns no CPUs while cpuManagerPolicy is {config.cpu_manager_policy}"
        cure = "set cpuManagerPolicy: static, and reserve CPUs"
        yield finding("NF207", text.place("topologyManagerPolicy"), message, cure)
    elif policy == "none" and static_cpu and static_memory:
        message = "topologyManagerPolicy is none: CPUs, memory and devices are chosen each for itself, not together"
        field = "topologyManagerPolicy" if text.sets("topologyManagerPolicy") else "memoryManagerPolicy"
        yield finding("NF207", text.place(field), message, "set topologyManagerPolicy to restricted or best-effort")
    if not behaviour_of(version).memory_manager:
        return
    if config.reserved_memory and not static_memory:
        message = f"reservedMemory does nothing while memoryManagerPolicy is {config.memory_manager_policy}"
        yield finding("NF205", text.place("reservedMemory", key=True), message, "set memoryManagerPolicy: Static")
    elif policy != "none" and static_cpu and not static_memory:
        message = f"memoryManagerPolicy is {config.memory_manager_policy}: memory may come from any NUMA node"
        cure = "set memoryManagerPolicy: Static with reservedMemory, if memory has to lie beside the CPUs"
        yield finding("NF208", text.place("topologyManagerPolicy"), message, cure)


def _reserved_memory(text: KubeletText, config: KubeletConfig, machine: Machine) -> Iterator[Finding]:
    nodes = {node.id: node for node in machine.numa_nodes}
    for index, item in enumerate(config.reserved_memory):
        node = nodes.get(item.numa_node)
        reserved = item.limits.get("memory")
        if node is None or reserved is None:
            continue
        free = node.memory - sum(size * count for size, count in node.hugepages.items())
        if reserved.value() > free:
            has = Quantity(max(free, 0), 0, "BinarySI")
            message = (
                f"{reserved} is reserved of NUMA node {node.id}, which has {has}: "
                "the kubelet does not check this, its count wraps around and the node looks endless"
            )
            yield finding("NF209", text.place("reservedMemory", index), message, f"reserve less than {has} of it")


def _on(config: KubeletConfig, option: str) -> bool:
    try:
        return parse_bool((config.cpu_manager_policy_options or {}).get(option, "false"))
    except KubeletError:
        return False
