"""What it costs to look at a process: its pages per NUMA node, over the number of its mappings.

The mappings are real ones of a child process, as many as the kernel allows (vm.max_map_count, 65,530 unless raised);
beyond that the text is made up. The time of the kernel, which walks the page tables, counts.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

from bench import Row
from numafit.host.process.numa_maps import parse_numa_maps
from numafit.host.process.observation import observe

AUDIT = 1.0
"""Seconds that a process with 100,000 mappings may cost."""
REPEATS = 3
SIZES = (1_000, 10_000, 30_000, 60_000, 100_000)
LIMIT = Path("/proc/sys/vm/max_map_count")
SPARE = 500
"""Mappings that the child has by itself, or makes on the way."""

# Neighbouring pages with different rights cannot share a mapping.
CHILD = """
import ctypes, mmap, sys
count = int(sys.argv[1])
area = mmap.mmap(-1, count * mmap.PAGESIZE)
for page in range(count):
    area[page * mmap.PAGESIZE] = 1
libc = ctypes.CDLL(None, use_errno=True)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
for page in range(1, count, 2):
    if libc.mprotect(ctypes.c_void_p(start + page * mmap.PAGESIZE), mmap.PAGESIZE, mmap.PROT_READ):
        sys.exit(1)
print("ready", flush=True)
sys.stdin.read()
"""


def rows() -> Iterator[Row]:
    allowed = int(LIMIT.read_text()) - SPARE if LIMIT.exists() else 0
    for size in SIZES:
        if size <= allowed:
            yield Row(f"audit/observe a process with {size:,} mappings", _real(size), AUDIT, measured=True)
    yield Row("audit/parse a table of 100,000 different mappings", _made(SIZES[-1]), AUDIT, measured=True)


def _real(size: int) -> Callable[[], float]:
    def run() -> float:
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            if child.stdout.readline() != b"ready\n":
                raise RuntimeError("the child could not make its mappings")
            taken = min(_look(child.pid, size) for _ in range(REPEATS))
            child.communicate()
        return taken

    return run


def _look(pid: int, size: int) -> float:
    started = process_time()
    seen = observe(pid, {})
    taken = process_time() - started
    assert seen is not None
    assert seen.pages is not None
    assert seen.pages.mappings >= size
    return taken


def _made(size: int) -> Callable[[], float]:
    text = "".join(
        f"{0x7F0000000000 + number * 8192:x} default anon={number % 997} dirty={number % 997} "
        f"N0={number % 991} N1={number % 983} kernelpagesize_kB=4\n"
        for number in range(size)
    ).encode()

    def run() -> float:
        started = process_time()
        assert parse_numa_maps(text).mappings == size
        return process_time() - started

    return run
