"""What of a machine's memory and GPUs is really in use, whoever claimed it: numbers of one moment."""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

_LINE = r"(?m)^(?:Node \d+ )?(MemFree|Active\(file\)|Inactive\(file\)|SReclaimable): *(\d{1,18}) kB"


class MemoryUsage(msgspec.Struct, frozen=True):
    free: int
    """Bytes that nobody uses; huge pages that are set aside are not among them."""
    cache: int = 0
    """Bytes of files and of the kernel that it gives up when somebody needs them. It takes memory of another node
    first, unless a job is bound."""

    @property
    def available(self) -> int:
        return self.free + self.cache


class Usage(msgspec.Struct, frozen=True):
    nodes: Mapping[int, MemoryUsage]
    gpus: Mapping[str, int] = {}
    """Device -> bytes of its memory that programs use."""
    unseen: tuple[str, ...] = ()
    """What was not looked at, and why, as sentences."""


def read_nodes(nodes: Iterable[int], text_of: Callable[[str], str | None]) -> dict[int, MemoryUsage]:
    """`text_of` gives a file below the root, or None. The only node of a machine is described by /proc/meminfo: what is
    told of the node itself may be a part of it."""
    ids = list(nodes)
    found = {}
    for node in ids:
        path = "proc/meminfo" if len(ids) == 1 else f"sys/devices/system/node/node{node}/meminfo"
        amounts = {name: int(kib) << 10 for name, kib in re.findall(_LINE, text_of(path) or "")}
        if "MemFree" in amounts:
            free = amounts.pop("MemFree")
            found[node] = MemoryUsage(free, sum(amounts.values()))
    return found
