"""One kubelet as its files describe it: a configuration, flags, or both; and where each of its settings stands."""

import re

from numafit.advice.lint.findings import Position
from numafit.advice.lint.pages import DocumentPart, FlagFile
from numafit.settings.read.arguments import Argument

FLAG_OF = {
    "cpuManagerPolicy": "cpu-manager-policy",
    "cpuManagerPolicyOptions": "cpu-manager-policy-options",
    "memoryManagerPolicy": "memory-manager-policy",
    "reservedMemory": "reserved-memory",
    "topologyManagerPolicy": "topology-manager-policy",
    "topologyManagerScope": "topology-manager-scope",
    "topologyManagerPolicyOptions": "topology-manager-policy-options",
    "kubeReserved": "kube-reserved",
    "systemReserved": "system-reserved",
    "reservedSystemCPUs": "reserved-cpus",
    "kubeReservedCgroup": "kube-reserved-cgroup",
    "systemReservedCgroup": "system-reserved-cgroup",
    "enforceNodeAllocatable": "enforce-node-allocatable",
    "cgroupsPerQOS": "cgroups-per-qos",
    "evictionHard": "eviction-hard",
    "qosReserved": "qos-reserved",
    "maxPods": "max-pods",
    "podsPerCore": "pods-per-core",
    "featureGates": "feature-gates",
}
"""Field of a KubeletConfiguration -> the flag that overrides it."""


class KubeletText:
    """`part` or `flags` is there, or both."""

    def __init__(self, part: DocumentPart | None, flags: FlagFile | None) -> None:
        self.part = part
        self.flags = flags

    @property
    def source(self) -> str:
        """The name under which the kubelet's errors know its configuration."""
        if self.part is not None:
            return self.part.document.source
        return self.flags.source if self.flags is not None else ""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return self.flags.arguments if self.flags is not None else ()

    def value(self, field: str) -> object:
        """What the file says; None without a file."""
        return None if self.part is None else self.part.value.get(field)

    def place(self, *path: str | int, key: bool = False) -> Position:
        """Of a flag, if one sets the field; else in the file, or its beginning where the field is not there."""
        if path and isinstance(path[0], str):
            flag = self.flag_place(FLAG_OF.get(path[0], ""))
            if flag is not None:
                return flag
        if self.part is not None:
            found = self.part.value
            if path and path[0] not in found:
                return self.part.place()
            return self.part.place(tuple(path), key=key)
        return Position(self.source)

    def sets(self, field: str) -> bool:
        return self.flag_place(FLAG_OF.get(field, "")) is not None or self.value(field) is not None

    def flag_place(self, name: str) -> Position | None:
        """The last occurrence, which is the one that counts."""
        if not name or self.flags is None:
            return None
        found: Position | None = None
        for argument in self.arguments:
            if argument.text.partition("=")[0].replace("_", "-") == f"--{name}":
                found = argument_place(self.flags, argument)
        return found


def argument_place(flags: FlagFile, argument: Argument) -> Position:
    """The column is that of the flag's name in its line, as far as it can be found there."""
    line = argument.line or 1
    rows = flags.text.split("\n")
    row = rows[line - 1] if line <= len(rows) else ""
    name = argument.text.partition("=")[0]
    match = re.search(re.escape(name) + r"(?![\w-])", row)
    return Position(flags.source, line, match.start() + 1 if match else 1)
