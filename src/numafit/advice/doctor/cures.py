"""Why a kubelet does not start, the safe way out, and what it costs: from the stage and the words of its error.

Which state file must go after which change: a state file holds what was assigned under a policy, a reservation and a
machine, and the kubelet takes it only while these are as they were. The policy, scope and options of the topology
manager are in no file, and `kubelet_internal_checkpoint` never keeps a kubelet from starting.
"""

import re
from typing import NamedTuple

from numafit.advice.doctor.diagnosis import Remedy
from numafit.decision.node import CPU_FILE, MEMORY_FILE
from numafit.errors import StartError

DRAIN_COST = (
    "The drain ends every pod on the node that no DaemonSet owns. Without it containers that run keep their {what}, "
    "while the kubelet, which no longer knows of them, gives the same {what} to others. If the kubelet is down "
    "already, no drain ends: cordon the node, delete the file and reboot."
)
EDIT_COST = "None for pods that run: their containers go on. No pod starts or is checked until the kubelet is back."


class _CureRule(NamedTuple):
    pattern: str
    why: str
    change: str
    """What to change in the configuration; empty when it is the state file that must go."""
    also_delete: tuple[str, ...] = ()
    """State files that do not fit the changed configuration, if there are any."""


_RULES = {
    "topologymanager.NewManager": (
        _CureRule("^unknown policy", "Policy names are case-sensitive.", "set topologyManagerPolicy to a known policy"),
        _CureRule(
            "^unknown scope", "There are the scopes container and pod.", "set topologyManagerScope to one of them"
        ),
        _CureRule(
            "^unknown Topology", "This release does not know the option.", "remove it from topologyManagerPolicyOptions"
        ),
        _CureRule(
            "level .*ptions not enabled",
            "An option that is not stable yet needs the feature gate of its stage.",
            "remove the option, or set the gate TopologyManagerPolicyAlphaOptions or …BetaOptions to true",
        ),
        _CureRule(
            "^unsupported on machines",
            "The merge of hints grows with every set of NUMA nodes; the kubelet refuses to begin.",
            "set topologyManagerPolicy to none, merge NUMA nodes in the firmware, or raise max-allowable-numa-nodes "
            "(since 1.31)",
        ),
        _CureRule(
            "^bad value|^unable to convert|^the minimum value",
            "prefer-closest-numa-nodes takes true or false, max-allowable-numa-nodes a number from 8 on.",
            "correct topologyManagerPolicyOptions",
        ),
        _CureRule("NUMA distances", "The machine reports no distances.", "remove prefer-closest-numa-nodes"),
    ),
    "cpumanager.NewManager": (
        _CureRule("^unknown policy", "Policy names are case-sensitive: none and static.", "correct cpuManagerPolicy"),
        _CureRule(
            "unable to determine reserved|to be greater than zero",
            "The static policy keeps at least one CPU for the system; nothing is reserved here.",
            "reserve CPUs: reservedSystemCPUs, or cpu in kubeReserved or systemReserved",
        ),
        _CureRule(
            "^new none policy error",
            "Options are for the policy static.",
            "remove cpuManagerPolicyOptions, or set cpuManagerPolicy to static",
            (CPU_FILE,),
        ),
        _CureRule("unknown CPU Manager|unsupported cpumanager", "This release does not know the option.", "remove it"),
        _CureRule(
            "level Options not enabled",
            "An option that is not stable yet needs the feature gate of its stage.",
            "remove the option, or set the gate CPUManagerPolicyAlphaOptions or …BetaOptions to true",
        ),
        _CureRule("bad value for option", "The options are true or false.", "correct cpuManagerPolicyOptions"),
        _CureRule("at the same time", "The two options contradict each other.", "keep one of them"),
        _CureRule(
            "single-numa-node policy is incompatible",
            "align-by-socket spreads over the NUMA nodes of a socket, single-numa-node forbids that.",
            "remove align-by-socket, or choose another topologyManagerPolicy",
        ),
        _CureRule("Align by socket", "A NUMA node spans several sockets.", "remove align-by-socket"),
        _CureRule(
            "unable to reserve the required amount",
            "The reservation in whole CPUs and the CPUs to be reserved differ in number.",
            "reserve no more CPUs than there are; list each CPU in reservedSystemCPUs once",
            (CPU_FILE,),
        ),
        _CureRule(
            "reserved physical CPUs", "A reserved CPU is not there.", "list only CPUs that are online", (CPU_FILE,)
        ),
    ),
    "memorymanager.NewManager": (
        _CureRule(
            "^unknown policy|is not available", "On Linux there are None and Static.", "correct memoryManagerPolicy"
        ),
        _CureRule(
            '^the total amount .* of type "hugepages-',
            "Huge pages cannot be reserved: nothing can be on the other side of the sum.",
            "remove the huge pages from reservedMemory",
            (MEMORY_FILE,),
        ),
        _CureRule(
            "^the total amount",
            "reservedMemory must add up to kubeReserved + systemReserved + evictionHard memory.available.",
            "make the sum of reservedMemory equal to the second amount",
            (MEMORY_FILE,),
        ),
        _CureRule(
            "references a NUMA node",
            "The machine has no such NUMA node.",
            "name only NUMA nodes of this machine in reservedMemory",
            (MEMORY_FILE,),
        ),
        _CureRule(
            "should specify the system reserved memory",
            "The policy Static wants memory reserved on at least one NUMA node.",
            "add reservedMemory, and the same amount in kubeReserved, systemReserved or evictionHard",
            (MEMORY_FILE,),
        ),
        _CureRule("covert a variable", "reservedMemory must be whole bytes, written whole.", "write 1536Mi, not 1.5Gi"),
    ),
    "cpumanager.Start": (
        _CureRule("differs from state checkpoint policy", "The file was written under another CPU manager policy.", ""),
        _CureRule("checkpoint is corrupted", "The checksum is not that of the contents: cut, edited or damaged.", ""),
        _CureRule(
            "cannot unmarshal object into Go struct field CPUManagerCheckpointV1",
            "The checksum is not that of the contents: cut, edited or damaged. The words are those of an older layout, "
            "which 1.36 tries last.",
            "",
        ),
        _CureRule("containerID", "The file has the form of a kubelet before 1.18, with containers that are gone.", ""),
        _CureRule("could not parse", "A list of CPUs in the file is none.", ""),
        _CureRule("could not restore", "The file is not what a kubelet writes: cut, edited or damaged.", ""),
        _CureRule("default cpuset cannot be empty", "Every CPU is given away exclusively: none is left to share.", ""),
        _CureRule("strictly reserved cpus", "strict-cpu-reservation was switched on, or more CPUs were reserved.", ""),
        _CureRule("not all reserved cpus", "A CPU that is reserved now was given to a container before.", ""),
        _CureRule("overlaps with default", "The file gives a CPU to a container and to the shared pool.", ""),
        _CureRule("doesn't match with CPUs in state", "CPUs came or went, or strict-cpu-reservation was switched.", ""),
    ),
    "memorymanager.Start": (
        _CureRule(
            "differs from state checkpoint policy", "The file was written under another memory manager policy.", ""
        ),
        _CureRule("checkpoint is corrupted", "The checksum is not that of the contents: cut, edited or damaged.", ""),
        _CureRule("could not restore", "The file is not what a kubelet writes: cut, edited or damaged.", ""),
        _CureRule("does not exist", "The file gives memory to a container that this machine does not have.", ""),
        _CureRule("machine state can not be empty", "The file has containers, but no NUMA nodes.", ""),
        _CureRule(
            "expected machine state is different",
            "The memory of the machine, its huge pages or reservedMemory are not what they were.",
            "",
        ),
        _CureRule("PANIC", "The kubelet crashes over this file.", ""),
    ),
    "containermanager.Start": (
        _CureRule("", "More is reserved than the machine has.", "reserve less", (CPU_FILE, MEMORY_FILE)),
    ),
    "featuregate.SetFromMap": (
        _CureRule("unrecognized", "This release does not know the gate, or no longer.", "remove it from featureGates"),
        _CureRule("locked", "The feature can no longer be switched off.", "remove the gate from featureGates"),
        _CureRule("", "", "correct featureGates"),
    ),
    "kubelet.run": (
        _CureRule("is not a subset of online", "", "list only CPUs that are online in reservedSystemCPUs", (CPU_FILE,)),
        _CureRule(
            "-reserved value failed|cannot reserve", "", "correct the amount or its name", (CPU_FILE, MEMORY_FILE)
        ),
        _CureRule("eviction", "", "correct evictionHard", (MEMORY_FILE,)),
        _CureRule("require feature gates", "", "set the gates that it names to true, or remove the options"),
    ),
}
_OWNED = {"cpumanager.Start": (CPU_FILE, "CPUs"), "memorymanager.Start": (MEMORY_FILE, "memory")}


def remedy_of(error: StartError, root: str) -> Remedy:
    """`root` is the kubelet's folder."""
    rule = next(
        (rule for rule in _RULES.get(error.stage, ()) if re.search(rule.pattern, error.message)), _CureRule("", "", "")
    )
    if error.stage in _OWNED:
        file, what = _OWNED[error.stage]
        return Remedy(rule.why, fresh_start(root, (file,)), DRAIN_COST.format(what=what))
    change = rule.change or "correct the configuration"
    if not rule.also_delete:
        return Remedy(rule.why, (change, "systemctl restart kubelet"), EDIT_COST)
    names = " and ".join(rule.also_delete)
    later = f"if {names} is there and the kubelet then refuses it, run numafit doctor again"
    return Remedy(rule.why, (change, "systemctl restart kubelet", later), EDIT_COST)


def fresh_start(root: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """The way that gives no CPU and no byte away twice."""
    folder = root.rstrip("/")
    return (
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
        "systemctl stop kubelet",
        f"rm {' '.join(f'{folder}/{file}' for file in files)}",
        "systemctl start kubelet",
        "kubectl uncordon NODE",
    )
