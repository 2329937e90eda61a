"""A proposal applied: the file as it becomes, and the patch for those who change the file elsewhere."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml


class PatchAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pods: str | None
    """The manifests as they become; null: the patch is of the kubelet."""
    kubelet: str | None
    """The configuration as it becomes; null: the patch is of a manifest."""
    yaml: str
    """The patch as YAML."""
    kubectl: str
    """The patch as a command; empty for a kubelet, whose configuration kubectl does not reach."""


def manifest_patch(pods: str, kind: str, namespace: str, name: str, patch: Mapping[str, Any]) -> PatchAnswer:
    return PatchAnswer(pods, None, patch_yaml(patch), kubectl_patch(kind, namespace, name, patch))


def kubelet_patch(kubelet: str, patch: Mapping[str, Any]) -> PatchAnswer:
    return PatchAnswer(None, kubelet, patch_yaml(patch), "")


def patch_yaml(patch: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(patch), sort_keys=False, width=1000)


def kubectl_patch(kind: str, namespace: str, name: str, patch: Mapping[str, Any]) -> str:
    """What a pod asks for cannot be patched in place: it is made anew."""
    quoted = shlex.quote(json.dumps(dict(patch)))
    if kind != "Pod":
        return f"kubectl patch {kind.lower()} {name} --namespace {namespace} --type strategic --patch {quoted}"
    get = f"kubectl get pod {name} --namespace {namespace} --output yaml"
    local = f"kubectl patch --local --filename - --type strategic --patch {quoted} --output yaml"
    return f"{get} | {local} | kubectl replace --force --filename -"
