"""A configuration in which what was refused is put right as its cure says, or left out where nobody knows better."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from numafit.advice.inspection.checks import RESERVED_CPUS, SUM
from numafit.document import Path
from numafit.errors import KubeletError
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import MEMORY_AVAILABLE
from numafit.settings.settings import ReservedMemory
from numafit.settings.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES

POLICIES: dict[str, tuple[str, ...]] = {
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
    "topologyManagerPolicy": TOPOLOGY_POLICIES,
    "topologyManagerScope": TOPOLOGY_SCOPES,
}
"""Field -> the names it takes; the kubelet compares them letter by letter."""
_TELLING = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "best-effort",
    "topologyManagerScope": "container",
}
"""Field -> the name under which most of the other settings are looked at."""
_ATTRIBUTES = {name.replace("_", ""): name for name in KubeletConfig.__struct_fields__}


class Amended(NamedTuple):
    config: KubeletConfig
    doubts: tuple[Path, ...] = ()
    """Values that are no longer what a person wrote, and on which other checks stand."""


def meant(field: str, written: str) -> str:
    """The name that only differs in case or in `_` for `-`; empty if there is none, or if it is right already."""
    names = POLICIES[field]
    if written in names:
        return ""
    plain = written.lower().replace("_", "-")
    return next((name for name in names if name.lower() == plain), "")


def amended(config: KubeletConfig, problem: KubeletError) -> Amended:
    """The same configuration where nothing helps."""
    return _AMENDING.get(problem.code, _without)(config, problem)


def _attribute(field: Path) -> str:
    return _ATTRIBUTES.get(str(field[0]).lower(), "")


def _without(config: KubeletConfig, problem: KubeletError) -> Amended:
    """The value of its own goes."""
    name = _attribute(problem.field) if problem.field else ""
    if not name:
        return Amended(config)
    if name == "reserved_memory" and len(problem.field) > 1:
        return Amended(_without_limit(config, int(problem.field[1]), str(problem.field[-1])), (problem.field,))
    value: object = getattr(KubeletConfig(), name)
    old = getattr(config, name)
    if len(problem.field) > 1 and isinstance(old, dict):
        value = {key: each for key, each in old.items() if key != problem.field[1]}
    return Amended(replace(config, **{name: value}), (problem.field,))


def _quietly(config: KubeletConfig, problem: KubeletError) -> Amended:
    """It goes, and nothing else stands on it."""
    return Amended(_without(config, problem).config)


def _without_limit(config: KubeletConfig, index: int, resource: str) -> KubeletConfig:
    items = list(config.reserved_memory)
    limits = {name: limit for name, limit in items[index].limits.items() if name != resource}
    items[index] = ReservedMemory(items[index].numa_node, limits)
    return replace(config, reserved_memory=tuple(items))


def _node(config: KubeletConfig, problem: KubeletError) -> Amended:
    if not problem.facts["nodes"]:
        # Of a machine without NUMA nodes all of them go.
        return Amended(replace(config, reserved_memory=()), (problem.field[:1],))
    index = int(problem.field[1])
    items = list(config.reserved_memory)
    first = problem.facts["nodes"].replace("-", ",").split(",")[0]
    items[index] = ReservedMemory(int(first), {})
    return Amended(replace(config, reserved_memory=tuple(items)), (problem.field[:2],))


def _named(config: KubeletConfig, problem: KubeletError) -> Amended:
    """A name that is only misspelt is read as it is meant."""
    field = str(problem.field[0])
    name = _attribute(problem.field)
    right = meant(field, getattr(config, name))
    return Amended(replace(config, **{name: right or _TELLING[field]}), () if right else (problem.field,))


def _with_gates(*names: str) -> Callable[[KubeletConfig, KubeletError], Amended]:
    """Of no names: those that the refusal names."""

    def change(config: KubeletConfig, problem: KubeletError) -> Amended:
        facts = problem.facts
        wanted = names or (facts.get("gate") or facts.get("missing", "")).split()
        return Amended(replace(config, feature_gates={**config.feature_gates, **dict.fromkeys(wanted, True)}))

    return change


def _reserving(config: KubeletConfig, problem: KubeletError) -> Amended:
    reserved = {**config.system_reserved, "cpu": "1"}
    return Amended(replace(config, system_reserved=reserved), (RESERVED_CPUS,))


def _without_cgroups(config: KubeletConfig, problem: KubeletError) -> Amended:
    return Amended(replace(config, kube_reserved_cgroup="", system_reserved_cgroup=""))


def _without_second(config: KubeletConfig, problem: KubeletError) -> Amended:
    options = {
        name: value
        for name, value in (config.cpu_manager_policy_options or {}).items()
        if name != problem.facts["second"]
    }
    return Amended(replace(config, cpu_manager_policy_options=options))


def _enforcing(config: KubeletConfig, problem: KubeletError) -> Amended:
    return Amended(replace(config, enforce_node_allocatable=("pods",), cgroups_per_qos=True))


def _without_topology(config: KubeletConfig, problem: KubeletError) -> Amended:
    return Amended(replace(config, topology_manager_policy="none"))


def _without_pages(config: KubeletConfig, problem: KubeletError) -> Amended:
    for index in range(len(config.reserved_memory)):
        config = _without_limit(config, index, problem.facts["resource"])
    return Amended(config)


def _summed(config: KubeletConfig, problem: KubeletError) -> Amended:
    """Reserved as reservedMemory has it, so that what comes after the sum is looked at."""
    if problem.facts["listed"] == "0":
        return Amended(config, (SUM,))
    kube = {name: amount for name, amount in config.kube_reserved.items() if name != "memory"}
    hard = {name: value for name, value in config.eviction_hard.items() if name != MEMORY_AVAILABLE}
    system = {**config.system_reserved, "memory": problem.facts["listed"]}
    return Amended(replace(config, kube_reserved=kube, system_reserved=system, eviction_hard=hard), (SUM,))


def _other_cpus(config: KubeletConfig, problem: KubeletError) -> Amended:
    return Amended(config, (RESERVED_CPUS,))


def _by_default(*names: str) -> Callable[[KubeletConfig, KubeletError], Amended]:
    """Nothing else stands on these fields."""
    default = KubeletConfig()

    def change(config: KubeletConfig, problem: KubeletError) -> Amended:
        return Amended(replace(config, **{name: getattr(default, name) for name in names}))

    return change


_IMAGES = _by_default("image_gc_high_threshold_percent", "image_gc_low_threshold_percent")
_SHUTDOWN = _by_default("shutdown_grace_period", "shutdown_grace_period_critical_pods")


def _as_it_is(config: KubeletConfig, problem: KubeletError) -> Amended:
    return Amended(config)


_AMENDING: dict[str, Callable[[KubeletConfig, KubeletError], Amended]] = {
    "gate-unknown": _quietly,
    "gate-locked": _quietly,
    "gate-depends": _with_gates(),
    "topology-policy": _named,
    "topology-policy-name": _named,
    "topology-scope": _named,
    "topology-scope-name": _named,
    "topology-gate": _with_gates("TopologyManager"),
    "cpus-with-cgroups": _without_cgroups,
    "memory-type": _quietly,
    "memory-zero": _quietly,
    "memory-node": _node,
    "image-gc-share": _IMAGES,
    "image-gc-order": _IMAGES,
    "shutdown-gate": _SHUTDOWN,
    "shutdown-order": _SHUTDOWN,
    "shutdown-period": _SHUTDOWN,
    "enforce-cgroup": _enforcing,
    "enforce-needs-qos": _enforcing,
    "enforce-both": _enforcing,
    "enforce-twice": _enforcing,
    "enforce-none": _enforcing,
    "enforce-unknown": _enforcing,
    "enforce-qos": _enforcing,
    "cpu-options-gate": _with_gates("CPUManagerPolicyOptions"),
    "topology-options-gate": _with_gates("TopologyManagerPolicyOptions"),
    "cpu-option-stage": _with_gates(),
    "topology-option-stage": _with_gates(),
    "cpu-option-unknown": _quietly,
    "topology-option-unknown": _quietly,
    "distances": _quietly,
    "numa-nodes": _without_topology,
    "cpu-policy": _named,
    "cpu-options-none": _quietly,
    "cpu-options-exclude": _without_second,
    "socket-single-numa": _quietly,
    "socket-hardware": _quietly,
    "cpu-reserve-unknown": _reserving,
    "cpu-reserve-zero": _reserving,
    "cpu-reserve-count": _other_cpus,
    "cpu-reserve-missing": _other_cpus,
    "memory-policy": _named,
    "memory-total": _summed,
    "pages-total": _without_pages,
    "capacity": _as_it_is,
}
"""Refusal -> what to go on with. Of others the value that they are about is left out."""
