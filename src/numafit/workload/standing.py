"""What a pod counts beside others: its priority, and whether the kubelet has it from a file of its own.

The API server makes a priority of the name of a class. The kubelet does not: of a static pod it knows the number only.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from numafit.workload.pod import CRITICAL, Unread
from numafit.workload.served import MIRROR
from numafit.workload.values import ObjectPart

SYSTEM_CLASSES = {"system-cluster-critical": CRITICAL, "system-node-critical": CRITICAL + 1000}
"""Those that each cluster has."""

SOURCE = "kubernetes.io/config.source"
API = "api"
_UID_OF_A_MANIFEST = re.compile("[0-9a-f]{32}")
"""A kubelet makes the UID of a static pod from its manifest; those of the API server have hyphens (all releases)."""


class PriorityClasses(NamedTuple):
    """Those of the files at hand, beside those of the system."""

    values: Mapping[str, int] = {}
    default: int | None = None
    """Of the class with globalDefault; of several the lowest."""


NO_CLASSES = PriorityClasses()


def read_classes(parts: list[ObjectPart]) -> PriorityClasses:
    values: dict[str, int] = {}
    defaults: list[int] = []
    for part in parts:
        value = part.whole("value")
        if value is None:
            value = 0
        values[part.part("metadata").text("name")] = value
        if part.value.get("globalDefault") is True:
            defaults.append(value)
    return PriorityClasses(values, min(defaults, default=None))


def is_static(metadata: ObjectPart) -> bool:
    """By the annotations that the kubelet gives to its pods: a static pod, or the mirror of one; else by the UID."""
    annotations = metadata.part("annotations") if metadata.value.get("annotations") else None
    if annotations is not None and MIRROR in annotations.value:
        return True
    source = annotations.text(SOURCE) if annotations is not None else ""
    return source != API if source else _UID_OF_A_MANIFEST.fullmatch(metadata.text("uid")) is not None


def priority_of(spec: ObjectPart, classes: PriorityClasses, *, static: bool) -> int | None:
    """None where nobody tells, which stands for 0 in a pod without a class."""
    if spec.value.get("priority") is not None:
        return spec.whole("priority")
    if static:
        return None
    name = spec.text("priorityClassName")
    if not name:
        return classes.default
    return SYSTEM_CLASSES.get(name, classes.values.get(name))


def unknown_class(spec: ObjectPart, priority: int | None, *, static: bool) -> Unread | None:
    """No class but those of the system makes a pod critical: the API server keeps others below."""
    name = spec.text("priorityClassName")
    if not name or static or priority is not None:
        return None
    text = f"its priority is not known (give the PriorityClass {name} with the pods), but it is not critical"
    return Unread("priority-unknown", text)
