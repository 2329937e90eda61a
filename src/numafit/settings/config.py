"""A kubelet's configuration: the fields that decide about CPUs, memory and topology, with the defaults filled in."""

from collections.abc import Mapping

import msgspec

from numafit.quantity import Quantity
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import KubeVersion, behaviour_of

ROOT_DIR = "/var/lib/kubelet"


class KubeletConfig(msgspec.Struct, frozen=True):
    """Named like the fields of a KubeletConfiguration. None where the kubelet tells a missing map from an empty one."""

    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Mapping[str, str] | None = None
    memory_manager_policy: str = "None"
    reserved_memory: tuple[ReservedMemory, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] | None = None
    kube_reserved: Mapping[str, str] = {}
    system_reserved: Mapping[str, str] = {}
    reserved_system_cpus: str = ""
    kube_reserved_cgroup: str = ""
    system_reserved_cgroup: str = ""
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    cgroups_per_qos: bool = True
    eviction_hard: Mapping[str, str] = {}
    eviction_soft: Mapping[str, str] = {}
    eviction_soft_grace_period: Mapping[str, str] = {}
    eviction_minimum_reclaim: Mapping[str, str] = {}
    qos_reserved: Mapping[str, str] = {}
    max_pods: int = 110
    pods_per_core: int = 0
    feature_gates: Mapping[str, bool] = {}
    image_gc_high_threshold_percent: int = 85
    """This and what follows decides nothing here, but keeps a kubelet from starting where it is wrong."""
    image_gc_low_threshold_percent: int = 80
    serialize_image_pulls: bool = True
    max_parallel_image_pulls: int | None = None
    shutdown_grace_period: str = "0s"
    shutdown_grace_period_critical_pods: str = "0s"
    memory_swap: Mapping[str, str] = {}
    container_log_max_files: int = 5
    container_log_max_workers: int = 1
    container_log_monitor_interval: str = "10s"
    ignore_eviction: bool = False
    """`--experimental-allocatable-ignore-eviction`, which no file can say."""
    root_dir: str = ROOT_DIR
    """`--root-dir`, which no file can say."""


class _ReservedMemory(msgspec.Struct, frozen=True, rename="camel"):
    numa_node: int = 0
    limits: dict[str, Quantity] = {}


class _Fields(msgspec.Struct, frozen=True, rename="camel"):
    """The decoded fields of a file; empty texts and zeros are what the kubelet replaces by a default."""

    cpu_manager_policy: str = ""
    cpu_manager_policy_options: dict[str, str] | None = None
    memory_manager_policy: str = ""
    reserved_memory: tuple[_ReservedMemory, ...] = ()
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""
    topology_manager_policy_options: dict[str, str] | None = None
    kube_reserved: dict[str, str] = {}
    system_reserved: dict[str, str] = {}
    reserved_system_cpus: str = msgspec.field(default="", name="reservedSystemCPUs")
    kube_reserved_cgroup: str = ""
    system_reserved_cgroup: str = ""
    enforce_node_allocatable: tuple[str, ...] | None = None
    cgroups_per_qos: bool = msgspec.field(default=True, name="cgroupsPerQOS")
    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] = {}
    eviction_soft_grace_period: dict[str, str] = {}
    eviction_minimum_reclaim: dict[str, str] = {}
    merge_default_eviction_settings: bool = False
    qos_reserved: dict[str, str] = {}
    max_pods: int = 0
    pods_per_core: int = 0
    feature_gates: dict[str, bool] = {}
    image_gc_high_threshold_percent: int = msgspec.field(default=85, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: int = msgspec.field(default=80, name="imageGCLowThresholdPercent")
    serialize_image_pulls: bool | None = None
    max_parallel_image_pulls: int | None = None
    shutdown_grace_period: str = "0s"
    shutdown_grace_period_critical_pods: str = "0s"
    memory_swap: dict[str, str] = {}
    container_log_max_files: int = 5
    container_log_max_workers: int = 1
    container_log_monitor_interval: str = "10s"


def default_eviction_hard(version: KubeVersion) -> dict[str, str]:
    """Linux; other systems have fewer."""
    defaults = {
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "imagefs.available": "15%",
    }
    if behaviour_of(version).imagefs_inodes_default:
        defaults["imagefs.inodesFree"] = "5%"
    return defaults


def default_config(version: KubeVersion) -> KubeletConfig:
    """A kubelet without a configuration file: since 1.26 without any eviction threshold."""
    if behaviour_of(version).eviction_default_without_file:
        return KubeletConfig(eviction_hard=default_eviction_hard(version))
    return KubeletConfig()


def config_of_file(fields: Mapping[str, object], version: KubeVersion) -> KubeletConfig:
    """The decoded fields of a file with the defaults filled in."""
    return _defaulted(fields, _eviction_of_file(fields, version))


def config_of_merged(fields: Mapping[str, object]) -> KubeletConfig:
    """The fields after the drop-in files: thresholds were filled in before, and are not filled in again."""
    eviction = fields.get("evictionHard")
    return _defaulted(fields, msgspec.convert(eviction, dict[str, str]) if eviction else {})


def fields_of(config: KubeletConfig) -> dict[str, object]:
    """The configuration as a file would say it, the way the kubelet writes it for its drop-in files: empty values are
    left out, so an empty `enforceNodeAllocatable` becomes the default again."""
    fields: dict[str, object] = {
        "cpuManagerPolicy": config.cpu_manager_policy,
        "cpuManagerPolicyOptions": dict(config.cpu_manager_policy_options or {}),
        "memoryManagerPolicy": config.memory_manager_policy,
        "reservedMemory": [
            {"numaNode": item.numa_node, "limits": {name: str(limit) for name, limit in item.limits.items()}}
            for item in config.reserved_memory
        ],
        "topologyManagerPolicy": config.topology_manager_policy,
        "topologyManagerScope": config.topology_manager_scope,
        "topologyManagerPolicyOptions": dict(config.topology_manager_policy_options or {}),
        "kubeReserved": dict(config.kube_reserved),
        "systemReserved": dict(config.system_reserved),
        "reservedSystemCPUs": config.reserved_system_cpus,
        "kubeReservedCgroup": config.kube_reserved_cgroup,
        "systemReservedCgroup": config.system_reserved_cgroup,
        "enforceNodeAllocatable": list(config.enforce_node_allocatable),
        "evictionHard": dict(config.eviction_hard),
        "evictionSoft": dict(config.eviction_soft),
        "evictionSoftGracePeriod": dict(config.eviction_soft_grace_period),
        "evictionMinimumReclaim": dict(config.eviction_minimum_reclaim),
        "qosReserved": dict(config.qos_reserved),
        "maxPods": config.max_pods,
        "podsPerCore": config.pods_per_core,
        "featureGates": dict(config.feature_gates),
        "memorySwap": dict(config.memory_swap),
    }
    found = {name: value for name, value in fields.items() if value}
    default = KubeletConfig()
    upkeep = {
        "imageGCHighThresholdPercent": "image_gc_high_threshold_percent",
        "imageGCLowThresholdPercent": "image_gc_low_threshold_percent",
        "maxParallelImagePulls": "max_parallel_image_pulls",
        "shutdownGracePeriod": "shutdown_grace_period",
        "shutdownGracePeriodCriticalPods": "shutdown_grace_period_critical_pods",
        "containerLogMaxFiles": "container_log_max_files",
        "containerLogMaxWorkers": "container_log_max_workers",
        "containerLogMonitorInterval": "container_log_monitor_interval",
    }
    for name, attribute in upkeep.items():
        if getattr(config, attribute) != getattr(default, attribute):
            found[name] = getattr(config, attribute)
    return found | {"cgroupsPerQOS": config.cgroups_per_qos, "serializeImagePulls": config.serialize_image_pulls}


def _eviction_of_file(fields: Mapping[str, object], version: KubeVersion) -> dict[str, str]:
    defaults = default_eviction_hard(version)
    if "evictionHard" not in fields:
        return defaults
    given = msgspec.convert(fields["evictionHard"], dict[str, str])
    # A map in the file replaces all defaults: a file that names nodefs only has no memory threshold.
    return defaults | given if fields.get("mergeDefaultEvictionSettings") else given


def _defaulted(fields: Mapping[str, object], eviction_hard: dict[str, str]) -> KubeletConfig:
    given = msgspec.convert(fields, _Fields)
    enforced = given.enforce_node_allocatable
    pulls, serialized = given.max_parallel_image_pulls, given.serialize_image_pulls
    return KubeletConfig(
        cpu_manager_policy=given.cpu_manager_policy or "none",
        cpu_manager_policy_options=given.cpu_manager_policy_options,
        memory_manager_policy=given.memory_manager_policy or "None",
        reserved_memory=tuple(ReservedMemory(item.numa_node, item.limits) for item in given.reserved_memory),
        topology_manager_policy=given.topology_manager_policy or "none",
        topology_manager_scope=given.topology_manager_scope or "container",
        topology_manager_policy_options=given.topology_manager_policy_options,
        kube_reserved=given.kube_reserved,
        system_reserved=given.system_reserved,
        reserved_system_cpus=given.reserved_system_cpus,
        kube_reserved_cgroup=given.kube_reserved_cgroup,
        system_reserved_cgroup=given.system_reserved_cgroup,
        enforce_node_allocatable=("pods",) if enforced is None else enforced,
        cgroups_per_qos=given.cgroups_per_qos,
        eviction_hard=eviction_hard,
        eviction_soft=given.eviction_soft,
        eviction_soft_grace_period=given.eviction_soft_grace_period,
        eviction_minimum_reclaim=given.eviction_minimum_reclaim,
        qos_reserved=given.qos_reserved,
        max_pods=given.max_pods or 110,
        pods_per_core=given.pods_per_core,
        feature_gates=given.feature_gates,
        image_gc_high_threshold_percent=given.image_gc_high_threshold_percent,
        image_gc_low_threshold_percent=given.image_gc_low_threshold_percent,
        serialize_image_pulls=(pulls is None or pulls < 2) if serialized is None else serialized,
        max_parallel_image_pulls=pulls,
        shutdown_grace_period=given.shutdown_grace_period,
        shutdown_grace_period_critical_pods=given.shutdown_grace_period_critical_pods,
        memory_swap=given.memory_swap,
        container_log_max_files=given.container_log_max_files,
        container_log_max_workers=given.container_log_max_workers,
        container_log_monitor_interval=given.container_log_monitor_interval,
    )
