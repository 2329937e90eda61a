"""Sources of a machine, who of them is believed first, and what they disagree about."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from numafit.machine.model import Machine

T = TypeVar("T")

FILE, SKETCH, CATALOGUE = "machine file", "sketch", "catalogue"
PODRESOURCES, CADVISOR, SYSFS = "podresources", "cadvisor", "sysfs"
HWLOC, LSCPU, NUMACTL, LSPCI = "hwloc", "lscpu", "numactl", "lspci"
NRT = "NodeResourceTopology"
NVML, NVIDIA_TOPO, NVIDIA_LIST = "nvml", "nvidia-topo", "nvidia-list"

KINDS = (
    *(FILE, SKETCH, CATALOGUE, PODRESOURCES, CADVISOR, SYSFS),
    *(HWLOC, LSCPU, NUMACTL, NRT, LSPCI, NVML, NVIDIA_TOPO, NVIDIA_LIST),
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


class Source(msgspec.Struct, frozen=True):
    """A machine, and what told of it: a file name or the name of a tool."""

    name: str
    machine: Machine
    kind: str
    """One of `KINDS`."""


class Disagreement(msgspec.Struct, frozen=True):
    what: str
    """What they disagree about, such as `NUMA node of GPU0`."""
    values: tuple[tuple[str, str], ...]
    """(source, what it says), the one that is believed first."""
    taken: str
    why: str


def ranked(sources: Sequence[Source]) -> list[Source]:
    """The one to believe first comes first; equals stay in the order given."""
    return sorted(sources, key=lambda source: KINDS.index(source.kind))


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
