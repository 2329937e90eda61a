"""Sources of a machine, who of them is believed first, and what they disagree about."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from numafit.machine.model import Machine

T = TypeVar("T")

FILE, SKETCH, CATALOGUE = "machine file", "sketch", "catalogue"
PODRESOURCES, CADVISOR, SYSFS = "podresources", "cadvisor", "sysfs"
HWLOC, LSCPU, NUMACTL, LSPCI = "hwloc", "lscpu", "numactl", "lspci"
NVML, NVIDIA_TOPO, NVIDIA_LIST = "nvml", "nvidia-topo", "nvidia-list"

KINDS = (
    *(FILE, SKETCH, CATALOGUE, PODRESOURCES, CADVISOR, SYSFS),
    *(HWLOC, LSCPU, NUMACTL, LSPCI, NVML, NVIDIA_TOPO, NVIDIA_LIST),
)
"""Who is believed first: what a person wrote down, then the nearer to what the kubelet itself reads."""

WRITTEN = (FILE, SKETCH, CATALOGUE)
OF_DRIVER = (NVML, NVIDIA_TOPO, NVIDIA_LIST)

_REASONS = {
    FILE: "it was written down as meant",
    SKETCH: "it was written down as meant",
    CATALOGUE: "it was chosen by name",
    PODRESOURCES: "the kubelet itself answered so",
    CADVISOR: "it is what the kubelet sees",
    SYSFS: "the kubelet reads it there",
}
_NAMED = (
    (NVIDIA_TOPO, r"topo"),
    (NVIDIA_LIST, r"nvidia-smi"),
    (NVML, r"nvml"),
    (HWLOC, r"lstopo|hwloc|\.xml"),
    (LSCPU, r"lscpu"),
    (NUMACTL, r"numactl"),
    (LSPCI, r"lspci"),
    (CADVISOR, r"cadvisor"),
    (PODRESOURCES, r"podresources"),
    (SKETCH, r"^sketch$"),
    (SYSFS, r"^sys$|\.tgz$|\.tar\.gz$|/$"),
)


class Source(msgspec.Struct, frozen=True):
    """A machine, and what told of it: a file name or the name of a tool."""

    name: str
    machine: Machine
    kind: str = ""
    """One of `KINDS`; empty: it is guessed from the name and the content."""


class Disagreement(msgspec.Struct, frozen=True):
    what: str
    """What they disagree about, such as `NUMA node of GPU0`."""
    values: tuple[tuple[str, str], ...]
    """(source, what it says), the one that is believed first."""
    taken: str
    why: str


def with_kind(source: Source) -> Source:
    """With a kind, by the last part of its name. Whoever tells of CPUs is not the driver; whoever tells only of devices
    and of the driver's NUMA nodes is."""
    if source.kind:
        return source
    name = source.name if source.name.endswith("/") else source.name.rsplit("/", 1)[-1]
    kinds = [kind for kind, sign in _NAMED if re.search(sign, name.lower())]
    if source.machine.cpus:
        kinds = [kind for kind in kinds if kind not in OF_DRIVER]
    elif any(device.driver_numa is not None for device in source.machine.devices):
        kinds.append(NVIDIA_TOPO)
    return msgspec.structs.replace(source, kind=kinds[0] if kinds else FILE)


def ranked(sources: Sequence[Source]) -> list[Source]:
    """The one to believe first comes first; equals stay in the order given."""
    return sorted(map(with_kind, sources), key=lambda source: KINDS.index(source.kind) if source.kind in KINDS else 0)


def reason(source: Source) -> str:
    return _REASONS.get(source.kind, f"of these, {source.kind} is nearest to what the kubelet reads")


def compared(
    what: str, said: Sequence[tuple[Source, T]], same: Callable[[T, T], bool], text: Callable[[T], str]
) -> list[Disagreement]:
    """Empty if all say the same as the first, which is the one that counts."""
    if all(same(said[0][1], value) for _, value in said[1:]):
        return []
    values = tuple((source.name, text(value)) for source, value in said)
    return [Disagreement(what, values, values[0][1], reason(said[0][0]))]
