"""What a pod wants of its node beside amounts: labels, taints that it tolerates, ports of the host, a system.

The kubelet looks at these once more, after the scheduler has. Preferences and what concerns other pods it leaves to the
scheduler.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from numafit.workload.values import ObjectPart

OS_LABEL = "kubernetes.io/os"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODE_PROBLEMS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints that each pod of the API server tolerates for a while, unless it says something of its own on them."""


class LabelRule(NamedTuple):
    """An expression of a node selector term."""

    key: str
    operator: str
    values: tuple[str, ...]


class AffinityTerm(NamedTuple):
    """All rules of a term hold together."""

    labels: tuple[LabelRule, ...] = ()
    fields: tuple[LabelRule, ...] = ()


class Toleration(NamedTuple):
    key: str = ""
    operator: str = ""
    """Equal if empty."""
    value: str = ""
    effect: str = ""
    """Each one if empty."""


class HostPort(NamedTuple):
    port: int
    protocol: str = "TCP"
    ip: str = ""
    """All addresses if empty."""
    sidecar: bool = False


class Demands(msgspec.Struct, frozen=True):
    selector: tuple[tuple[str, str], ...] = ()
    """Labels that the node must have."""
    affinity: tuple[AffinityTerm, ...] | None = None
    """One of them must hold; None where none is required."""
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    """Of the app containers and the sidecars."""
    os: str = ""
    """`spec.os`."""
    os_label: str | None = None
    """The label of the pod that names a system."""
    strict_groups: bool = False
    """supplementalGroupsPolicy is Strict."""


NO_DEMANDS = Demands()

_FIELDS = frozenset(("affinity", "nodeSelector", "os", "securityContext", "tolerations"))


def read_demands(template: ObjectPart, spec: ObjectPart) -> Demands:
    """`template` has the metadata of the pod. Of a pod without any demand it is always the same value."""
    value = spec.value
    label = _os_label(template)
    ports = tuple(_host_ports(spec))
    if label is None and not ports and not value.keys() & _FIELDS:
        return NO_DEMANDS
    selector = spec.part("nodeSelector")
    found = Demands(
        tuple((name, selector.text(name)) for name in selector.value),
        _affinity(spec),
        tuple(
            Toleration(part.text("key"), part.text("operator"), part.text("value"), part.text("effect"))
            for part in spec.parts("tolerations")
        ),
        ports,
        spec.part("os").text("name"),
        label,
        spec.part("securityContext").value.get("supplementalGroupsPolicy") == "Strict",
    )
    return NO_DEMANDS if found == NO_DEMANDS else found


def _os_label(template: ObjectPart) -> str | None:
    metadata = template.value.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("labels"):
        return None
    labels = template.part("metadata", "labels")
    return labels.text(OS_LABEL) if OS_LABEL in labels.value else None


def _affinity(spec: ObjectPart) -> tuple[AffinityTerm, ...] | None:
    if not spec.value.get("affinity"):
        return None
    node = spec.part("affinity", "nodeAffinity")
    if node.value.get(REQUIRED) is None:
        return None
    return tuple(
        AffinityTerm(_rules(term, "matchExpressions"), _rules(term, "matchFields"))
        for term in node.part(REQUIRED).parts("nodeSelectorTerms")
    )


def _rules(term: ObjectPart, name: str) -> tuple[LabelRule, ...]:
    return tuple(LabelRule(part.text("key"), part.text("operator"), part.texts("values")) for part in term.parts(name))


def _host_ports(spec: ObjectPart) -> Iterator[HostPort]:
    """In the network of the host each port of a container is one of the host: the API server fills that in."""
    host = spec.value.get("hostNetwork") is True
    for name in ("initContainers", "containers"):
        containers = spec.value.get(name)
        if not isinstance(containers, list) or not any(
            isinstance(one, dict) and one.get("ports") for one in containers
        ):
            continue
        for part in spec.parts(name):
            sidecar = name == "initContainers"
            if sidecar and part.value.get("restartPolicy") != "Always":
                continue
            for port in part.parts("ports"):
                number = port.whole("hostPort") or (port.whole("containerPort") if host else None)
                if number:
                    yield HostPort(number, port.text("protocol") or "TCP", port.text("hostIP"), sidecar)
