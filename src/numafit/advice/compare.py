"""The same pods under two kubelets: which decisions come out differently, and what differs between the two."""

from collections.abc import Sequence

import msgspec

from numafit.advice.facts import facts_of
from numafit.advice.rules import RuleChange, explained, rule_changes
from numafit.advice.stage import Stage
from numafit.decision.decision import Decision
from numafit.settings.config import fields_of
from numafit.workload.pod import Pod

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
    """One pod under both. None: the kubelet had crashed before."""

    pod: Pod
    was: Decision | None
    becomes: Decision | None
    differences: tuple[Difference, ...]


class Comparison(msgspec.Struct, frozen=True):
    pairs: tuple[Pair, ...]
    settings: tuple[Difference, ...]
    rules: tuple[RuleChange, ...]
    """Those that explain a changed decision first."""

    @property
    def changed(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.differences)


def compare(old: Stage, new: Stage, pods: Sequence[Pod], new_pods: Sequence[Pod] | None = None) -> Comparison:
    """`new_pods` are the same pods as the second release sees them, when that differs."""
    new_pods = pods if new_pods is None else new_pods
    before = {step.decision.pod.uid: step.decision for step in old.play(pods).steps}
    after = {step.decision.pod.uid: step.decision for step in new.play(new_pods).steps}
    pairs = []
    for pod in pods:
        was, becomes = before.get(pod.uid), after.get(pod.uid)
        pairs.append(Pair(pod, was, becomes, _differences(was, becomes)))
    versions = old.node.settings.version, new.node.settings.version
    rules = rule_changes(*versions)
    changed = {pair.pod.uid: pair.was for pair in pairs if pair.differences and pair.was is not None}
    if changed and rules:
        told = explained(new, new_pods, changed, rules, versions[0])
        rules = tuple(sorted(told, key=lambda rule: not rule.explains))
    return Comparison(tuple(pairs), settings_differences(old, new), rules)


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
