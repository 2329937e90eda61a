"""Other orders for a kubelet: scope, policies, options, and where its reservation lies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from numafit.advice.propose.proposal import ProposalKind
from numafit.bits import cpuset_text
from numafit.decision.stage import Stage
from numafit.managers.ask import ask_of
from numafit.quantity import Quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.options import CPU_OPTION_STAGES, PREFER_CLOSEST_NUMA_NODES, TOPOLOGY_OPTION_STAGES, stage_of
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES
from numafit.workload.pod import Pod

POD_LEVEL_MANAGERS = "PodLevelResourceManagers"


class KubeletOrder(NamedTuple):
    kind: ProposalKind
    text: str
    config: KubeletConfig
    option: str = ""
    """`+name` for an option that is added, `-name` for one that goes."""
    loss: float = 0.0
    """The share of a reservation that is given up."""


def orders(stage: Stage, pods: Sequence[Pod] = ()) -> Iterator[KubeletOrder]:
    """`pods` are those that shall be served: what concerns none of them is left out."""
    config = stage.config
    yield from scopes(config)
    if any(ask_of(pod, stage.node.settings).pod_level == "skipped" for pod in pods):
        yield from _pod_level(config, stage.node.settings)
    yield from policies(config)
    yield from options(config, stage.node.settings)
    if stage.node.cpu.static:
        yield from _reserved_cpus(stage)
    if config.memory_manager_policy == "Static" and stage.node.memory is not None:
        yield from _reserved_memory(stage)
        text = "memoryManagerPolicy Static -> None (memory is no longer pinned)"
        yield KubeletOrder("policy", text, replace(config, memory_manager_policy="None", reserved_memory=()))


def _pod_level(config: KubeletConfig, settings: Settings) -> Iterator[KubeletOrder]:
    """Managers that serve pods with resources of their own, where the release has them."""
    if settings.behaviour.pod_level == "managed":
        gates = {**config.feature_gates, POD_LEVEL_MANAGERS: True}
        yield KubeletOrder("option", f"the gate {POD_LEVEL_MANAGERS}", replace(config, feature_gates=gates))


def scopes(config: KubeletConfig) -> Iterator[KubeletOrder]:
    old = config.topology_manager_scope
    if config.topology_manager_policy == "none":
        return
    for scope in TOPOLOGY_SCOPES:
        if scope != old:
            yield KubeletOrder(
                "scope", f"topologyManagerScope {old} -> {scope}", replace(config, topology_manager_scope=scope)
            )


def policies(config: KubeletConfig) -> Iterator[KubeletOrder]:
    """None is left out: it aligns nothing."""
    old = config.topology_manager_policy
    for policy in TOPOLOGY_POLICIES:
        if policy not in (old, "none"):
            text = f"topologyManagerPolicy {old} -> {policy}"
            yield KubeletOrder("policy", text, replace(config, topology_manager_policy=policy))


def options(config: KubeletConfig, settings: Settings) -> Iterator[KubeletOrder]:
    """Each option that the release knows, the other way round; with the gate that its stage asks for."""
    minor = settings.version.minor
    if config.cpu_manager_policy == "static" and settings.behaviour.cpu_options:
        for option in CPU_OPTION_STAGES:
            stage = stage_of(option, CPU_OPTION_STAGES, minor)
            if stage is None:
                continue
            gates = ["CPUManagerPolicyOptions"]
            if stage != "stable" and settings.behaviour.cpu_option_stages:
                gates.append(f"CPUManagerPolicy{stage.capitalize()}Options")
            own = _toggled(config.cpu_manager_policy_options, option)
            changed = replace(config, cpu_manager_policy_options=own)
            yield _option("cpuManagerPolicyOptions", option, own, changed, settings, gates)
    stage = stage_of(PREFER_CLOSEST_NUMA_NODES, TOPOLOGY_OPTION_STAGES, minor)
    if stage is not None and config.topology_manager_policy != "none":
        gates = ["TopologyManagerPolicyOptions"]
        if stage != "stable":
            gates.append(f"TopologyManagerPolicy{stage.capitalize()}Options")
        own = _toggled(config.topology_manager_policy_options, PREFER_CLOSEST_NUMA_NODES)
        changed = replace(config, topology_manager_policy_options=own)
        yield _option("topologyManagerPolicyOptions", PREFER_CLOSEST_NUMA_NODES, own, changed, settings, gates)


def _toggled(given: Mapping[str, str] | None, option: str) -> dict[str, str] | None:
    own = dict(given or {})
    if own.get(option) == "true":
        del own[option]
        return own or None
    return {**own, option: "true"}


def _option(
    field: str,
    option: str,
    own: Mapping[str, str] | None,
    config: KubeletConfig,
    settings: Settings,
    gates: Sequence[str],
) -> KubeletOrder:
    if option not in (own or {}):
        return KubeletOrder("option", f"{field} without {option}", config, f"-{option}")
    missing = [gate for gate in gates if not settings.gates.get(gate, True)]
    if not missing:
        return KubeletOrder("option", f"{field} with {option}", config, f"+{option}")
    config = replace(config, feature_gates={**config.feature_gates, **dict.fromkeys(missing, True)})
    return KubeletOrder("option", f"{field} with {option} (and the gate {' and '.join(missing)})", config, f"+{option}")


def _reserved_cpus(stage: Stage) -> Iterator[KubeletOrder]:
    """As many CPUs as now, by whole cores: all on one NUMA node, each in turn, or spread over all of them."""
    cpu = stage.node.cpu
    count, topology = cpu.reserved.bit_count(), cpu.topology
    per_node = [topology.numa_cores[numa] for numa in sorted(topology.numa_nodes)]
    spread = [cores[i] for i in range(max(map(len, per_node), default=0)) for cores in per_node if i < len(cores)]
    seen = {cpu.reserved}
    for cores in (*per_node, spread):
        chosen = _first_cpus(cores, count)
        if chosen.bit_count() == count and chosen not in seen:
            seen.add(chosen)
            was, becomes = cpuset_text(cpu.reserved), cpuset_text(chosen)
            config = replace(stage.config, reserved_system_cpus=becomes)
            yield KubeletOrder("reservation", f"reserved CPUs {was} -> {becomes}", config)


def _first_cpus(cores: Sequence[int], count: int) -> int:
    chosen = 0
    for core in cores:
        while core and chosen.bit_count() < count:
            chosen |= core & -core
            core &= core - 1
    return chosen


def _reserved_memory(stage: Stage) -> Iterator[KubeletOrder]:
    """The same sum: all on one NUMA node, each in turn, or in equal parts. Huge pages stay where they are."""
    now = reserved_share(stage.config)
    total = sum(now.values())
    nodes = [node.id for node in stage.node.machine.numa_nodes if node.memory]
    shares = [{node: total} for node in nodes]
    if nodes:
        equal = total // len(nodes)
        shares.append({node: equal + (total - equal * len(nodes) if node == nodes[0] else 0) for node in nodes})
    for share in shares:
        if share != now and total:
            config = replace(stage.config, reserved_memory=with_memory(stage.config, share))
            yield KubeletOrder("reservation", f"reservedMemory {share_text(now)} -> {share_text(share)}", config)


def reserved_share(config: KubeletConfig) -> dict[int, int]:
    """NUMA node -> bytes of plain memory that are reserved there."""
    return {item.numa_node: item.limits["memory"].value() for item in config.reserved_memory if "memory" in item.limits}


def with_memory(config: KubeletConfig, share: Mapping[int, int]) -> tuple[ReservedMemory, ...]:
    limits: dict[int, dict[str, Quantity]] = {}
    for item in config.reserved_memory:
        kept = {name: size for name, size in item.limits.items() if name != "memory"}
        if kept:
            limits.setdefault(item.numa_node, {}).update(kept)
    for node, size in share.items():
        if size:
            limits.setdefault(node, {})["memory"] = Quantity(size, 0, "BinarySI")
    return tuple(ReservedMemory(node, own) for node, own in sorted(limits.items()))


def share_text(share: Mapping[int, int]) -> str:
    parts = [f"{Quantity(size, 0, 'BinarySI')}@{node}" for node, size in sorted(share.items()) if size]
    return "+".join(parts)
