"""The same pods under two kubelets: which decisions come out differently, and which rule of the releases explains it.

What counts as different is what can be seen of a decision from outside. A rule explains a change if turning back this
one rule alone gives the old decision again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from numafit.bits import cpuset_text, mask_of
from numafit.decision.decision import Decision
from numafit.decision.notes import run_notes
from numafit.decision.stage import Stage
from numafit.decision.start import Start, start
from numafit.decision.verdicts import numbered_shapes, verdicts
from numafit.errors import KubeletError
from numafit.notes import Note
from numafit.quantity import Quantity
from numafit.settings.config import fields_of
from numafit.settings.settings import Settings
from numafit.settings.versions import NEWEST_MINOR, OLDEST_MINOR, Behaviour, KubeVersion, behaviour_of
from numafit.workload.pod import Pod


def facts_of(decision: Decision | None) -> dict[str, str]:
    """Name -> text; `verdict` is always there. None: the kubelet had panicked before."""
    if decision is None:
        return {"verdict": "not decided"}
    if decision.panic:
        return {"verdict": "crash", "message": decision.panic}
    if not decision.admitted:
        return {"verdict": decision.reason, "message": decision.message}
    facts = {"verdict": "admitted", "qos": decision.qos}
    for name, placement in decision.containers.items():
        facts[f"{name} cpus"] = "shared" if placement.cpus is None else cpuset_text(placement.cpus) or "none"
        blocks = [
            f"{Quantity(block.size, 0, 'BinarySI')} {block.type}@{cpuset_text(mask_of(block.numa))}"
            for block in placement.memory or ()
        ]
        facts[f"{name} memory"] = ", ".join(blocks) or "any"
        for resource, devices in sorted(placement.devices.items()):
            facts[f"{name} {resource}"] = ", ".join(sorted(devices))
    return facts


RULES: dict[str, str] = {
    # CPU manager
    "cpu_sort": "how free CPUs are sorted before they are taken",
    "sockets_are_numa_nodes": "a socket is taken to be as large as a NUMA node",
    "cpu_options": "the static CPU policy knows options",
    "cpu_option_stages": "CPU policy options are alpha, beta or stable, with a gate each",
    "reserved_uses_options": "reserved CPUs are picked with the policy options in force",
    "allocatable_is_default": "allocatable CPUs are reported as the shared pool instead of all but the reserved ones",
    "release_keeps_siblings": "CPUs that another container of the pod still holds are kept when one ends",
    "remembers_pending_pod": "the pod that was asked about last counts as active when stale state is removed",
    "physical_cpu_check": "full-pcpus-only also checks that enough whole cores are free",
    "no_physical_cpus_text": "the SMT error has its own text when no whole core is free",
    "reserved_must_exist": "reserved CPUs that the machine does not have keep the kubelet from starting",
    "not_enough_numbers": "the error for too few CPUs names how many were asked for and are there",
    "reversed_range_sign": "the sign in the error for a reversed CPU range",
    "uncore_odd": "prefer-align-cpus-by-uncorecache takes whole cores also for odd requests",
    "cpu_uncore_default": "a core without an uncore cache counts under its socket",
    "smt_check_after_present": "full-pcpus-only lets containers be that hold CPUs already",
    "distribute_by_socket": "distribute-cpus-across-numa honours align-by-socket",
    # Memory manager
    "memory_manager": "there is a memory manager",
    "memory_reuse": "app containers take over the memory of finished init containers",
    "memory_reuse_lost": "a pod forgets reusable memory while another pod has some",
    "memory_widens_down": "a memory hint without enough free bytes may be widened by lower NUMA nodes alone",
    "memory_group_first": "memory groups are checked before the smallest mask size is noted",
    "memory_group_check": "memory on a mask that breaks an existing group is refused",
    "memory_group_sums": "at start free and reserved memory are compared as sums over a group",
    "memory_zero_checksum": "a memory state file with checksum 0 is taken",
    "memory_platform_text": "the memory policy BestEffort is refused for the platform instead of as unknown",
    "memory_empty_pod_is_nil": "a pod that asks for no memory has no preference in the pod scope",
    "memory_empty_container_is_nil": "a container that asks for no memory has no preference and gets no block",
    # Device manager
    "device_any_node": "a device on several NUMA nodes is aligned when any of them is in the mask",
    "device_unplaced": "the NUMA id under which a device without topology is stored",
    "device_empty_topology": "a device topology that names no NUMA node counts as one",
    "device_health_checks": "unhealthy or unregistered devices are refused at admission",
    "device_keeps_running": "running containers keep their devices over a restart before the plugin is back",
    "device_own_nodes": "device hints name only NUMA nodes that host such a device",
    "device_vanished_panics": "a held device that the plugin no longer lists crashes the kubelet",
    "device_plugin_end": "of two plugins for one resource, whose end makes its devices unhealthy",
    "device_list_form": "the old list form of the device state file is read",
    # Topology manager
    "merge_equal_masks": "a merged hint is preferred only if all masks are equal, others go by the closest size",
    "topology_options": "the topology manager knows options",
    "typed_errors": "an allocation error keeps its own reason, such as SMTAlignmentError",
    "none_checks_nothing": "topology policy none looks at neither scope nor options",
    "topology_option_lower": "the text for a gated topology option starts in lower case",
    "max_numa_nodes_option": "there is max-allowable-numa-nodes for machines with more than 8 NUMA nodes",
    # Pods
    "taints_checked": "a pod that does not tolerate a NoExecute taint of the node is refused",
    "filters_say_why": "the message of a pod that the node does not suit says why",
    "sidecar_ports": "host ports of sidecars are compared with those of other pods",
    "system_checked": "a pod for another operating system is refused",
    "system_checked_first": "a pod for another operating system is refused before the node is summed up",
    "group_policy_checked": "a pod with a strict supplementalGroupsPolicy needs a runtime that knows it",
    "sidecars": "restartable init containers (sidecars) have their own accounting",
    "device_pod_sidecars": "the device manager adds sidecars to a pod's devices",
    "pod_level": "how pods with pod-level resources are treated",
    "status_qos": "the QoS class in a pod's status is taken as it is",
    "allocated_resources": "requests come from a container's allocated resources while it is resized",
    "allocated_sidecars": "requests of sidecars come from their allocated resources while they are resized",
    # The node as a whole
    "fit_sidecars": "the sum of a pod's requests counts sidecars",
    "fit_skips_zero": "CPUs, memory and storage that a pod does not ask for are not compared with the node's",
    "fit_skips_zero_scalars": "devices and huge pages that a pod asks for by 0 are not compared with the node's",
    "init_requests_dropped": "resources that the node does not list are dropped from init containers too",
    "dra_delegates": "what the fit check leaves to dynamic resources with DRAExtendedResource",
    "victims_by_whole_pod": "what an evicted pod frees counts its sidecars and its resources as a whole",
    # Resize in place
    "resize": "how other resources reach a pod that runs",
    "resize_static": "which resizes of Guaranteed pods a static policy makes infeasible",
    "resize_static_memory": "the memory policy Static makes resizes of Guaranteed pods infeasible",
    "resize_told": "the kubelet says why a resize is deferred or infeasible",
    "resize_capacity": "the kubelet calls a resize infeasible that exceeds what the node has",
    "resize_admission": "the API server refuses a resize that exceeds what the node has",
    "resize_queue": "pending resizes are sorted, and tried again when something frees",
    "resize_operation": "managers know a resize from an addition, and allocate nothing for it",
    "resize_sidecars": "sidecars can be resized",
    "resize_memory_limit_stays": "a resize cannot lower a memory limit",
    "resize_pod_level": "pods with pod-level resources can be resized",
    # State files
    "newest_cpu_format_first": "the CPU state file is decoded newest format first",
    "state_data": "CPU and memory state files carry their contents once more as text, and that counts",
    # Configuration
    "unknown_gate_panics": "an unknown feature gate in the file crashes the kubelet",
    "no_unlimited_swap": "memorySwap knows NoSwap instead of UnlimitedSwap",
    "log_workers_checked": "containerLogMaxWorkers and containerLogMonitorInterval are checked at start",
    "log_files_checked": "containerLogMaxFiles is checked at start",
    "must_be_one_of": "errors of the configuration list the allowed values",
    "topology_gate_checked": "topology settings ask for the gate TopologyManager",
    "cgroups_per_qos_first": "cgroupsPerQOS is checked before all enforcements",
    "compressible_enforcement": "enforceNodeAllocatable knows compressible reservations",
    "eviction_default_without_file": "a kubelet without a configuration file has default eviction thresholds",
    "imagefs_inodes_default": "imagefs.inodesFree has a default eviction threshold",
    "gate_errors_collected": "several locked gates are reported together",
    "scheme_line": "the source line in the error for an unknown kind",
    "reserved_cpus_subset": "reservedSystemCPUs must be CPUs that are online",
    "reserved_flag_named": "a bad kubeReserved or systemReserved is reported with its flag and resource",
    "reservation_names_capacity": "a reservation above the capacity is reported with the capacity",
    "containerfs_signals": "there are eviction signals for containerfs",
    "eviction_share_limit": "the largest share of an eviction threshold (1 is 100%)",
    "drop_ins": "how drop-in files change the configuration",
    "drop_ins_alpha": "drop-in files need the environment variable KUBELET_CONFIG_DROPIN_DIR_ALPHA",
    "two_topology_gates": "the text for topology options without their gate names TopologyManager too",
    "topology_options_split": "--topology-manager-policy-options takes a comma list",
    "reserved_memory_groups": "--reserved-memory takes several groups",
    "reserved_memory_spelling": "the errors of --reserved-memory are spelled right",
}
"""Field of `Behaviour` -> what it is about, so that `was -> is` can follow."""


class RuleChange(msgspec.Struct, frozen=True):
    field: str
    text: str
    was: str
    becomes: str
    since: str
    """The minor in which the later value came, `1.24`; empty when it changed more than once in between."""
    explains: tuple[str, ...] = ()
    """Pods whose decision is as before when this one rule is turned back."""


def rule_changes(old: KubeVersion, new: KubeVersion) -> tuple[RuleChange, ...]:
    """In the order of the table of releases."""
    before, after = asdict(behaviour_of(old)), asdict(behaviour_of(new))
    return tuple(
        RuleChange(field, RULES[field], _word(before[field]), _word(value), _since(field, old, new))
        for field, value in after.items()
        if before[field] != value
    )


class AlteredSettings(Settings, frozen=True):
    """Settings of a release that never was: one with some rules of another."""

    rules: Behaviour = Behaviour()

    @property
    def behaviour(self) -> Behaviour:
        return self.rules


def explained(
    stage: Stage, pods: Sequence[Pod], was: Mapping[str, Decision], changes: Sequence[RuleChange], old: KubeVersion
) -> Iterator[RuleChange]:
    """Turns back one rule at a time. `was` are the changed decisions as they were, by UID; `stage` is the new one."""
    settings = stage.node.settings
    before = behaviour_of(old)
    expected = {uid: facts_of(decision) for uid, decision in was.items()}
    shapes = numbered_shapes(pods)
    asked = frozenset(i for i, pod in enumerate(pods) if pod.uid in expected)
    for change in changes:
        rules = replace(settings.behaviour, **{change.field: getattr(before, change.field)})
        try:
            altered = AlteredSettings(**_fields(settings), rules=rules)
            old_node = stage.node
            plugins = old_node.device.plugins
            known = Start(machine=old_node.machine, settings=altered, plugins=plugins, facts=old_node.facts)
            node = start(known, "node").node
        except KubeletError:
            yield change
            continue
        run = verdicts(node, stage.ledger, pods, stage.allocatable, shapes=shapes, asked=asked)
        decisions = [decision for _, decision in sorted(run.decisions.items())]
        same = [decision.pod for decision in decisions if expected[decision.pod.uid] == facts_of(decision)]
        yield replace(change, explains=tuple(pod.full_name for pod in same))


def _fields(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in Settings.__struct_fields__}


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"


def _since(field: str, old: KubeVersion, new: KubeVersion) -> str:
    low, high = min(old, new), max(old, new)
    changed = []
    value = getattr(behaviour_of(low), field)
    for minor in range(max(low.minor, OLDEST_MINOR), min(high.minor, NEWEST_MINOR) + 1):
        latest = high if minor == high.minor else KubeVersion(1, minor, 99)
        now = getattr(behaviour_of(latest), field)
        if now != value:
            changed.append(f"1.{minor}")
        value = now
    return changed[0] if len(changed) == 1 else ""


GATES = (
    "CPUManager",
    "CPUManagerPolicyOptions",
    "CPUManagerPolicyAlphaOptions",
    "CPUManagerPolicyBetaOptions",
    "InPlacePodVerticalScaling",
    "MemoryManager",
    "PodLevelResourceManagers",
    "PodLevelResources",
    "TopologyManager",
    "TopologyManagerPolicyOptions",
    "TopologyManagerPolicyAlphaOptions",
    "TopologyManagerPolicyBetaOptions",
)
"""The feature gates that a decision or a start may depend on."""
GRADUATED = ("CPUManager", "MemoryManager", "TopologyManager")
"""Releases that no longer know these have them on for good; one that does not know another gate has it off."""


class Difference(msgspec.Struct, frozen=True):
    """One thing that is not the same."""

    what: str
    was: str
    becomes: str


class Pair(msgspec.Struct, frozen=True):
    """One pod under both. None: the kubelet had panicked before."""

    pod: Pod
    was: Decision | None
    becomes: Decision | None
    differences: tuple[Difference, ...]


class Comparison(msgspec.Struct, frozen=True):
    pairs: tuple[Pair, ...]
    settings: tuple[Difference, ...]
    rules: tuple[RuleChange, ...]
    """Those that explain a changed decision first."""
    notes: tuple[Note, ...] = ()
    """What the decisions of both stand on."""

    @property
    def changed(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.differences)


def compare(old: Stage, new: Stage, pods: Sequence[Pod], new_pods: Sequence[Pod] | None = None) -> Comparison:
    """`new_pods` are the same pods as the second release sees them, when that differs."""
    new_pods = pods if new_pods is None else new_pods
    first, second = old.play(pods), new.play(new_pods)
    before = {step.decision.pod.uid: step.decision for step in first.steps}
    after = {step.decision.pod.uid: step.decision for step in second.steps}
    pairs = []
    for pod in pods:
        was, becomes = before.get(pod.uid), after.get(pod.uid)
        pairs.append(Pair(pod, was, becomes, _differences(was, becomes)))
    versions = old.node.settings.version, new.node.settings.version
    rules = rule_changes(*versions)
    changed = {pair.pod.uid: pair.was for pair in pairs if pair.differences and pair.was is not None}
    if changed and rules:
        why = explained(new, new_pods, changed, rules, versions[0])
        rules = tuple(sorted(why, key=lambda rule: not rule.explains))
    told = old.notes_on(first)
    notes = (*told, *_second_time(told, (*new.notes, *run_notes(second))))
    return Comparison(tuple(pairs), settings_differences(old, new), rules, notes)


def _second_time(first: Sequence[Note], second: Sequence[Note]) -> Iterator[Note]:
    """What is true of both is said once."""
    known = set(first)
    for note in second:
        if note not in known:
            yield replace(note, text=f"the second time {note.text}")


def settings_differences(old: Stage, new: Stage) -> tuple[Difference, ...]:
    """Fields of the configuration with their defaults, the gates that matter, and what the machine offers."""
    before, after = _ordered(old), _ordered(new)
    names = dict.fromkeys([*before, *after])
    return tuple(
        Difference(name, before.get(name, "none"), after.get(name, "none"))
        for name in names
        if before.get(name) != after.get(name)
    )


def _ordered(stage: Stage) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, value in fields_of(stage.config).items():
        texts[name] = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    gates = stage.node.settings.gates
    texts |= {f"gate {name}": "on" if gates.get(name, name in GRADUATED) else "off" for name in GATES}
    return texts | {f"allocatable {name}": str(amount) for name, amount in sorted(stage.allocatable.items())}


def _differences(was: Decision | None, becomes: Decision | None) -> tuple[Difference, ...]:
    """Where the verdicts differ, the kubelet's message goes without saying."""
    before, after = facts_of(was), facts_of(becomes)
    names = dict.fromkeys([*before, *after])
    if before["verdict"] != after["verdict"]:
        names.pop("message", None)
    return tuple(
        Difference(name, before.get(name, "-"), after.get(name, "-"))
        for name in names
        if before.get(name) != after.get(name)
    )
