"""From the spec of a pod to the engine's pod. Most pods of a cluster are copies of few templates, so what is made of a
spec is made once and shared."""

from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.document import Document
from numafit.errors import InputError
from numafit.workload.kinds import Template
from numafit.workload.manifest import read_workload
from numafit.workload.pod import Pod
from numafit.workload.served import Life
from numafit.workload.values import ObjectPart

MOST_SHAPES = 20_000
"""Remembered at once."""
MOST_CONTAINERS, MOST_RULES = 100, 500
"""Of a pod that is decided about: a kubelet decides each container after the other, and rules are looked at for each
node. Whoever makes a pod may write as many as an object holds."""
OS_LABEL = "kubernetes.io/os"


class DecidingContainer(msgspec.Struct, omit_defaults=True):
    """`Any`: handed on to the readers of manifests, which look at it."""

    name: str
    resources: Any = None
    restartPolicy: str | None = None
    ports: Any = None


class DecidingSpec(msgspec.Struct, omit_defaults=True):
    """What of a spec decides for a kubelet, and no more. `Any`: as above."""

    containers: list[DecidingContainer]
    initContainers: list[DecidingContainer] | None = None
    hostNetwork: bool = False
    resources: Any = None
    overhead: Any = None
    priority: int | None = None
    tolerations: Any = None
    nodeSelector: Any = None
    affinity: Any = None
    os: Any = None
    securityContext: Any = None


def engine_pod(spec: msgspec.Struct, system: str | None, source: str) -> Pod:
    """Of a pod that an API server let in; it has no name yet. `system`: its label of that kind. Raises InputError for
    what no API server would have let in."""
    metadata: dict[str, Any] = {"name": "x"}
    if system is not None:
        metadata["labels"] = {OS_LABEL: system}
    value: dict[str, Any] = {"metadata": metadata, "spec": msgspec.to_builtins(spec)}
    # Places are of no use to anybody here.
    part = ObjectPart(Document(value, source), value)
    return replace(read_workload(part, "Pod", Template(part), life=Life(served=True)).pod, unread=())


def is_too_large(pod: Pod) -> bool:
    """To be decided for a whole cluster while others wait."""
    demands = pod.demands
    rules = len(demands.selector) + len(demands.tolerations) + len(demands.ports)
    for term in demands.affinity or ():
        rules += 1 + sum(1 + len(rule.values) for rule in (*term.labels, *term.fields))
    return rules > MOST_RULES or len(pod.containers) + len(pod.init_containers) > MOST_CONTAINERS


class PodShapes:
    """For many pods one after the other."""

    def __init__(self) -> None:
        self._known: dict[bytes, Pod] = {}

    def pod(self, spec: msgspec.Raw | bytes, name: str, namespace: str, uid: str, system: str | None = None) -> Pod:
        """Raises InputError for a pod that no API server would have let in."""
        source = f"pod {namespace}/{name}"
        try:
            deciding = msgspec.json.decode(spec, type=DecidingSpec)
        except msgspec.MsgspecError as error:
            raise InputError(f"cannot be read: {error}", source=source) from None
        key = msgspec.json.encode((deciding, system))
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) >= MOST_SHAPES:
                self._known.clear()
            shape = self._known[key] = engine_pod(deciding, system, source)
        return replace(shape, uid=uid, name=name, namespace=namespace)
