"""A block of memory that somebody holds."""

import msgspec


class Block(msgspec.Struct, frozen=True):
    numa: tuple[int, ...]
    """The NUMA nodes that it lies on together."""
    type: str
    """`memory`, `hugepages-2Mi`, …"""
    size: int
