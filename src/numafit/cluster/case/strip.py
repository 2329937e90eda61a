"""A case without what is nobody else's business, so that it can be sent in a bug report.

Taken out is what may hold a secret or an address and decides nothing about CPUs, memory and devices. Names stay: those
of the node, of pods and their labels, of images and of environment variables.
"""

from collections import Counter
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.cluster.case.case import NODE, PODS, TOPOLOGY, NodeCase

# `Any` all over: objects of the API server as plain values, of which few fields are touched.

KEPT_ANNOTATIONS = frozenset(f"kubernetes.io/config.{name}" for name in ("hash", "mirror", "seen", "source"))
"""By these the kubelet knows pods of its own manifests."""
CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
PROBES = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
NODE_INFO = ("bootID", "machineID", "systemUUID")


def stripped(case: NodeCase) -> NodeCase:
    removed: Counter[str] = Counter()
    files = dict(case.files)
    for name in (NODE, TOPOLOGY):
        if name in files:
            files[name] = _encoded(_node(msgspec.json.decode(files[name]), removed))
    if PODS in files:
        pods = msgspec.json.decode(files[PODS])
        pods["items"] = [_pod(item, removed) for item in pods["items"]]
        files[PODS] = _encoded(pods)
    about = replace(case.about, removed=dict(sorted(removed.items())))
    return replace(case, about=about, files=files)


def _encoded(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _node(node: Any, removed: Counter[str]) -> Any:
    _metadata(node, removed)
    spec, status = node.get("spec") or {}, node.get("status") or {}
    _drop(spec, ("podCIDR", "podCIDRs", "providerID"), "addresses", removed)
    _drop(status, ("addresses",), "addresses", removed)
    _drop(status, ("images", "volumesAttached", "volumesInUse"), "lists of images and volumes", removed)
    _drop(status.get("nodeInfo") or {}, NODE_INFO, "identities of the machine", removed)
    return node


def _pod(pod: Any, removed: Counter[str]) -> Any:
    _metadata(pod, removed)
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    for container in (each for part in CONTAINERS for each in spec.get(part) or ()):
        for variable in container.get("env") or ():
            _drop(variable, ("value",), "values of environment variables", removed)
        _drop(container, ("command", "args"), "commands and their arguments", removed)
        _drop(container, PROBES, "probes and hooks", removed)
    _drop(spec, ("volumes",), "volumes", removed)
    _drop(spec, ("imagePullSecrets",), "names of secrets", removed)
    _drop(spec, ("hostAliases", "dnsConfig"), "addresses", removed)
    _drop(status, ("hostIP", "hostIPs", "podIP", "podIPs"), "addresses", removed)
    for entry in (each for part in STATUSES for each in status.get(part) or ()):
        _drop(entry, ("lastState",), "messages of containers", removed)
        for state in (entry.get("state") or {}).values():
            _drop(state or {}, ("message",), "messages of containers", removed)
    return pod


def _metadata(item: Any, removed: Counter[str]) -> None:
    metadata = item.get("metadata") or {}
    _drop(metadata, ("managedFields",), "managed fields", removed)
    annotations = metadata.get("annotations") or {}
    _drop(annotations, tuple(annotations.keys() - KEPT_ANNOTATIONS), "annotations", removed)


def _drop(value: Any, names: tuple[str, ...], what: str, removed: Counter[str]) -> None:
    for name in names:
        if value.pop(name, None):
            removed[what] += 1
