"""A case without what is nobody else's business, so that it can be sent in a bug report.

Taken out is what may hold a secret or an address and decides nothing about CPUs, memory and devices. Names stay: those
of the node, of pods and their labels, of images and of environment variables.
"""

from collections import Counter
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.cluster.case.case import CLAIMS, KUBELET, NODE, PODS, PUBLISHED, TOPOLOGY, NodeCase
from numafit.cluster.claims.objects import CLAIM
from numafit.errors import InputError

# `Any` all over: objects of the API server as plain values, of which few fields are touched.

KEPT_ANNOTATIONS = frozenset(f"kubernetes.io/config.{name}" for name in ("hash", "mirror", "seen", "source"))
"""By these the kubelet knows pods of its own manifests."""
CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
PROBES = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
NODE_INFO = ("bootID", "machineID", "systemUUID")


def stripped(case: NodeCase) -> NodeCase:
    """Raises InputError for objects that no API server makes: what is not found in them could not be taken out."""
    removed: Counter[str] = Counter()
    files = dict(case.files)
    for name, part in (
        (NODE, _node),
        (TOPOLOGY, _node),
        (PUBLISHED, _metadata),
        (KUBELET, _kubelet),
        (PODS, _pods),
        (CLAIMS, _claims),
    ):
        if name in files:
            value, before = msgspec.json.decode(files[name]), removed.total()
            try:
                part(value, removed)
            except _OddShape as error:
                raise InputError(str(error), source=f"{name} of node {case.about.node}") from None
            # Places in the configuration stay those that the live node has, as long as nothing is taken out.
            if name != KUBELET or removed.total() > before:
                files[name] = _encoded(value)
    about = replace(case.about, removed=dict(sorted(removed.items())))
    return replace(case, about=about, files=files)


class _OddShape(ValueError):
    """A field that is no mapping or list where the API has one."""


def _encoded(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _node(node: Any, removed: Counter[str]) -> None:
    _metadata(node, removed)
    spec, status = _mapping(node, "spec"), _mapping(node, "status")
    _drop(spec, ("podCIDR", "podCIDRs", "providerID"), "addresses", removed)
    _drop(status, ("addresses",), "addresses", removed)
    _drop(status, ("images", "volumesAttached", "volumesInUse"), "lists of images and volumes", removed)
    _drop(_mapping(status, "nodeInfo"), NODE_INFO, "identities of the machine", removed)


def _kubelet(answer: Any, removed: Counter[str]) -> None:
    """Headers of the address that static pods come from are credentials; the kubelet tells them to whoever may ask."""
    config = _mapping(answer, "kubeletconfig")
    _drop(config, ("staticPodURL", "staticPodURLHeader"), "where static pods come from", removed)
    _drop(config, ("providerID",), "addresses", removed)


def _pods(pods: Any, removed: Counter[str]) -> None:
    for pod in _mappings(pods, "items"):
        _pod(pod, removed)


def _pod(pod: Any, removed: Counter[str]) -> None:
    _metadata(pod, removed)
    spec, status = _mapping(pod, "spec"), _mapping(pod, "status")
    for container in (each for part in CONTAINERS for each in _mappings(spec, part)):
        for variable in _mappings(container, "env"):
            _drop(variable, ("value",), "values of environment variables", removed)
            _drop(_mapping(variable, "valueFrom"), ("secretKeyRef",), "names of secrets", removed)
        _drop(container, ("envFrom",), "names of secrets", removed)
        _drop(container, ("command", "args"), "commands and their arguments", removed)
        _drop(container, PROBES, "probes and hooks", removed)
    _drop(spec, ("volumes",), "volumes", removed)
    _drop(spec, ("imagePullSecrets",), "names of secrets", removed)
    _drop(spec, ("hostAliases", "dnsConfig"), "addresses", removed)
    _drop(status, ("hostIP", "hostIPs", "podIP", "podIPs"), "addresses", removed)
    for entry in (each for part in STATUSES for each in _mappings(status, part)):
        _drop(entry, ("lastState",), "messages of containers", removed)
        state = _mapping(entry, "state")
        for name in state:
            _drop(_mapping(state, name), ("message",), "messages of containers", removed)


def _claims(objects: Any, removed: Counter[str]) -> None:
    """What a driver is told is its own business, and so is what it tells of a device that it prepared."""
    for item in _mappings(objects, "items"):
        _metadata(item, removed)
        status = _mapping(item, "status")
        if item.get("kind") == CLAIM:
            for part in (_mapping(item, "spec"), _mapping(status, "allocation")):
                _drop(_mapping(part, "devices"), ("config",), "configuration of drivers", removed)
            _drop(status, ("devices",), "what drivers tell of devices", removed)


def _metadata(item: Any, removed: Counter[str]) -> None:
    metadata = _mapping(item, "metadata")
    _drop(metadata, ("managedFields",), "managed fields", removed)
    annotations = _mapping(metadata, "annotations")
    _drop(annotations, tuple(annotations.keys() - KEPT_ANNOTATIONS), "annotations", removed)


def _mapping(value: Any, name: str) -> Any:
    """Of the value itself, so that what is dropped there is gone; empty where it is not there."""
    found = value.get(name)
    if not isinstance(found, dict | None):
        raise _OddShape(f"{name} is no mapping")
    return found or {}


def _mappings(value: Any, name: str) -> list[Any]:
    found = value.get(name)
    if not isinstance(found, list | None) or not all(isinstance(each, dict) for each in found or ()):
        raise _OddShape(f"{name} is no list of mappings")
    return found or []


def _drop(value: Any, names: tuple[str, ...], what: str, removed: Counter[str]) -> None:
    for name in names:
        if value.pop(name, None):
            removed[what] += 1
