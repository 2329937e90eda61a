"""Memory on a chosen NUMA node: asked for by mbind, touched, and looked up page by page.

The policy is that the node is preferred: one that binds would let the kernel kill a process when the node is full.
The proof does not depend on it. Where mbind is refused, as in containers, the first touch by a CPU of the node does the
same, and is proved in the same way.

A huge page that the node has no room for comes from another node, although the node has room for many small ones. What
lies elsewhere is therefore given back once, and taken again in small pages.
"""

import ctypes
import mmap
import os
from collections import Counter
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from numafit.host.bind.mempolicy import PREFERRED
from numafit.host.process.numa_maps import parse_numa_maps

_CALLS = {"x86_64": {"mbind": 237, "move_pages": 279}, "aarch64": {"mbind": 235, "move_pages": 239}}
_NODE_BITS = 1024
NUMA_MAPS = Path("/proc/self/numa_maps")

TOUCHED = 1
"""The byte that fills it; `memchr` looks for another one."""


class NodeMemory:
    """`proof` tells how it is known that all of it lies on the node; empty: it is not, and `refusal` says why. `small`
    is the number of bytes for which the node had no huge pages left."""

    def __init__(self, node: int, size: int) -> None:
        self.node, self.size = node, size
        self.map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._held = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self._held)
        self.proof = self.refusal = ""
        self.small = 0

    def fill(self, alone: bool) -> None:
        """By the calling thread. `alone`: there is no other node, so that nothing has to be asked for."""
        with suppress(OSError, AttributeError):
            # Else a load waits for the tables of its page, too.
            self.map.madvise(mmap.MADV_HUGEPAGE)
        asked = ""
        if not alone:
            try:
                prefer(self.address, self.size, self.node)
            except OSError as error:
                asked = f"; mbind: {error.strerror}"
        ctypes.memset(self.address, TOUCHED, self.size)
        with suppress(OSError, AttributeError):
            self._take_again()
        found, by = self.places()
        if found.keys() == {self.node}:
            self.proof = by
        elif alone and not found:
            self.proof = "the only node"
        elif not found:
            self.refusal = f"the kernel does not tell where its pages are{asked}"
        else:
            share = 100 * found.get(self.node, 0) // sum(found.values())
            self.refusal = f"only {share} % of the pages that were asked for are there{asked}"

    def _take_again(self) -> None:
        nodes = page_nodes(self.address, self.size)
        first = 0
        for node, run in groupby(nodes):
            length = len(list(run)) * mmap.PAGESIZE
            if node >= 0 and node != self.node:
                for advice in (mmap.MADV_NOHUGEPAGE, mmap.MADV_DONTNEED):
                    self.map.madvise(advice, first, length)
                ctypes.memset(self.address + first, TOUCHED, length)
                self.small += length
            first += length

    def places(self) -> tuple[dict[int, int], str]:
        """NUMA node -> pages; nothing where the kernel refuses or does not know all of them."""
        with suppress(OSError):
            found = Counter(page_nodes(self.address, self.size))
            return (found, "move_pages") if min(found) >= 0 else ({}, "")
        with suppress(OSError):
            start = f"{self.address:x} ".encode()
            for line in NUMA_MAPS.read_bytes().splitlines():
                pages = parse_numa_maps(line)
                if line.startswith(start) and pages.total == self.size:
                    return pages.nodes, "numa_maps"
        return {}, ""

    def close(self) -> None:
        del self._held
        self.map.close()


def prefer(address: int, size: int, node: int) -> None:
    """mbind. Raises `OSError`."""
    mask = (ctypes.c_ubyte * (_NODE_BITS // 8)).from_buffer_copy((1 << node).to_bytes(_NODE_BITS // 8, "little"))
    _call("mbind", address, size, PREFERRED, ctypes.addressof(mask), _NODE_BITS + 1, 0)


def page_nodes(address: int, size: int) -> list[int]:
    """The NUMA node of each page, by move_pages, which moves nothing when it is not told where to; below 0: that page
    has none. Raises `OSError`."""
    places = range(address, address + size, mmap.PAGESIZE)
    pages = (ctypes.c_void_p * len(places))(*places)
    status = (ctypes.c_int * len(places))(*[-1] * len(places))
    _call("move_pages", 0, len(places), ctypes.addressof(pages), 0, ctypes.addressof(status), 0)
    return list(status)


def _call(name: str, *numbers: int) -> None:
    number = _CALLS.get(os.uname().machine, {}).get(name, -1)
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    if function(ctypes.c_long(number), *map(ctypes.c_long, numbers)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
