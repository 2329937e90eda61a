"""What each kubelet release does at its sockets: which calls it knows, and what their answers show."""

import msgspec

from numafit.settings.settings import Settings

_SINCE = {
    "allocatable": 21,
    "single_devices": 21,
    "memory": 22,
    "exclusive_cpus": 23,
    "healthy_devices": 23,
    "dials_first": 25,
    "get": 27,
    "rate_limit": 27,
    "sidecars": 30,
    "sockets_only": 33,
    "get_active": 36,
    "pod_level": 37,
}
"""The minor that began with it (read in the last patch release of each)."""


class SocketRules(msgspec.Struct, frozen=True):
    """The defaults are those of 1.20."""

    allocatable: bool = False
    """GetAllocatableResources exists."""
    single_devices: bool = False
    """One entry for each device and NUMA node; before, one for all devices of a NUMA node."""
    memory: bool = False
    exclusive_cpus: bool = False
    """`cpu_ids` are exclusive CPUs; before, the shared pool for whoever has none."""
    healthy_devices: bool = False
    """Only healthy devices are allocatable; before, all that are listed."""
    get: bool = False
    """Get exists, behind a gate up to 1.35."""
    rate_limit: bool = False
    sidecars: bool = False
    """Restartable init containers are shown."""
    get_active: bool = False
    """Get finds active pods only; before, all that the kubelet knows."""
    pod_level: bool = False
    """What a pod holds as a whole is shown, where the gate PodLevelResourceManagers is on."""
    dials_first: bool = False
    """A plugin is dialled, and its options are asked for, before its registration is answered; before, afterwards,
    with the options that stand in the registration."""
    sockets_only: bool = False
    """A start removes sockets from the plugins' folder; before, all files but the checkpoint."""


def socket_rules(settings: Settings) -> SocketRules:
    minor = settings.version.minor
    return SocketRules(**{name: True for name, since in _SINCE.items() if minor >= since})


def lists_active(settings: Settings) -> bool:
    """List shows active pods; otherwise all that the kubelet knows, also rejected and ended ones (up to 1.33)."""
    return settings.gate("KubeletPodResourcesListUseActivePods")


def has_pod_resources(settings: Settings) -> bool:
    return settings.was_on("KubeletPodResources")
