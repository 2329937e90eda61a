"""Other orders for the kubelet: scope, policies, options, and where its reservation lies."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.advice.propose.course import Course
from numafit.advice.propose.proposal import Proposal, ProposalKind
from numafit.advice.propose.trial import Trial
from numafit.bits import cpuset_text
from numafit.decision.stage import Stage, restarted
from numafit.decision.verdicts import Verdicts, verdicts
from numafit.errors import KubeletError
from numafit.quantity import Quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.options import CPU_OPTION_STAGES, PREFER_CLOSEST_NUMA_NODES, TOPOLOGY_OPTION_STAGES, stage_of
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES


class KubeletOrder(NamedTuple):
    kind: ProposalKind
    text: str
    config: KubeletConfig
    option: str = ""
    """`+name` for an option that is added, `-name` for one that goes."""


class Kubelets(msgspec.Struct, frozen=True, dict=True):
    """Each order on a kubelet that starts with it and is given all the pods anew, once for all trials.

    `asked` are the pods that advice is for.
    """

    course: Course
    asked: frozenset[int]

    @cached_property
    def runs(self) -> tuple[tuple[KubeletOrder, Stage, Verdicts], ...]:
        """Without the orders with which the kubelet would not start."""
        course = self.course
        end = max([course.end, *(index + 1 for index in self.asked)])
        pods, shapes = course.pods[:end], course.shapes[:end]
        found = []
        for order in orders(course.stage):
            try:
                stage = restarted(course.stage, order.config)
            except KubeletError:
                continue
            run = verdicts(stage.node, stage.ledger, pods, stage.allocatable, shapes=shapes, asked=self.asked)
            found.append((order, stage, run))
        return tuple(found)


def kubelet_proposals(trial: Trial, kubelets: Kubelets) -> Iterator[Proposal]:
    """The orders that help the pod. One with which the kubelet would crash, at it or at a pod that is admitted now, is
    none."""
    for order, stage, run in kubelets.runs:
        decision = run.decisions.get(trial.index)
        if decision is None or (run.crash and run.end <= max(trial.course.end, trial.index + 1)):
            continue
        aligned = trial.good(decision, stage)
        if not aligned and (trial.decision.admitted or not decision.admitted):
            continue
        loses = trial.course.newly_rejected(run)
        yield Proposal(order.kind, order.text, (decision,), aligned=aligned, loses=loses, config=order.config)


def orders(stage: Stage) -> Iterator[KubeletOrder]:
    config = stage.config
    yield from scopes(config)
    yield from policies(config)
    yield from options(config, stage.node.settings)
    if stage.node.cpu.static:
        yield from _reserved_cpus(stage)
    if config.memory_manager_policy == "Static" and stage.node.memory is not None:
        yield from _reserved_memory(stage)
        text = "memoryManagerPolicy Static -> None (memory is no longer pinned)"
        yield KubeletOrder("policy", text, replace(config, memory_manager_policy="None", reserved_memory=()))


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
    reserved = stage.config.reserved_memory
    now = {item.numa_node: item.limits["memory"].value() for item in reserved if "memory" in item.limits}
    total = sum(now.values())
    nodes = [node.id for node in stage.node.machine.numa_nodes if node.memory]
    shares = [{node: total} for node in nodes]
    if nodes:
        equal = total // len(nodes)
        shares.append({node: equal + (total - equal * len(nodes) if node == nodes[0] else 0) for node in nodes})
    for share in shares:
        if share != now and total:
            config = replace(stage.config, reserved_memory=_with_memory(stage.config, share))
            yield KubeletOrder("reservation", f"reservedMemory {_share_text(now)} -> {_share_text(share)}", config)


def _with_memory(config: KubeletConfig, share: dict[int, int]) -> tuple[ReservedMemory, ...]:
    limits: dict[int, dict[str, Quantity]] = {}
    for item in config.reserved_memory:
        kept = {name: size for name, size in item.limits.items() if name != "memory"}
        if kept:
            limits.setdefault(item.numa_node, {}).update(kept)
    for node, size in share.items():
        if size:
            limits.setdefault(node, {})["memory"] = Quantity(size, 0, "BinarySI")
    return tuple(ReservedMemory(node, own) for node, own in sorted(limits.items()))


def _share_text(share: dict[int, int]) -> str:
    parts = [f"{Quantity(size, 0, 'BinarySI')}@{node}" for node, size in sorted(share.items()) if size]
    return "+".join(parts)
