"""What to do about a refused start: one row for each code that the engine gives to a refusal.

Lint, the doctor and the commands that want a kubelet which starts say the same `cure`; the doctor also says `why`. A
refusal that joins several is about the one whose row stands first. Where two settings contradict each other the cure
names both sides, with amounts; a side that would lead to the next refusal is not offered.

Which state file must go after which change: a state file holds what was assigned under a policy, a reservation and a
machine, and the kubelet takes it only while these are as they were. The policy, scope and options of the topology
manager are in no file, and `kubelet_internal_checkpoint` never keeps a kubelet from starting.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from numafit.errors import KubeletError
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES, OptionStages
from numafit.settings.read.decoder import API_VERSION, KIND


class Cure(NamedTuple):
    lint: str
    """The code of lint's finding."""
    cure: str | Callable[[KubeletError], str] = ""
    """What to change in the configuration; empty when it is the state file that must go."""
    why: str = ""
    also_delete: tuple[str, ...] = ()
    """State files that do not fit the changed configuration, if there are any."""


class Side(NamedTuple):
    """One of the two ways to make reservedMemory and what Node Allocatable reserves the same."""

    change: Literal["add", "take"]
    amount: Quantity
    of: Literal["reservedMemory", "reservation"]
    """`reservation`: kubeReserved, systemReserved and evictionHard memory.available together."""


def sides_of(error: KubeletError) -> tuple[Side, ...]:
    """Of a sum of reservedMemory that is refused: the ways after which it is not, the one that adds first.

    None where the sides are no whole bytes, or neither is an amount above zero that the machine has.
    """
    listed, wanted, capacity = (parse_quantity(error.facts[name]) for name in ("listed", "wanted", "capacity"))
    if not (_whole(listed) and _whole(wanted)):
        return ()
    amount = Quantity(abs(listed.value() - wanted.value()), 0, "BinarySI")
    sides: list[Side] = []
    if listed.sign > 0 and listed <= capacity:
        sides.append(Side("add" if listed > wanted else "take", amount, "reservation"))
    if wanted.sign > 0 and wanted <= capacity:
        sides.append(Side("add" if wanted > listed else "take", amount, "reservedMemory"))
    return tuple(sorted(sides, key=lambda side: side.change))


def _whole(quantity: Quantity) -> bool:
    return Quantity(quantity.value()) == quantity


def _sum(error: KubeletError) -> str:
    sides = sides_of(error)
    if not sides:
        return (
            "make reservedMemory and kubeReserved + systemReserved + evictionHard memory.available the same amount of "
            f"whole bytes, above zero and at most {error.facts['capacity']}"
        )
    return ", or ".join(_side_text(side) for side in sides)


def _side_text(side: Side) -> str:
    if side.of == "reservedMemory":
        return f"{side.change} {side.amount} {'to' if side.change == 'add' else 'from'} reservedMemory"
    if side.change == "add":
        return f"add {side.amount} of memory to kubeReserved or systemReserved"
    return f"take {side.amount} of memory from kubeReserved, systemReserved or evictionHard"


def _pages(error: KubeletError) -> str:
    return f"remove {error.facts['resource']} from reservedMemory"


def _whole_bytes(error: KubeletError) -> str:
    amount = parse_quantity(error.facts["amount"])
    for text in (str(Quantity(amount.value(), 0, "BinarySI")), str(amount.value())):
        if _whole(amount) and parse_quantity(text).as_int64() is not None:
            return f"write {text}"
    return "write whole bytes, in a number that 63 bits hold"


def _gate(error: KubeletError) -> str:
    return f"set the feature gate {error.facts['gate']} to true, or remove the option"


def _depends(error: KubeletError) -> str:
    return f"set {error.facts['missing'].replace(' ', ' and ')} to true, or {error.field[-1]} to false"


def _excluded(error: KubeletError) -> str:
    return f"keep {error.facts['first']} or {error.facts['second']}, not both"


def _capacity(error: KubeletError) -> str:
    facts = error.facts
    return f"reserve at most {facts['capacity']} of {facts['resource']} in all; {facts['reserved']} is reserved"


def _grace(error: KubeletError) -> str:
    signal = error.facts["signal"]
    return f"add {signal}, such as 1m30s, to evictionSoftGracePeriod, or remove it from evictionSoft"


def _nodes(error: KubeletError) -> str:
    none = "set topologyManagerPolicy: none"
    option = error.facts.get("option")
    return f'set {option}: "{error.facts["nodes"]}" in topologyManagerPolicyOptions, or {none}' if option else none


def _type(error: KubeletError) -> str:
    """By the type that Go's decoder has for the field."""
    found, wanted, value = (error.facts.get(name, "") for name in ("found", "wanted", "value"))
    if found in ("number", "bool") and wanted.startswith("string"):
        return f'write it between quotes: "{value}"'
    if wanted == "bool":
        return "write true or false, without quotes"
    if wanted.startswith(("int", "float")):
        return "write a number, without quotes" if found == "string" else "write a number that the field can hold"
    if wanted.startswith("[]"):
        return "write a list"
    if wanted.startswith("string"):
        return "write one text"
    return "write a mapping of names to values"


def _when(stages: OptionStages) -> Callable[[KubeletError], str]:
    def cure(error: KubeletError) -> str:
        option = str(error.field[-1])
        if option not in stages:
            return f"known options are {error.facts['known']}"
        return f"{option} exists since 1.{min(stages[option])}: remove it, or upgrade the kubelet"

    return cure


_BEGIN = f"begin the file with apiVersion: {API_VERSION} and kind: {KIND}"
_RESERVABLE = "reserve cpu, memory, ephemeral-storage or pid"
_AMOUNT = "write an amount of zero or more, such as 500m or 2Gi"
_RESERVE = 'reserve CPUs: reservedSystemCPUs: "0", or cpu under kubeReserved or systemReserved'
_NOTHING_RESERVED = "The static policy keeps at least one CPU for the system; nothing is reserved here."
_FEWER = "reserve fewer CPUs, and only CPUs that the machine has"
_BOOL = 'write "true" or "false"'
_UNKNOWN_OPTION = "This release does not know the option."
_STAGE = "An option that is not stable yet needs the feature gate of its stage."
_TOPOLOGY_VALUES = "prefer-closest-numa-nodes takes true or false, max-allowable-numa-nodes a number from 8 on."
_PER_QOS = "set cgroupsPerQOS: true, or enforceNodeAllocatable: []"
_DAMAGED = "The file is not what a kubelet writes: cut, edited or damaged."
_CHECKSUM = "The checksum is not that of the contents: cut, edited or damaged."
_EVICTION = "The eviction manager is made after the others; it looks at all four maps."
_TOPOLOGY_POLICY = "write none, best-effort, restricted or single-numa-node"

CURES: dict[str, Cure] = {
    # flags and files
    "flag-value": Cure("NF104", "correct the value of the flag"),
    "flag-needs-value": Cure("NF104", "give the flag a value"),
    "file-empty": Cure("NF101", _BEGIN),
    "decode-kind-type": Cure("NF101", _BEGIN),
    "api-version": Cure("NF101", _BEGIN),
    "kind-missing": Cure("NF101", _BEGIN),
    "kind-unknown": Cure("NF101", _BEGIN),
    "decode-type": Cure("NF101", _type),
    "decode-duration": Cure("NF101", "write a duration such as 10s or 5m"),
    "decode-quantity": Cure("NF101", "write an amount such as 2Gi"),
    "drop-in-kind": Cure("NF101", _BEGIN),
    # feature gates
    "gate-unknown": Cure(
        "NF102",
        "remove it, or check its spelling and the release",
        "This release does not know the gate, or no longer.",
    ),
    "gate-locked": Cure(
        "NF102", "remove it: the release does not let it be changed", "The release has fixed the value of this gate."
    ),
    "gate-depends": Cure("NF102", _depends, "A gate that is on needs others that are off."),
    # the static validation
    "topology-policy": Cure("NF105", _TOPOLOGY_POLICY),
    "topology-scope": Cure("NF105", "write container or pod"),
    "topology-gate": Cure("NF102", "set the feature gate TopologyManager to true"),
    "cpus-with-cgroups": Cure("NF103", "remove systemReservedCgroup and kubeReservedCgroup, or the list of CPUs"),
    "cpus-list": Cure("NF103", "write a list like 0-3,8"),
    "memory-type": Cure("NF103", "reserve memory only"),
    "memory-zero": Cure("NF103", "leave out entries that reserve nothing"),
    "memory-twice": Cure("NF103", "name each NUMA node and resource once"),
    "enforce-cgroup": Cure("NF103", "name the cgroup, or do not enforce this reservation"),
    "enforce-needs-qos": Cure("NF103", _PER_QOS),
    "enforce-both": Cure("NF103", "keep one of the two"),
    "enforce-twice": Cure("NF103", "name it once"),
    "enforce-none": Cure("NF103", "name none alone, or leave it out"),
    "enforce-unknown": Cure("NF103", "name pods, kube-reserved, system-reserved or none"),
    "enforce-qos": Cure("NF103", _PER_QOS),
    "max-pods": Cure("NF103", "write a number above zero"),
    "pods-per-core": Cure("NF103", "write zero or more"),
    "image-gc-share": Cure("NF103", "write a percentage from 0 to 100"),
    "image-gc-order": Cure("NF103", "make imageGCLowThresholdPercent (80 by default) the lower of the two"),
    "parallel-pulls": Cure("NF103", "write a number above zero"),
    "serial-pulls": Cure("NF103", "set serializeImagePulls: false, or maxParallelImagePulls: 1"),
    "shutdown-gate": Cure("NF102", "set the feature gate GracefulNodeShutdown to true, or remove the periods"),
    "shutdown-order": Cure("NF103", "make shutdownGracePeriod the longer of the two"),
    "shutdown-period": Cure("NF103", "write 0s, or a duration of a second or more"),
    "swap-gate": Cure("NF102", "set the feature gate NodeSwap to true, or remove memorySwap"),
    "swap-behavior": Cure("NF103", lambda error: f"write {error.facts['allowed']}"),
    "log-workers": Cure("NF103", "write a number above zero"),
    "log-interval": Cure("NF103", "write a duration of 3s or more"),
    "log-files": Cure("NF103", "write a number above 1"),
    # what is reserved
    "cpus-offline": Cure("NF114", "name only CPUs that are online", "", (CPU_FILE,)),
    "cpus-empty-range": Cure("NF119", "write a list like 0-3,8", "The kubelet crashes over a range without CPUs."),
    "reserved-name": Cure("NF103", _RESERVABLE, "", (CPU_FILE, MEMORY_FILE)),
    "reserved-amount": Cure("NF103", _AMOUNT, "", (CPU_FILE, MEMORY_FILE)),
    "qos-reserved": Cure("NF103", "write a share of memory, such as 50%"),
    "eviction-signal": Cure("NF103", "write signals such as memory.available: 100Mi", "", (MEMORY_FILE,)),
    "eviction-value": Cure("NF103", "write an amount such as 100Mi, or a share such as 5%", "", (MEMORY_FILE,)),
    "soft-signal": Cure("NF103", "write signals such as memory.available", _EVICTION),
    "soft-value": Cure("NF103", "write an amount such as 200Mi, or a share such as 10%", _EVICTION),
    "grace-period": Cure("NF103", "write a duration such as 1m30s", _EVICTION),
    "minimum-reclaim": Cure("NF103", "write an amount such as 500Mi, or a share above 0%", _EVICTION),
    "grace-missing": Cure("NF103", _grace, "A soft threshold must hold for a time before pods are evicted."),
    "cpu-options-gate": Cure("NF112", "set the feature gate CPUManagerPolicyOptions to true, or remove the options"),
    "topology-options-gate": Cure(
        "NF112", "set the feature gate TopologyManagerPolicyOptions to true, or remove the options"
    ),
    "capacity": Cure("NF114", _capacity, "More is reserved than the machine has.", (CPU_FILE, MEMORY_FILE)),
    # the topology manager
    "topology-policy-name": Cure("NF105", _TOPOLOGY_POLICY, "Policy names are case-sensitive."),
    "topology-scope-name": Cure("NF105", "write container or pod", "There are the scopes container and pod."),
    "topology-option-unknown": Cure("NF112", _when(TOPOLOGY_OPTION_STAGES), _UNKNOWN_OPTION),
    "topology-option-stage": Cure("NF112", _gate, _STAGE),
    "topology-option-bool": Cure("NF112", _BOOL, _TOPOLOGY_VALUES),
    "topology-option-number": Cure("NF112", "write a number of 8 or more", _TOPOLOGY_VALUES),
    "topology-option-minimum": Cure("NF112", "write a number of 8 or more", _TOPOLOGY_VALUES),
    "numa-nodes": Cure(
        "NF115", _nodes, "The merge of hints grows with every set of NUMA nodes; the kubelet refuses to begin."
    ),
    "distances": Cure("NF119", "remove prefer-closest-numa-nodes", "The machine reports no distances."),
    # the CPU manager
    "cpu-policy": Cure("NF105", "write none or static", "Policy names are case-sensitive: none and static."),
    "cpu-topology": Cure("NF119"),
    "cpu-options-none": Cure(
        "NF112",
        "remove the options, or set cpuManagerPolicy: static",
        "Options are for the policy static.",
        (CPU_FILE,),
    ),
    "cpu-reserve-unknown": Cure("NF111", _RESERVE, _NOTHING_RESERVED),
    "cpu-reserve-zero": Cure("NF111", _RESERVE, _NOTHING_RESERVED),
    "cpu-option-unknown": Cure("NF112", _when(CPU_OPTION_STAGES), _UNKNOWN_OPTION),
    "cpu-option-stage": Cure("NF112", _gate, _STAGE),
    "cpu-option-bool": Cure("NF112", _BOOL, "The options are true or false."),
    "cpu-options-exclude": Cure("NF113", _excluded, "The two options contradict each other."),
    "socket-single-numa": Cure(
        "NF113",
        "remove align-by-socket, or use another topologyManagerPolicy",
        "align-by-socket spreads over the NUMA nodes of a socket, single-numa-node forbids that.",
    ),
    "socket-hardware": Cure("NF113", "remove align-by-socket", "A NUMA node spans several sockets."),
    "cpu-reserve-count": Cure(
        "NF114",
        _FEWER,
        "The reservation in whole CPUs and the CPUs to be reserved differ in number.",
        (CPU_FILE,),
    ),
    "cpu-reserve-missing": Cure("NF114", _FEWER, "A reserved CPU is not there.", (CPU_FILE,)),
    # the memory manager
    "memory-policy": Cure("NF105", "write None or Static", "On Linux there are None and Static."),
    "memory-total": Cure(
        "NF110",
        _sum,
        "reservedMemory must add up to kubeReserved + systemReserved + evictionHard memory.available.",
        (MEMORY_FILE,),
    ),
    "pages-total": Cure(
        "NF110",
        _pages,
        "Huge pages cannot be reserved: nothing can be on the other side of the sum.",
        (MEMORY_FILE,),
    ),
    "memory-node": Cure(
        "NF114", "name only NUMA nodes that the machine has", "The machine has no such NUMA node.", (MEMORY_FILE,)
    ),
    "memory-none": Cure(
        "NF110",
        "add reservedMemory, and the same amount of memory to kubeReserved or systemReserved, "
        "or set memoryManagerPolicy: None",
        "The policy Static wants memory reserved on at least one NUMA node.",
        (MEMORY_FILE,),
    ),
    "memory-amount": Cure("NF119", _whole_bytes, "reservedMemory must be whole bytes, written whole."),
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
