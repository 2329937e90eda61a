"""What each kubelet release does: the one table that the algorithms ask.

A `Behaviour` has one field per difference. `_CHANGES` lists, per field, the releases in which the value changed;
several patch releases in one row are back-ports of the same change to several minors.
"""

import re
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from numafit.errors import InputError


class KubeVersion(NamedTuple):
    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        patch = "" if self.patch == LATEST_PATCH else f".{self.patch}"
        return f"v{self.major}.{self.minor}{patch}"


OLDEST_MINOR = 20
NEWEST_MINOR = 37
DEFAULT_VERSION = KubeVersion(1, 36, 4)
LATEST_PATCH = 99
"""The patch taken for `1.27` without a patch: the newest one of the minor."""


def parse_version(text: str) -> KubeVersion:
    """`v1.27.3`, `1.27.3`, `1.27`, and with a vendor suffix `v1.27.3-eks-1234` or `v1.27.3+k3s1`."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?", text.strip(), re.ASCII)
    if match is None:
        raise InputError(f'"{text}" is not a kubelet version', cure="write it like 1.36 or v1.27.3")
    major, minor, patch = match.group(1), match.group(2), match.group(3)
    version = KubeVersion(int(major), int(minor), LATEST_PATCH if patch is None else int(patch))
    if version.major != 1 or not OLDEST_MINOR <= version.minor <= NEWEST_MINOR:
        raise InputError(
            f"kubelet {text} is not covered",
            cure=f"numafit knows 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}",
        )
    return version


CpuSort = Literal["sockets-unordered", "sockets", "numa"]


class Behaviour(msgspec.Struct, frozen=True):
    """The defaults are those of 1.20.0."""

    # CPU manager
    cpu_sort: CpuSort = "sockets-unordered"
    """How CPUs are sorted: in 1.20 and 1.21 by relations that are no order, 1.22 by sockets, later by NUMA node."""
    sockets_are_numa_nodes: bool = True
    """"CPUs per socket" divides by the number of NUMA nodes."""
    cpu_options: bool = False
    cpu_option_stages: bool = False
    """Options have alpha, beta and stable stages (1.22 has one list of known names)."""
    reserved_uses_options: bool = False
    allocatable_is_default: bool = True
    """Allocatable CPUs are the default pool minus reserved; later all CPUs minus reserved."""
    release_keeps_siblings: bool = False
    """CPUs that another container of the pod still holds are not released."""
    remembers_pending_pod: bool = False
    """The pod that was asked about last counts as active in the removal of stale state."""
    physical_cpu_check: bool = False
    no_physical_cpus_text: bool = False
    """With 0 free physical CPUs the SMT error has its own text."""
    reserved_must_exist: bool = False
    not_enough_numbers: bool = False
    reversed_range_sign: str = ""
    uncore_odd: bool = False
    """The step of uncore caches rounds the number of cores up and can drop one sibling of an odd request."""
    cpu_uncore_default: bool = False
    """A core without an uncore cache counts under its socket's id."""
    smt_check_after_present: bool = False
    distribute_by_socket: bool = False
    """distribute-cpus-across-numa honours align-by-socket."""

    # Memory manager
    memory_manager: bool = False
    memory_reuse: bool = False
    memory_reuse_lost: bool = False
    """While another pod has left bytes to reuse, a pod forgets its own at each container, instead of the other's."""
    memory_widens_down: bool = False
    """A hint without enough free bytes may be widened by lower nodes alone; before, only by a mask that also has a node
    above its highest."""
    memory_group_first: bool = True
    """Groups are checked before the smallest mask size is noted."""
    memory_group_check: bool = False
    """`preferred hint violates NUMA node allocation`."""
    memory_group_sums: bool = False
    """At start free and reserved are compared as sums over a group."""
    memory_zero_checksum: bool = False
    memory_platform_text: bool = False
    memory_empty_pod_is_nil: bool = False
    """A pod that asks for no memory at all gets no hints (nil) instead of an empty map in the pod scope."""
    memory_empty_container_is_nil: bool = False
    """So does a container, which is then given no block either."""

    # Device manager
    device_any_node: bool = False
    """A device on several NUMA nodes is aligned when any of them is in the mask."""
    device_unplaced: int = 0
    """The NUMA id under which a device without topology is stored."""
    device_empty_topology: bool = True
    """A topology that names no node makes the resource topology-aware."""
    device_health_checks: bool = False
    device_keeps_running: bool = False
    """Containers that run at a restart keep their devices before the plugin is back."""
    device_own_nodes: bool = False
    """Hint masks are made only of nodes that host a device of the resource."""
    device_vanished_panics: bool = False
    """A device that is held but no longer listed is a nil pointer; before it counted as one without topology."""
    device_plugin_end: Literal["newest", "any", "last"] = "newest"
    """Of several plugins for one resource: whose end makes its devices unhealthy. Where it is that of any, the newest
    is disconnected with it and has to register again; where it is the last one's, any of the others goes on."""
    device_list_form: bool = False
    """A checkpoint whose DeviceIDs is a plain list is still read."""

    # Topology manager
    merge_equal_masks: bool = False
    """A merged hint is preferred only if all masks are equal; other hints are ranked by the closest size."""
    topology_options: bool = False
    typed_errors: bool = False
    """An allocation error keeps its own reason, such as SMTAlignmentError."""
    none_checks_nothing: bool = False
    """Policy none looks at neither scope nor options."""
    topology_option_lower: bool = False
    """The text for a gated option starts in lower case."""
    max_numa_nodes_option: bool = False

    # Pods
    sidecars: bool = False
    """Restartable init containers have their own accounting; before they count as ordinary init containers."""
    device_pod_sidecars: bool = False
    """… in the device manager's sum over a pod, where they came one release earlier."""
    pod_level: Literal["ignored", "skipped", "managed"] = "ignored"
    """Pods with pod-level resources: treated like others, given neither exclusive CPUs nor memory while
    PodLevelResources is on, or managed as a whole with PodLevelResourceManagers (else skipped)."""
    status_qos: bool = False
    """`status.qosClass` is taken as it is."""
    allocated_resources: bool = False
    """Requests come from `status…allocatedResources` with InPlacePodVerticalScaling."""
    allocated_sidecars: bool = False
    """… of sidecars too."""

    # The node as a whole
    fit_sidecars: bool = False
    """The sum of a pod's requests knows restartable init containers, one release before the managers do."""
    fit_skips_zero: bool = False
    """CPUs, memory and storage of which a pod asks for nothing are not compared. Before, a node that has given away
    more than it has refuses every pod that asks for anything at all."""
    fit_skips_zero_scalars: bool = False
    """… nor devices and huge pages."""
    init_requests_dropped: bool = False
    """Resources that the node does not list are dropped from init containers too, not only from the others."""
    dra_delegates: Literal["nothing", "unlisted", "none-left"] = "nothing"
    """With DRAExtendedResource, what the fit check leaves to dynamic resources: huge pages and devices that the node
    does not list, or of which it lists none."""
    victims_by_whole_pod: bool = False
    """What an evicted pod would free counts its sidecars and its resources as a whole (spec.resources)."""
    taints_checked: bool = False
    """A NoExecute taint that a pod does not tolerate keeps it out, unless it is static."""
    filters_say_why: bool = False
    """The message of a filter that is no shortage ends in its reason."""
    sidecar_ports: bool = False
    """Host ports of sidecars are compared, too."""
    system_checked: bool = False
    """A pod whose label or field names another operating system is refused."""
    system_checked_first: bool = False
    """… before anything is summed up; earlier it was after others had been evicted for it."""
    group_policy_checked: bool = False
    """A strict supplementalGroupsPolicy needs a runtime that knows it."""

    # Resize in place, with InPlacePodVerticalScaling
    resize: Literal["none", "update", "subresource"] = "none"
    """How other resources reach a pod that runs: not at all, by an update of the pod, or through `pods/resize`."""
    resize_static: Literal["ignored", "any", "changed"] = "ignored"
    """Guaranteed pods under a static policy: resized like others, never, or unless that manager's resource changes."""
    resize_static_memory: bool = False
    """… the memory manager's policy Static counts for it; in 1.32 its name is compared in lower case, in vain."""
    resize_told: bool = False
    """The kubelet says why a resize is deferred or infeasible; before, only that it is."""
    resize_capacity: bool = False
    """The kubelet calls a resize infeasible that exceeds what the node has."""
    resize_admission: bool = False
    """… the API server refuses it (PodResizeValidator)."""
    resize_queue: bool = False
    """Pending resizes are sorted, and tried again when something frees; before, at each sync of their pod."""
    resize_operation: bool = False
    """Managers know a resize from an addition, and allocate nothing for it."""
    resize_sidecars: bool = False
    resize_memory_limit_stays: bool = False
    """A memory limit may not sink, nor be added, unless the container is restarted for it."""
    resize_pod_level: bool = False
    """Pods with pod-level resources may be resized, with InPlacePodLevelResourcesVerticalScaling."""

    # State files
    newest_cpu_format_first: bool = False
    """Decoding order V3, V2, V1; before: V1, then V2."""
    state_data: bool = False
    """CPU and memory state carry their contents once more as the text `data`, and that one counts. CPU format v1 is no
    longer read."""

    # Configuration
    unknown_gate_panics: bool = False
    must_be_one_of: bool = False
    """Texts name the values that are allowed, and a field as the file does."""
    no_unlimited_swap: bool = False
    """memorySwap knows NoSwap instead of UnlimitedSwap."""
    log_workers_checked: bool = False
    log_files_checked: bool = False
    topology_gate_checked: bool = True
    cgroups_per_qos_first: bool = True
    compressible_enforcement: bool = False
    eviction_default_without_file: bool = True
    imagefs_inodes_default: bool = False
    gate_errors_collected: bool = False
    """Several locked gates are reported together."""
    scheme_line: int = 32
    """The source line that the error for an unknown kind names."""
    reserved_cpus_subset: bool = False
    """reservedSystemCPUs is compared with the CPUs online; before, only with their number."""
    reserved_flag_named: bool = False
    """A bad kubeReserved or systemReserved is reported with its flag and resource."""
    reservation_names_capacity: bool = False
    """A reservation above the capacity is reported with the capacity; before, with what would remain."""
    containerfs_signals: bool = False
    eviction_share_limit: int = 100
    """The largest share of an eviction threshold (1 is 100%)."""
    drop_ins: Literal["none", "overridden", "folded", "patched"] = "none"
    """How drop-in files change a configuration (`read.drop_ins`); none where there is no `--config-dir`."""
    drop_ins_alpha: bool = False
    """`--config-dir` needs the environment variable KUBELET_CONFIG_DROPIN_DIR_ALPHA."""
    two_topology_gates: bool = False
    """The text for topology options without their gate names TopologyManager too."""
    topology_options_split: bool = False
    """`--topology-manager-policy-options` takes a comma list."""
    reserved_memory_groups: bool = False
    """`--reserved-memory` takes several groups separated by `;`."""
    reserved_memory_spelling: bool = False
    """The texts of `--reserved-memory` say `expected` and `quantity`; before, `exptected` and `quantatity`."""


_CHANGES: tuple[tuple[str, object, tuple[str, ...]], ...] = (
    ("sockets_are_numa_nodes", False, ("1.21.0",)),
    ("cpu_sort", "sockets", ("1.22.0",)),
    ("cpu_sort", "numa", ("1.23.0",)),
    ("cpu_options", True, ("1.22.0",)),
    ("cpu_option_stages", True, ("1.23.0",)),
    ("reserved_uses_options", True, ("1.23.0",)),
    ("allocatable_is_default", False, ("1.23.14", "1.24.8", "1.25.4")),
    ("release_keeps_siblings", True, ("1.24.0",)),
    ("remembers_pending_pod", True, ("1.22.1",)),
    ("remembers_pending_pod", False, ("1.32.0",)),
    ("physical_cpu_check", True, ("1.27.0",)),
    ("no_physical_cpus_text", True, ("1.32.0",)),
    ("reserved_must_exist", True, ("1.27.0",)),
    ("not_enough_numbers", True, ("1.29.0",)),
    ("reversed_range_sign", ">=", ("1.22.0",)),
    ("reversed_range_sign", ">", ("1.27.0",)),
    ("cpu_uncore_default", True, ("1.32.0",)),
    ("uncore_odd", True, ("1.34.0",)),
    ("smt_check_after_present", True, ("1.37.0",)),
    ("distribute_by_socket", True, ("1.37.0",)),
    ("memory_manager", True, ("1.21.0",)),
    ("memory_reuse", True, ("1.22.0",)),
    ("memory_reuse_lost", True, ("1.22.0",)),
    ("memory_reuse_lost", False, ("1.23.0",)),
    ("memory_widens_down", True, ("1.22.0",)),
    ("memory_group_first", False, ("1.23.0",)),
    ("memory_group_check", True, ("1.32.0",)),
    ("memory_group_sums", True, ("1.32.0",)),
    ("memory_zero_checksum", True, ("1.36.0",)),
    ("memory_platform_text", True, ("1.32.0",)),
    ("memory_empty_pod_is_nil", True, ("1.36.0",)),
    ("memory_empty_container_is_nil", True, ("1.37.0",)),
    ("device_any_node", True, ("1.22.0",)),
    ("device_unplaced", -1, ("1.23.0",)),
    ("device_empty_topology", False, ("1.26.0",)),
    ("device_health_checks", True, ("1.25.10", "1.26.5", "1.27.2")),
    ("device_keeps_running", True, ("1.25.14", "1.26.9", "1.27.6", "1.28.0")),
    ("device_pod_sidecars", True, ("1.28.0",)),
    ("device_own_nodes", True, ("1.36.0",)),
    ("device_list_form", True, ("1.20.14", "1.21.8", "1.22.5", "1.23.0")),
    ("device_vanished_panics", True, ("1.34.0",)),
    ("device_list_form", False, ("1.31.0",)),
    ("device_plugin_end", "any", ("1.25.0",)),
    ("device_plugin_end", "last", ("1.37.0",)),
    ("merge_equal_masks", True, ("1.24.0",)),
    ("topology_options", True, ("1.26.0",)),
    ("typed_errors", True, ("1.22.0",)),
    ("none_checks_nothing", True, ("1.28.0",)),
    ("topology_option_lower", True, ("1.33.0",)),
    ("max_numa_nodes_option", True, ("1.31.0",)),
    ("sidecars", True, ("1.29.0",)),
    ("pod_level", "skipped", ("1.34.0",)),
    ("pod_level", "managed", ("1.36.0",)),
    ("status_qos", True, ("1.29.0",)),
    ("allocated_resources", True, ("1.27.0",)),
    ("allocated_resources", False, ("1.35.0",)),
    ("allocated_sidecars", True, ("1.33.0",)),
    ("fit_sidecars", True, ("1.28.0",)),
    ("fit_skips_zero", True, ("1.28.0",)),
    ("fit_skips_zero_scalars", True, ("1.26.0",)),
    ("init_requests_dropped", True, ("1.31.0",)),
    ("dra_delegates", "unlisted", ("1.34.0",)),
    ("dra_delegates", "none-left", ("1.35.0",)),
    ("dra_delegates", "nothing", ("1.36.0",)),
    ("victims_by_whole_pod", True, ("1.34.0",)),
    ("taints_checked", True, ("1.24.0",)),
    ("filters_say_why", True, ("1.31.0",)),
    ("sidecar_ports", True, ("1.33.0",)),
    ("system_checked", True, ("1.23.0",)),
    ("system_checked_first", True, ("1.29.0",)),
    ("group_policy_checked", True, ("1.33.0",)),
    ("resize", "update", ("1.27.0",)),
    ("resize", "subresource", ("1.32.0",)),
    ("resize_static", "any", ("1.32.0",)),
    ("resize_static", "changed", ("1.34.0",)),
    ("resize_static_memory", True, ("1.33.0",)),
    ("resize_told", True, ("1.32.0",)),
    ("resize_capacity", True, ("1.27.0",)),
    ("resize_capacity", False, ("1.36.0",)),
    ("resize_admission", True, ("1.36.0",)),
    ("resize_queue", True, ("1.34.0",)),
    ("resize_operation", True, ("1.37.0",)),
    ("resize_sidecars", True, ("1.33.0",)),
    ("resize_memory_limit_stays", True, ("1.33.0",)),
    ("resize_memory_limit_stays", False, ("1.34.0",)),
    ("resize_pod_level", True, ("1.35.0",)),
    ("newest_cpu_format_first", True, ("1.36.0",)),
    ("state_data", True, ("1.37.0",)),
    ("unknown_gate_panics", True, ("1.32.0",)),
    ("must_be_one_of", True, ("1.24.0",)),
    ("no_unlimited_swap", True, ("1.30.0",)),
    ("log_workers_checked", True, ("1.30.0",)),
    ("log_files_checked", True, ("1.33.0",)),
    ("topology_gate_checked", False, ("1.27.0",)),
    ("cgroups_per_qos_first", False, ("1.31.0",)),
    ("compressible_enforcement", True, ("1.32.0",)),
    ("eviction_default_without_file", False, ("1.26.0",)),
    ("imagefs_inodes_default", True, ("1.30.0",)),
    ("gate_errors_collected", True, ("1.31.0",)),
    ("scheme_line", 33, ("1.26.0",)),
    ("reserved_cpus_subset", True, ("1.22.0",)),
    ("reserved_flag_named", True, ("1.27.0",)),
    ("reservation_names_capacity", True, ("1.30.0",)),
    ("containerfs_signals", True, ("1.29.0",)),
    ("eviction_share_limit", 1, ("1.21.0",)),
    ("drop_ins", "overridden", ("1.28.0",)),
    ("drop_ins", "folded", ("1.29.0",)),
    ("drop_ins", "patched", ("1.32.0",)),
    ("drop_ins_alpha", True, ("1.28.0",)),
    ("drop_ins_alpha", False, ("1.30.0",)),
    ("two_topology_gates", True, ("1.26.0",)),
    ("two_topology_gates", False, ("1.27.0",)),
    ("topology_options_split", True, ("1.31.0",)),
    ("reserved_memory_groups", True, ("1.24.0",)),
    ("reserved_memory_spelling", True, ("1.35.0",)),
)


def _reached(version: KubeVersion, releases: tuple[str, ...]) -> bool:
    """A later minor than the last release named, or a patch of a named minor that is new enough."""
    parsed = [tuple(int(part) for part in release.split(".")) for release in releases]
    if (version.major, version.minor) > parsed[-1][:2]:
        return True
    return any(version[:2] == release[:2] and version >= release for release in parsed)


@cache
def behaviour_of(version: KubeVersion) -> Behaviour:
    changed: dict[str, object] = {}
    for field, value, releases in _CHANGES:
        if _reached(version, releases):
            changed[field] = value
    return msgspec.convert(changed, Behaviour)
