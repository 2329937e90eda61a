"""The static validation: every problem of a configuration that needs no machine, in the kubelet's order and words.

It looks at neither cpuManagerPolicy, memoryManagerPolicy nor the policy options: those fail later, in the managers.
"""

from collections.abc import Iterator, Mapping

from numafit.bits import CpusetError, parse_cpuset
from numafit.errors import KubeletError
from numafit.golang.text import duration_text, in_byte_order, parse_duration, quoted
from numafit.settings.config import KubeletConfig
from numafit.settings.versions import Behaviour, KubeVersion, behaviour_of

TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES = ("container", "pod")

GATE_PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
"""What a release that panics says before the error of its gate set."""

_INVALID = "invalid configuration: "
_ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
_ENFORCE_FIELD = ("enforceNodeAllocatable",)
_SECOND = 1_000_000_000
_PER_QOS = "cgroupsPerQOS (--cgroups-per-qos)"


def validate(config: KubeletConfig, version: KubeVersion, gates: Mapping[str, bool]) -> tuple[KubeletError, ...]:
    """Every problem, in the order of the checks; empty when the kubelet accepts the configuration.

    `gates` are all of the release, with their effective values.
    """
    behaviour = behaviour_of(version)
    return (
        *_qos_cgroups(config, behaviour),
        *_images(config),
        *_pods(config),
        *_pulls(config),
        *_topology(config, behaviour, topology_gate=gates.get("TopologyManager", True)),
        *_shutdown(config, behaviour, gate=gates.get("GracefulNodeShutdown", True)),
        *_swap(config, behaviour, gate=gates.get("NodeSwap", True)),
        *_enforcement(config, behaviour),
        *_reserved_cpus(config, behaviour),
        *_reserved_memory(config, behaviour),
        *_logs(config, behaviour),
    )


def _qos_cgroups(config: KubeletConfig, behaviour: Behaviour) -> Iterator[KubeletError]:
    if behaviour.cgroups_per_qos_first and not config.cgroups_per_qos and config.enforce_node_allocatable:
        text = f"{_INVALID}{_ENFORCE} is not supported unless {_PER_QOS} is set to true"
        yield KubeletError(text, code="enforce-needs-qos", field=_ENFORCE_FIELD)


def _images(config: KubeletConfig) -> Iterator[KubeletError]:
    high, low = config.image_gc_high_threshold_percent, config.image_gc_low_threshold_percent
    upper = "imageGCHighThresholdPercent (--image-gc-high-threshold)"
    lower = "imageGCLowThresholdPercent (--image-gc-low-threshold)"
    for name, share in ((upper, high), (lower, low)):
        if not 0 <= share <= 100:
            text = f"{_INVALID}{name} {share} must be between 0 and 100, inclusive"
            yield KubeletError(text, code="image-gc-share", field=(name.split()[0],))
    if low >= high:
        text = f"{_INVALID}{lower} {low} must be less than {upper} {high}"
        yield KubeletError(text, code="image-gc-order", field=(upper.split()[0],))


def _pods(config: KubeletConfig) -> Iterator[KubeletError]:
    if config.max_pods < 0:
        text = f"{_INVALID}maxPods (--max-pods) {config.max_pods} must not be a negative number"
        yield KubeletError(text, code="max-pods", field=("maxPods",))
    if config.pods_per_core < 0:
        text = f"{_INVALID}podsPerCore (--pods-per-core) {config.pods_per_core} must not be a negative number"
        yield KubeletError(text, code="pods-per-core", field=("podsPerCore",))


def _pulls(config: KubeletConfig) -> Iterator[KubeletError]:
    """The field came with 1.27; before it is never read."""
    pulls = config.max_parallel_image_pulls
    field = ("maxParallelImagePulls",)
    if pulls is not None and pulls < 1:
        text = f"{_INVALID}maxParallelImagePulls {pulls} must be a positive number"
        yield KubeletError(text, code="parallel-pulls", field=field)
    if pulls is not None and pulls > 1 and config.serialize_image_pulls:
        yield KubeletError(
            f"{_INVALID}maxParallelImagePulls cannot be larger than 1 unless "
            "SerializeImagePulls (--serialize-image-pulls) is set to false",
            code="serial-pulls",
            field=field,
        )


def _shutdown(config: KubeletConfig, behaviour: Behaviour, *, gate: bool) -> Iterator[KubeletError]:
    all_pods, critical = "shutdownGracePeriod", "shutdownGracePeriodCriticalPods"
    whole, last = (
        parse_duration(config.shutdown_grace_period),
        parse_duration(config.shutdown_grace_period_critical_pods),
    )
    old = not behaviour.must_be_one_of
    names = [name[:1].upper() + name[1:] if old else name for name in (all_pods, critical)]
    shown = [f"{name} {duration_text(period)}" for name, period in zip(names, (whole, last), strict=True)]
    if not gate:
        if whole > 0 or last > 0:
            text = f"{_INVALID}{'S' if old else 's'}pecifying {names[0]} or {names[1]} requires feature gate "
            yield KubeletError(f"{text}GracefulNodeShutdown", code="shutdown-gate", field=(all_pods,))
        return
    if old and (whole < 0 or last < 0 or last > whole):
        text = f"{_INVALID}{shown[0]} must be >= 0, {shown[1]} must be >= 0, and {shown[1]} must be <= {shown[0]}"
        yield KubeletError(text, code="shutdown-order", field=(critical,))
    elif not old and last > whole:
        text = f"{_INVALID}{shown[1]} must be <= {shown[0]}"
        yield KubeletError(text, code="shutdown-order", field=(critical,))
    for name, text, period in zip((all_pods, critical), shown, (whole, last), strict=True):
        if 0 < period < _SECOND or (period < 0 and not old):
            problem = f"{_INVALID}{text} must be either zero or otherwise >= 1 sec"
            yield KubeletError(problem, code="shutdown-period", field=(name,))


def _swap(config: KubeletConfig, behaviour: Behaviour, *, gate: bool) -> Iterator[KubeletError]:
    """The field came with 1.22."""
    found = config.memory_swap.get("swapBehavior", "")
    name = "memorySwap.swapBehavior" if behaviour.must_be_one_of else "MemorySwap.SwapBehavior"
    field = ("memorySwap", "swapBehavior")
    if not gate and found:
        text = f"{_INVALID}{name} cannot be set when NodeSwap feature flag is disabled"
        yield KubeletError(text, code="swap-gate", field=field)
    allowed = ("LimitedSwap", "NoSwap" if behaviour.no_unlimited_swap else "UnlimitedSwap")
    if gate and found and found not in allowed:
        if behaviour.no_unlimited_swap:
            shown = f'{quoted(found)} must be one of: "", "LimitedSwap" or "NoSwap"'
        elif behaviour.must_be_one_of:
            shown = f'{quoted(found)} must be one of: "", "LimitedSwap", or "UnlimitedSwap"'
        else:
            shown = f"{found} must be one of: LimitedSwap, UnlimitedSwap"
        facts = {"allowed": " or ".join(allowed)}
        yield KubeletError(f"{_INVALID}{name} {shown}", code="swap-behavior", field=field, facts=facts)


def _topology(config: KubeletConfig, behaviour: Behaviour, *, topology_gate: bool) -> Iterator[KubeletError]:
    policy, scope = config.topology_manager_policy, config.topology_manager_scope
    gate_missing = behaviour.topology_gate_checked and not topology_gate
    if gate_missing and policy != "none":
        text = f"{_INVALID}topologyManagerPolicy {policy} requires feature gate TopologyManager"
        yield KubeletError(text, code="topology-gate", field=("topologyManagerPolicy",))
    if policy not in TOPOLOGY_POLICIES:
        allowed = " ".join(quoted(name) for name in TOPOLOGY_POLICIES)
        if behaviour.must_be_one_of:
            flag = "topologyManagerPolicy (--topology-manager-policy)"
            text = f"{_INVALID}{flag} {quoted(policy)} must be one of: [{allowed}]"
        else:
            text = f"{_INVALID}topologyManagerPolicy non-allowable value: {policy}"
        yield KubeletError(text, code="topology-policy", field=("topologyManagerPolicy",))
    if gate_missing and scope != "container":
        text = f"{_INVALID}topologyManagerScope {scope} requires feature gate TopologyManager"
        yield KubeletError(text, code="topology-gate", field=("topologyManagerScope",))
    if scope not in TOPOLOGY_SCOPES:
        if behaviour.must_be_one_of:
            flag = "topologyManagerScope (--topology-manager-scope)"
            text = f'{_INVALID}{flag} {quoted(scope)} must be one of: "container", or "pod"'
        else:
            text = f"{_INVALID}topologyManagerScope non-allowable value: {scope}"
        yield KubeletError(text, code="topology-scope", field=("topologyManagerScope",))


def _enforcement(config: KubeletConfig, behaviour: Behaviour) -> Iterator[KubeletError]:
    given = config.enforce_node_allocatable
    compressible = ("-compressible",) if behaviour.compressible_enforcement else ()
    cgroups = {"system-reserved": config.system_reserved_cgroup, "kube-reserved": config.kube_reserved_cgroup}
    if compressible:
        for key in cgroups:
            if key in given and f"{key}-compressible" in given:
                text = f'{_INVALID}both "{key}" and "{key}-compressible" cannot be specified together in {_ENFORCE}'
                yield KubeletError(text, code="enforce-both", field=_ENFORCE_FIELD)
    seen: set[str] = set()
    for value in given:
        if value in seen and not behaviour.cgroups_per_qos_first:
            text = f"{_INVALID}duplicated enforcements {quoted(value)} in {_ENFORCE}"
            yield KubeletError(text, code="enforce-twice", field=_ENFORCE_FIELD)
            continue
        seen.add(value)
        key = value.removesuffix("-compressible") if compressible else value
        if key in cgroups:
            if not cgroups[key]:
                yield KubeletError(_cgroup_missing(key, behaviour), code="enforce-cgroup", field=_ENFORCE_FIELD)
        elif value == "none":
            if len(given) > 1:
                none = '"none"' if behaviour.must_be_one_of else "'none'"
                text = f"{_INVALID}{_ENFORCE} may not contain additional enforcements when {none} is specified"
                yield KubeletError(text, code="enforce-none", field=_ENFORCE_FIELD)
            continue
        elif value != "pods":
            yield KubeletError(_unknown_enforcement(value, behaviour), code="enforce-unknown", field=_ENFORCE_FIELD)
            continue
        if not behaviour.cgroups_per_qos_first and not config.cgroups_per_qos:
            text = f"{_INVALID}{_PER_QOS} must be set to true when {quoted(value)} contained in {_ENFORCE}"
            yield KubeletError(text, code="enforce-qos", field=_ENFORCE_FIELD)


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


def _reserved_cpus(config: KubeletConfig, behaviour: Behaviour) -> Iterator[KubeletError]:
    cpus = config.reserved_system_cpus
    if not cpus:
        return
    prefix, shown = (_INVALID, f" {cpus}") if behaviour.must_be_one_of else ("", "")
    flag = "reservedSystemCPUs (--reserved-cpus)"
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        yield KubeletError(
            f"{prefix}can't use {flag} with systemReservedCgroup (--system-reserved-cgroup) "
            "or kubeReservedCgroup (--kube-reserved-cgroup)",
            code="cpus-with-cgroups",
            field=("reservedSystemCPUs",),
        )
    try:
        parse_cpuset(cpus, reversed_sign=behaviour.reversed_range_sign)
    except CpusetError as error:
        text = f"{prefix}unable to parse {flag}{shown}, error: {error}"
        yield KubeletError(text, code="cpus-list", field=("reservedSystemCPUs",))


def _reserved_memory(config: KubeletConfig, behaviour: Behaviour) -> Iterator[KubeletError]:
    """The limits of one item come in Go map order, which is random; here in byte order."""
    prefix = _INVALID if behaviour.must_be_one_of else ""
    seen: set[tuple[int, str]] = set()
    for index, item in enumerate(config.reserved_memory):
        for name in in_byte_order(item.limits):
            field = ("reservedMemory", index, "limits", name)
            at = f"NUMA node {item.numa_node} and resource {quoted(name)}"
            if name != "memory" and not name.startswith("hugepages-"):
                yield KubeletError(
                    f"{prefix}the limit type {quoted(name)} for NUMA node {item.numa_node} is not supported, "
                    "only [memory hugepages-<HugePageSize>] is accepted",
                    code="memory-type",
                    field=field,
                )
            if item.limits[name].is_zero:
                text = f"{prefix}reserved memory may not be zero for {at}"
                yield KubeletError(text, code="memory-zero", field=field)
            if (item.numa_node, name) in seen:
                text = f"{prefix}the reserved memory has a duplicate value for {at}"
                yield KubeletError(text, code="memory-twice", field=field)
            seen.add((item.numa_node, name))


def _logs(config: KubeletConfig, behaviour: Behaviour) -> Iterator[KubeletError]:
    if behaviour.log_workers_checked and config.container_log_max_workers < 1:
        text = f"{_INVALID}containerLogMaxWorkers must be greater than or equal to 1"
        yield KubeletError(text, code="log-workers", field=("containerLogMaxWorkers",))
    if behaviour.log_workers_checked and parse_duration(config.container_log_monitor_interval) < 3 * _SECOND:
        text = f"{_INVALID}containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
        yield KubeletError(text, code="log-interval", field=("containerLogMonitorInterval",))
    if behaviour.log_files_checked and config.container_log_max_files <= 1:
        text = f"{_INVALID}containerLogMaxFiles must be greater than 1"
        yield KubeletError(text, code="log-files", field=("containerLogMaxFiles",))
