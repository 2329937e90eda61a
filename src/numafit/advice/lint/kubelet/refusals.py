"""The kubelet's refusals: which code and field each of its texts belongs to, and what to do about it."""

import re
from typing import NamedTuple

from numafit.document import Path
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES, OptionStages, stage_of
from numafit.settings.versions import KubeVersion

CPU_POLICIES = ("none", "static")
MEMORY_POLICIES = ("None", "Static")


class RefusalWords(NamedTuple):
    code: str
    path: Path
    cure: str


class _Row(NamedTuple):
    pattern: str
    code: str
    path: Path
    cure: str


_OPTIONS = "cpuManagerPolicyOptions"
_TOPOLOGY_OPTIONS = "topologyManagerPolicyOptions"
_ROWS = (
    _Row("topologyManagerPolicy .*must be one of|topologyManagerPolicy non-allow", "NF105", ("topologyManagerPolicy",),
         "write none, best-effort, restricted or single-numa-node"),
    _Row("topologyManagerScope .*must be one of|topologyManagerScope non-allow", "NF105", ("topologyManagerScope",),
         "write container or pod"),
    _Row("topologyManagerPolicy .*requires feature gate", "NF102", ("topologyManagerPolicy",),
         "set the feature gate TopologyManager to true"),
    _Row("topologyManagerScope .*requires feature gate", "NF102", ("topologyManagerScope",),
         "set the feature gate TopologyManager to true"),
    _Row("can't use reservedSystemCPUs", "NF103", ("reservedSystemCPUs",),
         "remove systemReservedCgroup and kubeReservedCgroup, or the list of CPUs"),
    _Row("unable to parse reserved", "NF103", ("reservedSystemCPUs",), "write a list like 0-3,8"),
    _Row("limit type .* is not supported", "NF103", ("reservedMemory",), "reserve memory or hugepages-<size> only"),
    _Row("reserved memory may not be zero", "NF103", ("reservedMemory",), "leave out entries that reserve nothing"),
    _Row("duplicate value for NUMA node", "NF103", ("reservedMemory",), "name each NUMA node and resource once"),
    _Row("ReservedCgroup .*must be specified", "NF103", ("enforceNodeAllocatable",),
         "name the cgroup, or do not enforce this reservation"),
    _Row("enforceNodeAllocatable", "NF103", ("enforceNodeAllocatable",),
         "list only pods, kube-reserved and system-reserved, and keep cgroupsPerQOS true"),
    _Row("maxPods", "NF103", ("maxPods",), "write a number above zero"),
    _Row("podsPerCore", "NF103", ("podsPerCore",), "write zero or more"),
    _Row("the total amount .* is not equal to the value", "NF110", ("reservedMemory",), ""),
    _Row("references a NUMA node", "NF114", ("reservedMemory",), "name only NUMA nodes that the machine has"),
    _Row("you should specify the system reserved memory", "NF110", ("memoryManagerPolicy",),
         "add reservedMemory; together it must be kubeReserved + systemReserved + evictionHard memory.available"),
    _Row("requires systemreserved.cpu|unable to determine reserved CPU", "NF111", ("cpuManagerPolicy",),
         'reserve CPUs: reservedSystemCPUs: "0", or cpu under kubeReserved or systemReserved'),
    _Row("can not be used at the same time", "NF113", (_OPTIONS,), "keep one of the two"),
    _Row("incompatible with CPUManager align-by-socket", "NF113", (_OPTIONS, "align-by-socket"),
         "remove align-by-socket, or use another topologyManagerPolicy"),
    _Row("Align by socket is not compatible", "NF113", (_OPTIONS, "align-by-socket"), "remove align-by-socket"),
    _Row("received unsupported options", "NF112", (_OPTIONS,), "remove the options, or set cpuManagerPolicy: static"),
    _Row("unsupported on machines with more than", "NF115", ("topologyManagerPolicy",),
         "set max-allowable-numa-nodes (1.31 and later), or topologyManagerPolicy: none"),
    _Row("CPU Manager policy options .* require feature gates", "NF112", (_OPTIONS,),
         "set the feature gate CPUManagerPolicyOptions to true"),
    _Row("topology manager policy options .* require feature gates", "NF112", (_TOPOLOGY_OPTIONS,),
         "set the feature gate TopologyManagerPolicyOptions to true"),
    _Row('minimum value of "max-allowable-numa-nodes"', "NF112", (_TOPOLOGY_OPTIONS, "max-allowable-numa-nodes"),
         "write a number of 8 or more"),
    _Row("reserved-cpus|--reserved-cpus", "NF114", ("reservedSystemCPUs",), "name only CPUs that are online"),
    _Row("unable to reserve the required amount|unable to build the reserved", "NF114", ("reservedSystemCPUs",),
         "reserve fewer CPUs, and only CPUs that the machine has"),
    _Row("invalid Node Allocatable configuration", "NF114", ("kubeReserved",), "reserve less than the machine has"),
    _Row("--kube-reserved", "NF103", ("kubeReserved",), "reserve cpu, memory, ephemeral-storage or pid"),
    _Row("--system-reserved", "NF103", ("systemReserved",), "reserve cpu, memory, ephemeral-storage or pid"),
    _Row("--qos-reserved", "NF103", ("qosReserved",), "write a share of memory, such as 50%"),
    _Row("eviction", "NF103", ("evictionHard",), "write signals such as memory.available: 100Mi"),
)  # fmt: skip
_OPTION = re.compile(r'option:? "([^"]+)"')
_GATE = re.compile(r"feature gate:? (\w+)|^(\w+) is enabled, but depends")


def words_of(message: str, stage: str, version: KubeVersion) -> RefusalWords:
    """For any text; unknown ones belong to NF119 and to no field."""
    option = _option_words(message, stage, version)
    if option is not None:
        return option
    if message.startswith("unknown policy:") or "is not available for platform" in message:
        if stage.startswith("memorymanager"):
            return RefusalWords("NF105", ("memoryManagerPolicy",), "write None or Static")
        return RefusalWords("NF105", ("cpuManagerPolicy",), "write none or static")
    for row in _ROWS:
        if re.search(row.pattern, message):
            return RefusalWords(row.code, row.path, row.cure)
    return RefusalWords("NF119", (), "")


def gate_words(message: str) -> RefusalWords:
    match = _GATE.search(message)
    name = next((group for group in match.groups() if group), "") if match else ""
    path: Path = ("featureGates", name) if name else ("featureGates",)
    if "locked" in message:
        return RefusalWords("NF102", path, "remove it: the release does not let it be changed")
    if "depends on" in message:
        return RefusalWords("NF102", path, "set the gates that it needs, or remove it")
    return RefusalWords("NF102", path, "remove it, or check its spelling and the release")


def _option_words(message: str, stage: str, version: KubeVersion) -> RefusalWords | None:
    match = _OPTION.search(message)
    if match is None:
        return None
    option = match.group(1)
    stages, field, prefix = CPU_OPTION_STAGES, _OPTIONS, "CPUManagerPolicy"
    if stage.startswith("topologymanager"):
        stages, field, prefix = TOPOLOGY_OPTION_STAGES, _TOPOLOGY_OPTIONS, "TopologyManagerPolicy"
    path: Path = (field, option)
    if "not enabled" in message:
        level = stage_of(option, stages, version.minor)
        return RefusalWords("NF112", path, f"set the feature gate {prefix}{str(level).capitalize()}Options to true")
    if message.startswith(("unknown", "unsupported", "new static policy error: un")):
        return RefusalWords("NF112", path, _when(option, stages))
    if "bad value" in message:
        return RefusalWords("NF112", path, 'write "true" or "false"')
    return RefusalWords("NF112", path, "write a number of 8 or more")


def _when(option: str, stages: OptionStages) -> str:
    if option not in stages:
        return f"known options are {', '.join(stages)}"
    return f"{option} exists since 1.{min(stages[option])}: remove it, or upgrade the kubelet"
