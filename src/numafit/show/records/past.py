"""What jobs and NUMA nodes of this host did over time, as lines: a value for each audit; null where there is none."""

from collections.abc import Mapping

import msgspec


class JobPast(msgspec.Struct, frozen=True):
    name: str
    lease: str
    """Its id; empty for what has none."""
    cpus: tuple[float | None, ...]
    """CPUs' worth of time that it used."""
    waiting: tuple[float | None, ...]
    """Threads, on average, that wanted to run and had no CPU."""
    switches: tuple[float | None, ...]
    forced: tuple[float | None, ...]
    """Context switches per second: those that a thread asked for, and those that it did not."""
    memory: Mapping[int, tuple[int | None, ...]]
    """NUMA node -> bytes."""


class NodePast(msgspec.Struct, frozen=True):
    """Allocations per second."""

    node: int
    remote: tuple[float | None, ...]
    """Got on this node by who ran on another."""
    missed: tuple[float | None, ...]
    """Wanted on this node, and got on another."""


class PastAnswer(msgspec.Struct, frozen=True):
    times: tuple[str, ...]
    """Of the audits, oldest first."""
    jobs: tuple[JobPast, ...]
    """Those that are there now."""
    nodes: tuple[NodePast, ...]
