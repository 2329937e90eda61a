"""How drop-in files change a configuration: three ways, of three spans of releases.

- 1.28 reads each file with its defaults filled in, and lays whatever is not empty over the configuration. So a file
  takes back to the default what it does not name, and cannot set anything to false, zero or nothing.
- 1.29 to 1.31 merge the files as JSON, and decode the result into the configuration that is there: names count
  whatever their case, maps gain keys and lose none, and lists of structs are merged item by item.
- From 1.32 on a file is a merge patch on the configuration as a file would say it.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.golang.text import in_byte_order
from numafit.settings.config import KubeletConfig, fields_of
from numafit.settings.read.decoder import API_VERSION, KIND, DecodeError, decode_config, known_fields
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import KubeVersion

_GO_NAMES = {
    "cpuManagerPolicy": "CPUManagerPolicy",
    "cpuManagerPolicyOptions": "CPUManagerPolicyOptions",
    "qosReserved": "QOSReserved",
}
"""Of the kubelet's own type, where it is not the name of the file with a capital."""
_ATTRIBUTES = {
    "cpuManagerPolicy": "cpu_manager_policy",
    "cpuManagerPolicyOptions": "cpu_manager_policy_options",
    "memoryManagerPolicy": "memory_manager_policy",
    "reservedMemory": "reserved_memory",
    "topologyManagerPolicy": "topology_manager_policy",
    "topologyManagerScope": "topology_manager_scope",
    "topologyManagerPolicyOptions": "topology_manager_policy_options",
    "kubeReserved": "kube_reserved",
    "systemReserved": "system_reserved",
    "reservedSystemCPUs": "reserved_system_cpus",
    "kubeReservedCgroup": "kube_reserved_cgroup",
    "systemReservedCgroup": "system_reserved_cgroup",
    "enforceNodeAllocatable": "enforce_node_allocatable",
    "cgroupsPerQOS": "cgroups_per_qos",
    "evictionHard": "eviction_hard",
    "evictionSoft": "eviction_soft",
    "evictionSoftGracePeriod": "eviction_soft_grace_period",
    "evictionMinimumReclaim": "eviction_minimum_reclaim",
    "qosReserved": "qos_reserved",
    "maxPods": "max_pods",
    "podsPerCore": "pods_per_core",
    "featureGates": "feature_gates",
    "imageGCHighThresholdPercent": "image_gc_high_threshold_percent",
    "imageGCLowThresholdPercent": "image_gc_low_threshold_percent",
    "serializeImagePulls": "serialize_image_pulls",
    "maxParallelImagePulls": "max_parallel_image_pulls",
    "shutdownGracePeriod": "shutdown_grace_period",
    "shutdownGracePeriodCriticalPods": "shutdown_grace_period_critical_pods",
    "memorySwap": "memory_swap",
    "containerLogMaxFiles": "container_log_max_files",
    "containerLogMaxWorkers": "container_log_max_workers",
    "containerLogMonitorInterval": "container_log_monitor_interval",
}
"""Field of a file -> that of `KubeletConfig`."""


def merge_patch(target: object, patch: object) -> object:
    """A JSON merge patch: objects merge key by key, null deletes, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


# --- 1.28 ------------------------------------------------------------------------------------------------------------


def overridden(config: KubeletConfig, files: Sequence[tuple[KubeletConfig, bool]], *, shares: bool) -> KubeletConfig:
    """`files`: each with its defaults, and whether it names no thresholds itself. `shares`: the configuration does not.

    Whoever names no thresholds has the one map of defaults of the process: what is merged into it is then the default
    of the files that follow (1.28.15).
    """
    defaults: Mapping[str, str] | None = config.eviction_hard if shares else None
    for other, is_default in files:
        thresholds = other.eviction_hard if defaults is None or not is_default else defaults
        changes: dict[str, object] = {}
        for name in _ATTRIBUTES.values():
            mine, own = getattr(config, name), getattr(other, name)
            if name == "eviction_hard":
                own = thresholds
            if own:
                changes[name] = {**(mine or {}), **own} if isinstance(own, Mapping) else own
        config = replace(config, **changes)
        if defaults is not None:
            defaults = config.eviction_hard
    return config


# --- 1.29 to 1.31 ----------------------------------------------------------------------------------------------------


def folded(config: KubeletConfig, files: Sequence[object], version: KubeVersion) -> KubeletConfig:
    """`files` are parsed documents. Raises DecodeError."""
    written = fields_of(config)
    empty = {name: getattr(config, attribute) for name, attribute in _ATTRIBUTES.items() if name not in written}
    merged: object = {
        **{_go_name(name): value for name, value in written.items()},
        **{_go_name(name): value if isinstance(value, str | int) else None for name, value in empty.items()},
    }
    for file in files:
        merged = merge_patch(merged, file)
    fields = merged if isinstance(merged, dict) else {}
    # The configuration itself stands there under the names of the kubelet's own type, and is decoded once more: what
    # comes before it in the order of bytes (`MAXPODS`) loses, what comes after it (`maxPods`) counts.
    for key in in_byte_order(fields):
        name = field_meant(key, version)
        if name is None or key in ("apiVersion", "kind"):
            continue
        document = {"apiVersion": API_VERSION, "kind": KIND, name: fields[key]}
        try:
            decoded = decode_config(document, version, text="", sort_keys=True).fields
        except DecodeError as error:
            text = str(error).replace(f".{name} of type", f".{_go_name(name)} of type", 1)
            raise DecodeError(text, code=error.code, field=error.field, facts=error.facts) from None
        if name in _ATTRIBUTES:
            config = _set(config, _ATTRIBUTES[name], decoded.get(name))
    return config


def _go_name(name: str) -> str:
    return _GO_NAMES.get(name, name[:1].upper() + name[1:])


def field_meant(key: str, version: KubeVersion) -> str | None:
    """Go compares names letter by letter first, and without regard to case then."""
    known = known_fields(version)
    return key if key in known else next((name for name in known if name.lower() == key.lower()), None)


def _set(config: KubeletConfig, attribute: str, value: object) -> KubeletConfig:
    there = getattr(config, attribute)
    if value is None:
        # null empties maps and lists, and leaves anything else as it is
        return replace(config, **{attribute: type(there)()}) if isinstance(there, dict | tuple) else config
    if attribute == "reserved_memory" and isinstance(value, tuple):
        value = tuple(_item(item, there[index] if index < len(there) else None) for index, item in enumerate(value))
    elif isinstance(value, dict):
        value = {**(there or {}), **value}
    return replace(config, **{attribute: value})


def _item(item: Mapping[str, object], there: ReservedMemory | None) -> ReservedMemory:
    """Go decodes an item into the one that stands at its place (issue 21092 of Go)."""
    before = there or ReservedMemory(0, {})
    node, limits = item.get("numaNode", before.numa_node), item.get("limits", {})
    return ReservedMemory(
        node if isinstance(node, int) else 0, {**before.limits, **(limits if isinstance(limits, dict) else {})}
    )
