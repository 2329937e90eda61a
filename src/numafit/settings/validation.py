"""The static validation: every problem of a configuration that needs no machine, in the kubelet's order and words.

It looks at neither cpuManagerPolicy, memoryManagerPolicy nor the policy options: those fail later, in the managers.
"""

from collections.abc import Iterator

from numafit.bits import CpusetError, parse_cpuset
from numafit.golang.text import in_byte_order, quoted
from numafit.settings.config import KubeletConfig
from numafit.settings.gates import resolve_gates
from numafit.settings.versions import Behaviour, KubeVersion, behaviour_of

TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES = ("container", "pod")

GATE_PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
"""What a release that panics says before the error of its gate set."""

_INVALID = "invalid configuration: "
_ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
_PER_QOS = "cgroupsPerQOS (--cgroups-per-qos)"


def validate(config: KubeletConfig, version: KubeVersion) -> tuple[str, ...]:
    """Every problem, in the order of the checks; empty when the kubelet accepts the configuration."""
    behaviour = behaviour_of(version)
    gates = resolve_gates(version, config.feature_gates)
    return (
        *_pods(config, behaviour),
        *_topology(config, behaviour, topology_gate=gates.get("TopologyManager", True)),
        *_enforcement(config, behaviour),
        *_reserved_cpus(config, behaviour),
        *_reserved_memory(config, behaviour),
    )


def _pods(config: KubeletConfig, behaviour: Behaviour) -> Iterator[str]:
    if behaviour.cgroups_per_qos_first and not config.cgroups_per_qos and config.enforce_node_allocatable:
        yield f"{_INVALID}{_ENFORCE} is not supported unless {_PER_QOS} is set to true"
    if config.max_pods < 0:
        yield f"{_INVALID}maxPods (--max-pods) {config.max_pods} must not be a negative number"
    if config.pods_per_core < 0:
        yield f"{_INVALID}podsPerCore (--pods-per-core) {config.pods_per_core} must not be a negative number"


def _topology(config: KubeletConfig, behaviour: Behaviour, *, topology_gate: bool) -> Iterator[str]:
    policy, scope = config.topology_manager_policy, config.topology_manager_scope
    gate_missing = behaviour.topology_gate_checked and not topology_gate
    if gate_missing and policy != "none":
        yield f"{_INVALID}topologyManagerPolicy {policy} requires feature gate TopologyManager"
    if policy not in TOPOLOGY_POLICIES:
        allowed = " ".join(quoted(name) for name in TOPOLOGY_POLICIES)
        if behaviour.must_be_one_of:
            flag = "topologyManagerPolicy (--topology-manager-policy)"
            yield f"{_INVALID}{flag} {quoted(policy)} must be one of: [{allowed}]"
        else:
            yield f"{_INVALID}topologyManagerPolicy non-allowable value: {policy}"
    if gate_missing and scope != "container":
        yield f"{_INVALID}topologyManagerScope {scope} requires feature gate TopologyManager"
    if scope not in TOPOLOGY_SCOPES:
        if behaviour.must_be_one_of:
            flag = "topologyManagerScope (--topology-manager-scope)"
            yield f'{_INVALID}{flag} {quoted(scope)} must be one of: "container", or "pod"'
        else:
            yield f"{_INVALID}topologyManagerScope non-allowable value: {scope}"


def _enforcement(config: KubeletConfig, behaviour: Behaviour) -> Iterator[str]:
    given = config.enforce_node_allocatable
    compressible = ("-compressible",) if behaviour.compressible_enforcement else ()
    cgroups = {"system-reserved": config.system_reserved_cgroup, "kube-reserved": config.kube_reserved_cgroup}
    if compressible:
        for key in cgroups:
            if key in given and f"{key}-compressible" in given:
                yield f'{_INVALID}both "{key}" and "{key}-compressible" cannot be specified together in {_ENFORCE}'
    seen: set[str] = set()
    for value in given:
        if value in seen and not behaviour.cgroups_per_qos_first:
            yield f"{_INVALID}duplicated enforcements {quoted(value)} in {_ENFORCE}"
            continue
        seen.add(value)
        key = value.removesuffix("-compressible") if compressible else value
        if key in cgroups:
            if not cgroups[key]:
                yield _cgroup_missing(key, behaviour)
        elif value == "none":
            if len(given) > 1:
                none = '"none"' if behaviour.must_be_one_of else "'none'"
                yield f"{_INVALID}{_ENFORCE} may not contain additional enforcements when {none} is specified"
            continue
        elif value != "pods":
            yield _unknown_enforcement(value, behaviour)
            continue
        if not behaviour.cgroups_per_qos_first and not config.cgroups_per_qos:
            yield f"{_INVALID}{_PER_QOS} must be set to true when {quoted(value)} contained in {_ENFORCE}"


def _cgroup_missing(key: str, behaviour: Behaviour) -> str:
    field = key.split("-", maxsplit=1)[0] + "ReservedCgroup"
    if behaviour.compressible_enforcement:
        when = f'"{key}" or "{key}-compressible" included in'
    elif behaviour.must_be_one_of:
        when = f'"{key}" contained in'
    else:
        when = f"'{key}' contained in"
    return f"{_INVALID}{field} (--{key}-cgroup) must be specified when {when} {_ENFORCE}"


def _unknown_enforcement(value: str, behaviour: Behaviour) -> str:
    if behaviour.compressible_enforcement:
        valid = (
            '"pods", "system-reserved", "system-reserved-compressible", "kube-reserved", '
            '"kube-reserved-compressible" or "none"'
        )
    else:
        valid = '"pods", "system-reserved", "kube-reserved", or "none"'
    return f"{_INVALID}option {quoted(value)} specified for {_ENFORCE}. Valid options are {valid}"


def _reserved_cpus(config: KubeletConfig, behaviour: Behaviour) -> Iterator[str]:
    cpus = config.reserved_system_cpus
    if not cpus:
        return
    prefix, shown = (_INVALID, f" {cpus}") if behaviour.must_be_one_of else ("", "")
    flag = "reservedSystemCPUs (--reserved-cpus)"
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        yield (
            f"{prefix}can't use {flag} with systemReservedCgroup (--system-reserved-cgroup) "
            "or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
    try:
        parse_cpuset(cpus, reversed_sign=behaviour.reversed_range_sign)
    except CpusetError as error:
        yield f"{prefix}unable to parse {flag}{shown}, error: {error}"


def _reserved_memory(config: KubeletConfig, behaviour: Behaviour) -> Iterator[str]:
    """The limits of one item come in Go map order, which is random; here in byte order."""
    prefix = _INVALID if behaviour.must_be_one_of else ""
    seen: set[tuple[int, str]] = set()
    for item in config.reserved_memory:
        for name in in_byte_order(item.limits):
            at = f"NUMA node {item.numa_node} and resource {quoted(name)}"
            if name != "memory" and not name.startswith("hugepages-"):
                yield (
                    f"{prefix}the limit type {quoted(name)} for NUMA node {item.numa_node} is not supported, "
                    "only [memory hugepages-<HugePageSize>] is accepted"
                )
            if item.limits[name].is_zero:
                yield f"{prefix}reserved memory may not be zero for {at}"
            if (item.numa_node, name) in seen:
                yield f"{prefix}the reserved memory has a duplicate value for {at}"
            seen.add((item.numa_node, name))
