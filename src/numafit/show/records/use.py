"""How busy the machine that is shown really is, beside what is claimed of it: now, and in the last minutes as lines."""

from collections.abc import Mapping

import msgspec

Line = tuple[float | None, ...]
ByteLine = tuple[int | None, ...]
"""A value for each of `times`; null where there is none."""


class HugepagesUsed(msgspec.Struct, frozen=True):
    """Bytes set aside for pages of one size, and those of them that nobody uses."""

    total: int
    free: int
    used: ByteLine
    """Over time; null where there were no such pages."""


class NodeUse(msgspec.Struct, frozen=True):
    """One NUMA node. Its bytes are `used` by programs and the kernel, `cache`, `free` (unused, claimed or not) and
    `hugepages`, by the size of a page."""

    node: int
    cpus: Line
    """CPUs' worth of time that was used on it."""
    memory: ByteLine
    """Bytes used, over time."""
    cached: ByteLine
    """Of the page cache, over time."""
    unused: ByteLine
    total: int
    used: int
    cache: int
    free: int
    hugepages: Mapping[str, HugepagesUsed]


class DeviceUse(msgspec.Struct, frozen=True):
    device: str
    """Its id."""
    busy: Line
    """Part of the time in which something ran on it, 0 to 1."""
    memory: ByteLine
    """Bytes of its own memory in use."""
    total: int | None
    """All of them; null: the driver does not tell."""


class UseAnswer(msgspec.Struct, frozen=True):
    known: bool
    why: str
    """Why nothing is known; empty where it is."""
    seconds: float
    """Between two points; 0: there will be none."""
    times: tuple[str, ...]
    """Of the points, oldest first."""
    cpus: Mapping[int, float]
    """CPU -> part of the time between the last two points in which it ran something, 0 to 1."""
    nodes: tuple[NodeUse, ...]
    devices: tuple[DeviceUse, ...]
