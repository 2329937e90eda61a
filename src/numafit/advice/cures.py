"""What to do about a refused start: one row for each code that the engine gives to a refusal.

Lint and the commands that want a kubelet which starts show `cure` at the field; the doctor says `why`, and what to
change. A refusal that joins several is about the one whose row stands first.

Which state file must go after which change: a state file holds what was assigned under a policy, a reservation and a
machine, and the kubelet takes it only while these are as they were. The policy, scope and options of the topology
manager are in no file, and `kubelet_internal_checkpoint` never keeps a kubelet from starting.
"""

from collections.abc import Callable
from typing import NamedTuple

from numafit.errors import KubeletError
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES, OptionStages
from numafit.settings.read.decoder import API_VERSION, KIND


class Cure(NamedTuple):
    lint: str
    """The code of lint's finding."""
    cure: str | Callable[[KubeletError], str] = ""
    why: str = ""
    change: str = ""
    """What the doctor would change in the configuration; empty when it is the state file that must go."""
    also_delete: tuple[str, ...] = ()
    """State files that do not fit the changed configuration, if there are any."""


def _gate(error: KubeletError) -> str:
    return f"set the feature gate {error.facts['gate']} to true"


def _when(stages: OptionStages) -> Callable[[KubeletError], str]:
    def cure(error: KubeletError) -> str:
        option = str(error.field[-1])
        if option not in stages:
            return f"known options are {error.facts['known']}"
        return f"{option} exists since 1.{min(stages[option])}: remove it, or upgrade the kubelet"

    return cure


_BEGIN = f"begin the file with apiVersion: {API_VERSION} and kind: {KIND}"
_TYPE = "give the value the type that the field has"
_ENFORCE = "list only pods, kube-reserved and system-reserved, and keep cgroupsPerQOS true"
_RESERVABLE = "reserve cpu, memory, ephemeral-storage or pid"
_AMOUNT = "write an amount of zero or more, such as 500m or 2Gi"
_RESERVE = 'reserve CPUs: reservedSystemCPUs: "0", or cpu under kubeReserved or systemReserved'
_NOTHING_RESERVED = "The static policy keeps at least one CPU for the system; nothing is reserved here."
_RESERVE_CHANGE = "reserve CPUs: reservedSystemCPUs, or cpu in kubeReserved or systemReserved"
_FEWER = "reserve fewer CPUs, and only CPUs that the machine has"
_BOOL = 'write "true" or "false"'
_UNKNOWN_OPTION = "This release does not know the option."
_STAGE = "An option that is not stable yet needs the feature gate of its stage."
_CPU_STAGE = "remove the option, or set the gate CPUManagerPolicyAlphaOptions or …BetaOptions to true"
_TOPOLOGY_STAGE = "remove the option, or set the gate TopologyManagerPolicyAlphaOptions or …BetaOptions to true"
_TOPOLOGY_VALUES = "prefer-closest-numa-nodes takes true or false, max-allowable-numa-nodes a number from 8 on."
_TOPOLOGY_CHANGE = "correct topologyManagerPolicyOptions"
_OPTION_GATES = "set the gates that it names to true, or remove the options"
_DAMAGED = "The file is not what a kubelet writes: cut, edited or damaged."
_CHECKSUM = "The checksum is not that of the contents: cut, edited or damaged."

CURES: dict[str, Cure] = {
    # flags and files
    "flag-value": Cure("NF104", "correct the value of the flag"),
    "flag-needs-value": Cure("NF104", "correct the value of the flag"),
    "file-empty": Cure("NF101"),
    "decode-kind-type": Cure("NF101"),
    "api-version": Cure("NF101", _BEGIN),
    "kind-missing": Cure("NF101", _BEGIN),
    "kind-unknown": Cure("NF101", _BEGIN),
    "decode-type": Cure("NF101", _TYPE),
    "decode-duration": Cure("NF101", "write a duration such as 10s or 5m"),
    "decode-quantity": Cure("NF101", _AMOUNT),
    "drop-in-kind": Cure("NF101", _BEGIN),
    # feature gates
    "gate-unknown": Cure(
        "NF102",
        "remove it, or check its spelling and the release",
        "This release does not know the gate, or no longer.",
        "remove it from featureGates",
    ),
    "gate-locked": Cure(
        "NF102",
        "remove it: the release does not let it be changed",
        "The feature can no longer be switched off.",
        "remove the gate from featureGates",
    ),
    "gate-depends": Cure("NF102", "set the gates that it needs, or remove it", "", "correct featureGates"),
    # the static validation
    "topology-policy": Cure("NF105", "write none, best-effort, restricted or single-numa-node"),
    "topology-scope": Cure("NF105", "write container or pod"),
    "topology-gate": Cure("NF102", "set the feature gate TopologyManager to true"),
    "cpus-with-cgroups": Cure("NF103", "remove systemReservedCgroup and kubeReservedCgroup, or the list of CPUs"),
    "cpus-list": Cure("NF103", "write a list like 0-3,8"),
    "memory-type": Cure("NF103", "reserve memory or hugepages-<size> only"),
    "memory-zero": Cure("NF103", "leave out entries that reserve nothing"),
    "memory-twice": Cure("NF103", "name each NUMA node and resource once"),
    "enforce-cgroup": Cure("NF103", "name the cgroup, or do not enforce this reservation"),
    "enforce-needs-qos": Cure("NF103", _ENFORCE),
    "enforce-both": Cure("NF103", _ENFORCE),
    "enforce-twice": Cure("NF103", _ENFORCE),
    "enforce-none": Cure("NF103", _ENFORCE),
    "enforce-unknown": Cure("NF103", _ENFORCE),
    "enforce-qos": Cure("NF103", _ENFORCE),
    "max-pods": Cure("NF103", "write a number above zero"),
    "pods-per-core": Cure("NF103", "write zero or more"),
    # what is reserved
    "cpus-offline": Cure(
        "NF114",
        "name only CPUs that are online",
        "",
        "list only CPUs that are online in reservedSystemCPUs",
        (CPU_FILE,),
    ),
    "cpus-empty-range": Cure("NF119"),
    "reserved-name": Cure("NF103", _RESERVABLE, "", "correct the amount or its name", (CPU_FILE, MEMORY_FILE)),
    "reserved-amount": Cure("NF103", _AMOUNT, "", "correct the amount or its name", (CPU_FILE, MEMORY_FILE)),
    "qos-reserved": Cure(
        "NF103", "write a share of memory, such as 50%", "", "correct the amount or its name", (CPU_FILE, MEMORY_FILE)
    ),
    "eviction-signal": Cure(
        "NF103", "write signals such as memory.available: 100Mi", "", "correct evictionHard", (MEMORY_FILE,)
    ),
    "eviction-value": Cure(
        "NF103", "write signals such as memory.available: 100Mi", "", "correct evictionHard", (MEMORY_FILE,)
    ),
    "cpu-options-gate": Cure("NF112", "set the feature gate CPUManagerPolicyOptions to true", "", _OPTION_GATES),
    "topology-options-gate": Cure(
        "NF112", "set the feature gate TopologyManagerPolicyOptions to true", "", _OPTION_GATES
    ),
    "capacity": Cure(
        "NF114",
        "reserve less than the machine has",
        "More is reserved than the machine has.",
        "reserve less",
        (CPU_FILE, MEMORY_FILE),
    ),
    # the topology manager
    "topology-policy-name": Cure(
        "NF105",
        "write none, best-effort, restricted or single-numa-node",
        "Policy names are case-sensitive.",
        "set topologyManagerPolicy to a known policy",
    ),
    "topology-scope-name": Cure(
        "NF105",
        "write container or pod",
        "There are the scopes container and pod.",
        "set topologyManagerScope to one of them",
    ),
    "topology-option-unknown": Cure(
        "NF112", _when(TOPOLOGY_OPTION_STAGES), _UNKNOWN_OPTION, "remove it from topologyManagerPolicyOptions"
    ),
    "topology-option-stage": Cure("NF112", _gate, _STAGE, _TOPOLOGY_STAGE),
    "topology-option-bool": Cure("NF112", _BOOL, _TOPOLOGY_VALUES, _TOPOLOGY_CHANGE),
    "topology-option-number": Cure("NF112", "write a number of 8 or more", _TOPOLOGY_VALUES, _TOPOLOGY_CHANGE),
    "topology-option-minimum": Cure("NF112", "write a number of 8 or more", _TOPOLOGY_VALUES, _TOPOLOGY_CHANGE),
    "numa-nodes": Cure(
        "NF115",
        "set max-allowable-numa-nodes (1.31 and later), or topologyManagerPolicy: none",
        "The merge of hints grows with every set of NUMA nodes; the kubelet refuses to begin.",
        "set topologyManagerPolicy to none, merge NUMA nodes in the firmware, or raise max-allowable-numa-nodes "
        "(since 1.31)",
    ),
    "distances": Cure("NF119", "", "The machine reports no distances.", "remove prefer-closest-numa-nodes"),
    # the CPU manager
    "cpu-policy": Cure(
        "NF105",
        "write none or static",
        "Policy names are case-sensitive: none and static.",
        "correct cpuManagerPolicy",
    ),
    "cpu-topology": Cure("NF119"),
    "cpu-options-none": Cure(
        "NF112",
        "remove the options, or set cpuManagerPolicy: static",
        "Options are for the policy static.",
        "remove cpuManagerPolicyOptions, or set cpuManagerPolicy to static",
        (CPU_FILE,),
    ),
    "cpu-reserve-unknown": Cure("NF111", _RESERVE, _NOTHING_RESERVED, _RESERVE_CHANGE),
    "cpu-reserve-zero": Cure("NF111", _RESERVE, _NOTHING_RESERVED, _RESERVE_CHANGE),
    "cpu-option-unknown": Cure("NF112", _when(CPU_OPTION_STAGES), _UNKNOWN_OPTION, "remove it"),
    "cpu-option-stage": Cure("NF112", _gate, _STAGE, _CPU_STAGE),
    "cpu-option-bool": Cure("NF112", _BOOL, "The options are true or false.", "correct cpuManagerPolicyOptions"),
    "cpu-options-exclude": Cure(
        "NF113", "keep one of the two", "The two options contradict each other.", "keep one of them"
    ),
    "socket-single-numa": Cure(
        "NF113",
        "remove align-by-socket, or use another topologyManagerPolicy",
        "align-by-socket spreads over the NUMA nodes of a socket, single-numa-node forbids that.",
        "remove align-by-socket, or choose another topologyManagerPolicy",
    ),
    "socket-hardware": Cure(
        "NF113", "remove align-by-socket", "A NUMA node spans several sockets.", "remove align-by-socket"
    ),
    "cpu-reserve-count": Cure(
        "NF114",
        _FEWER,
        "The reservation in whole CPUs and the CPUs to be reserved differ in number.",
        "reserve no more CPUs than there are; list each CPU in reservedSystemCPUs once",
        (CPU_FILE,),
    ),
    "cpu-reserve-missing": Cure(
        "NF114", _FEWER, "A reserved CPU is not there.", "list only CPUs that are online", (CPU_FILE,)
    ),
    # the memory manager
    "memory-policy": Cure(
        "NF105", "write None or Static", "On Linux there are None and Static.", "correct memoryManagerPolicy"
    ),
    "memory-total": Cure(
        "NF110",
        "",
        "reservedMemory must add up to kubeReserved + systemReserved + evictionHard memory.available.",
        "make the sum of reservedMemory equal to the second amount",
        (MEMORY_FILE,),
    ),
    "pages-total": Cure(
        "NF110",
        "",
        "Huge pages cannot be reserved: nothing can be on the other side of the sum.",
        "remove the huge pages from reservedMemory",
        (MEMORY_FILE,),
    ),
    "memory-node": Cure(
        "NF114",
        "name only NUMA nodes that the machine has",
        "The machine has no such NUMA node.",
        "name only NUMA nodes of this machine in reservedMemory",
        (MEMORY_FILE,),
    ),
    "memory-none": Cure(
        "NF110",
        "add reservedMemory; together it must be kubeReserved + systemReserved + evictionHard memory.available",
        "The policy Static wants memory reserved on at least one NUMA node.",
        "add reservedMemory, and the same amount in kubeReserved, systemReserved or evictionHard",
        (MEMORY_FILE,),
    ),
    "memory-amount": Cure("NF119", "", "reservedMemory must be whole bytes, written whole.", "write 1536Mi, not 1.5Gi"),
    # state files
    "cpu-restore-policy": Cure("NF119", "", "The file was written under another CPU manager policy."),
    "memory-restore-policy": Cure("NF119", "", "The file was written under another memory manager policy."),
    "restore-corrupted": Cure("NF119", "", _CHECKSUM),
    "restore-older-layout": Cure(
        "NF119", "", f"{_CHECKSUM} The words are those of an older layout, which 1.36 tries last."
    ),
    "restore-container": Cure(
        "NF119", "", "The file has the form of a kubelet before 1.18, with containers that are gone."
    ),
    "restore-cpus": Cure("NF119", "", "A list of CPUs in the file is none."),
    "restore-json": Cure("NF119", "", _DAMAGED),
    "cpu-state-empty": Cure("NF119", "", "Every CPU is given away exclusively: none is left to share."),
    "cpu-state-strict": Cure("NF119", "", "strict-cpu-reservation was switched on, or more CPUs were reserved."),
    "cpu-state-reserved": Cure("NF119", "", "A CPU that is reserved now was given to a container before."),
    "cpu-state-overlap": Cure("NF119", "", "The file gives a CPU to a container and to the shared pool."),
    "cpu-state-cpus": Cure("NF119", "", "CPUs came or went, or strict-cpu-reservation was switched."),
    "memory-restore-null": Cure("NF119"),
    "memory-state-gone": Cure("NF119", "", "The file gives memory to a container that this machine does not have."),
    "memory-state-empty": Cure("NF119", "", "The file has containers, but no NUMA nodes."),
    "memory-state-differs": Cure(
        "NF119", "", "The memory of the machine, its huge pages or reservedMemory are not what they were."
    ),
    "memory-state-panic": Cure("NF119", "", "The kubelet crashes over this file."),
}

_ORDER = {code: index for index, code in enumerate(CURES)}
_UNKNOWN = Cure("NF119")


def row_of(error: KubeletError) -> Cure:
    return CURES.get(error.code, _UNKNOWN)


def cure_of(error: KubeletError) -> str:
    cure = row_of(error).cure
    return cure if isinstance(cure, str) else cure(error)


def foremost(error: KubeletError) -> KubeletError:
    """The one of several refusals that is shown where there is room for one."""
    return min(error.problems, key=lambda problem: _ORDER.get(problem.code, len(_ORDER)))
