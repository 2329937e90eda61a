"""A proposal: one change, what the engine decides after it, how much it disturbs, and its patch.

A patch is one of the pod's manifest (strategic merge) or of the kubelet's configuration (merge).
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.decision.decision import Decision
from numafit.settings.config import KubeletConfig, fields_of
from numafit.settings.read.decoder import API_VERSION, KIND
from numafit.workload.fields import TEMPLATES
from numafit.workload.pod import Container, Pod, PodResources, Resources

ProposalKind = Literal[
    "whole-cpus",
    "guaranteed",
    "pod-level",
    "more",
    "fewer",
    "move",
    "replicas",
    "split",
    "remove",
    "option",
    "scope",
    "policy",
    "reservation",
]

DISTURBANCE: dict[ProposalKind, int] = {
    "whole-cpus": 0,
    "guaranteed": 0,
    "pod-level": 0,
    "more": 1,
    "fewer": 2,
    "move": 3,
    "replicas": 4,
    "split": 4,
    "scope": 5,
    "option": 5,
    "reservation": 6,
    "policy": 7,
    "remove": 8,
}
"""Least first: the pod's own numbers, then a neighbour that comes back, then the kubelet of the whole node, then a
neighbour that goes."""

HARD_LOSS = 0.5
"""A pod that loses more than this share of something is not the same pod any more: that comes after all else."""


class Proposal(msgspec.Struct, frozen=True):
    kind: ProposalKind
    text: str
    """The change as before -> after."""
    decisions: tuple[Decision, ...]
    """What the engine says about the pod after the change, or about the pods it was split into."""
    aligned: bool = True
    loss: float = 0.0
    """The largest share of a resource that the pod gives up; for other pods, how many CPUs they lose."""
    loses: tuple[str, ...] = ()
    """Pods that are admitted without the change, and rejected with it."""
    pods: tuple[Pod, ...] = ()
    """The pod as it becomes, or the pods it is split into."""
    config: KubeletConfig | None = None
    removed: tuple[Pod, ...] = ()
    replicas: int | None = None
    """How many pods the object shall make."""

    @property
    def order(self) -> tuple[bool, bool, int, int, float, str]:
        """Sorts the least disturbing proposal first; equals by their text."""
        hard = self.kind == "fewer" and self.loss > HARD_LOSS
        return (not self.aligned, hard, len(self.loses), DISTURBANCE[self.kind], self.loss, self.text)


NUMBERS = {
    "Deployment": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "StatefulSet": "replicas",
    "Job": "parallelism",
}
"""The field that says how many pods an object of this kind makes."""


def patch_of(proposal: Proposal, pod: Pod, config: KubeletConfig, kind: str = "Pod") -> dict[str, object] | None:
    """None for what is no change of a file (a pod that goes, or several pods instead of one), or of a foreign kind.

    `kind` is that of the object that makes the pod.
    """
    if proposal.config is not None:
        changes = _difference(fields_of(config), fields_of(proposal.config))
        return {"apiVersion": API_VERSION, "kind": KIND, **changes}
    if proposal.replicas is not None:
        return {"spec": {NUMBERS[kind]: proposal.replicas}} if kind in NUMBERS else None
    if len(proposal.pods) != 1 or kind not in TEMPLATES:
        return None
    patch: dict[str, object] = {"spec": _spec(pod, proposal.pods[0])}
    for step in reversed(TEMPLATES[kind]):
        patch = {step: patch}
    return patch


def _spec(old: Pod, new: Pod) -> dict[str, object]:
    spec: dict[str, object] = {}
    for field, before, after in (
        ("initContainers", old.init_containers, new.init_containers),
        ("containers", old.containers, new.containers),
    ):
        changed = []
        for was, becomes in zip(before, after, strict=True):
            resources = _resources(was, becomes)
            if resources:
                changed.append({"name": was.name, "resources": resources})
        if changed:
            spec[field] = changed
    if old.resources is not None and new.resources is None:
        spec["resources"] = None
    elif old.resources is not None and new.resources is not None and _resources(old.resources, new.resources):
        spec["resources"] = _resources(old.resources, new.resources)
    return spec


def _resources(old: Container | PodResources, new: Container | PodResources) -> dict[str, object]:
    parts = {"requests": _amounts(old.requests, new.requests), "limits": _amounts(old.limits, new.limits)}
    return {name: amounts for name, amounts in parts.items() if amounts}


def _amounts(old: Resources, new: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in new.items() if old.get(name) != amount}


def _difference(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, object]:
    """A merge patch: what is gone becomes null."""
    changes: dict[str, object] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if value == before:
            continue
        both = isinstance(value, dict) and isinstance(before, dict)
        changes[name] = _difference(before, value) if both else value  # type: ignore[arg-type]
    return changes
