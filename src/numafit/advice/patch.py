"""A proposal as a patch: of the pod's manifest (strategic merge) or of the kubelet's configuration (merge)."""

from collections.abc import Mapping

from numafit.advice.proposal import Proposal
from numafit.settings.config import KubeletConfig, fields_of
from numafit.settings.decode import API_VERSION, KIND
from numafit.workload.fields import TEMPLATES
from numafit.workload.pod import Container, Pod, PodResources, Resources

NUMBERS = {
    "Deployment": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "StatefulSet": "replicas",
    "Job": "parallelism",
}
"""The field that says how many pods an object of this kind makes."""


def patch_of(proposal: Proposal, pod: Pod, config: KubeletConfig, kind: str = "Pod") -> dict[str, object] | None:
    """None for what is no change of a file: a pod that goes, or several pods instead of one.

    `kind` is that of the object that makes the pod.
    """
    if proposal.config is not None:
        changes = _difference(fields_of(config), fields_of(proposal.config))
        return {"apiVersion": API_VERSION, "kind": KIND, **changes}
    if proposal.replicas is not None:
        return {"spec": {NUMBERS[kind]: proposal.replicas}} if kind in NUMBERS else None
    if len(proposal.pods) != 1:
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
    if old.resources is not None and new.resources is not None and _resources(old.resources, new.resources):
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
