"""Pods in the short form of the kubelet recordings, where the API server's defaulting has been done."""

from collections.abc import Mapping

import msgspec

from numafit.quantity import parse_quantity
from numafit.workload.pod import Container, Pod, PodResources, Resources


class RecordedResources(msgspec.Struct, frozen=True):
    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None


class RecordedContainer(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None
    restart_policy: str = ""


class RecordedPod(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    name: str
    containers: list[RecordedContainer]
    init_containers: list[RecordedContainer] | None = None
    namespace: str = "default"
    resources: RecordedResources | None = None
    overhead: dict[str, str] | None = None


def pod_from_recording(recorded: Mapping[str, object]) -> Pod:
    return pod_of(msgspec.convert(recorded, RecordedPod))


def pod_of(pod: RecordedPod) -> Pod:
    resources = pod.resources
    return Pod(
        uid=pod.uid,
        name=pod.name,
        namespace=pod.namespace,
        containers=tuple(_container(container) for container in pod.containers),
        init_containers=tuple(_container(container) for container in pod.init_containers or ()),
        resources=None if resources is None else PodResources(_amounts(resources.requests), _amounts(resources.limits)),
        overhead=_amounts(pod.overhead),
    )


def _container(recorded: RecordedContainer) -> Container:
    return Container(
        name=recorded.name,
        requests=_amounts(recorded.requests),
        limits=_amounts(recorded.limits),
        restartable=recorded.restart_policy == "Always",
    )


def _amounts(recorded: dict[str, str] | None) -> Resources:
    return {name: parse_quantity(text) for name, text in (recorded or {}).items()}
