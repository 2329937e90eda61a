"""What is wanted: a pod as the kubelet sees it, after the API server's defaulting."""

from collections.abc import Mapping

import msgspec

from numafit.quantity import Quantity

Resources = Mapping[str, Quantity]


class Container(msgspec.Struct, frozen=True):
    name: str
    requests: Resources = {}
    limits: Resources = {}
    restartable: bool = False
    """An init container with restartPolicy Always: a sidecar."""
    allocated: Resources | None = None
    """`allocatedResources` of the container's status, when there is a status."""


class PodResources(msgspec.Struct, frozen=True):
    """Pod-level resources (`spec.resources`)."""

    requests: Resources = {}
    limits: Resources = {}


class Pod(msgspec.Struct, frozen=True):
    uid: str
    name: str
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    namespace: str = "default"
    resources: PodResources | None = None
    overhead: Resources = {}
    status_qos: str = ""

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """Init containers in order, then app containers: the order of admission."""
        return self.init_containers + self.containers
