"""Pages per NUMA node, from the text that the kernel writes."""

import mmap
import os
from pathlib import Path

import pytest

from numafit.host.process.numa_maps import Pages, bound_nodes, parse_numa_maps

TEXT = b"""\
55d0c0000000 default file=/usr/bin/x\\040y mapped=2 mapmax=3 N0=2 kernelpagesize_kB=4
55d0c1000000 default heap anon=4 dirty=4 active=0 N0=1 N1=3 kernelpagesize_kB=4
7f0000000000 bind:1 anon=1024 dirty=1024 N1=1024 kernelpagesize_kB=4
7f1000000000 bind=static:0-1 file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=2048
7f2000000000 prefer (many):0-1 file=/dev/shm/N9\\0759 dirty=5 N0=5 kernelpagesize_kB=4
7f3000000000 weighted interleave:0,2
7f4000000000 default stack anon=1 dirty=1 N63=1 kernelpagesize_kB=64
"""


def test_pages_are_counted_in_their_own_size() -> None:
    """Huge pages of hugetlbfs come in 2 MiB; a file name does not pass for a count; shared memory is no file."""
    assert parse_numa_maps(TEXT) == Pages(
        nodes={0: (2 + 1 + 5) * 4096 + (2 << 20), 1: (3 + 1024) * 4096 + (4 << 20), 63: 65536},
        file_nodes={0: 2 * 4096},
        policies={
            "bind:1": 1,
            "bind=static:0-1": 1,
            "default": 3,
            "prefer (many):0-1": 1,
            "weighted interleave:0,2": 1,
        },
        mappings=7,
    )


def test_interleaved_pages_are_those_where_the_policy_put_them() -> None:
    """On its nodes only: what lies elsewhere in such a mapping was there before, or found no room."""
    lines = (
        b"7f0000000000 interleave:0-1 anon=6 dirty=6 N0=3 N1=2 N2=1 kernelpagesize_kB=4\n"
        b"7f1000000000 weighted interleave:1 anon=1 N1=1 kernelpagesize_kB=2048\n"
        b"7f2000000000 interleave=static:0 anon=1 N0=1 kernelpagesize_kB=4\n"
        b"7f3000000000 default file=/interleave:0-1 mapped=1 N1=1 kernelpagesize_kB=4\n"
    )
    pages = parse_numa_maps(lines)
    assert pages.interleaved == {0: 4 * 4096, 1: 2 * 4096 + (2 << 20)}
    assert pages.nodes == {0: 4 * 4096, 1: 3 * 4096 + (2 << 20), 2: 4096}


def test_alike_mappings_all_count() -> None:
    """They differ in their address only."""
    lines = b"".join(b"%x default anon=1 dirty=1 N1=1 kernelpagesize_kB=4\n" % (4096 * i) for i in range(1, 1001))
    assert parse_numa_maps(lines) == Pages(nodes={1: 4096000}, policies={"default": 1000}, mappings=1000)


def test_nothing_is_nothing() -> None:
    assert parse_numa_maps(b"") == Pages()


@pytest.mark.parametrize(
    ("policies", "mask"),
    [
        (["bind:0"], 0b1),
        (["bind:0", "bind=static:1-2"], 0b111),
        (["bind:0", "default"], None),
        (["prefer:0"], None),
        ([], None),
    ],
)
def test_only_bind_for_every_mapping_holds_memory(policies: list[str], mask: int | None) -> None:
    """One mapping with another policy may take memory from anywhere."""
    assert bound_nodes(policies) == mask


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="this kernel is built without NUMA")
def test_the_sum_over_the_nodes_is_what_a_process_touched() -> None:
    """Also for memory that the kernel may join to huge pages."""
    size = 64 << 20
    before = parse_numa_maps(Path("/proc/self/numa_maps").read_bytes())
    with mmap.mmap(-1, size) as area:
        area.madvise(mmap.MADV_HUGEPAGE)
        for place in range(0, size, mmap.PAGESIZE):
            area[place] = 1
        grown = parse_numa_maps(Path("/proc/self/numa_maps").read_bytes()).total - before.total
    assert size <= grown < size + (8 << 20), os.uname().release
