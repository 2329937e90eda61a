"""One figure at a time, each taken by threads that are pinned to their CPUs."""

import ctypes
import mmap
import os
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event, Thread
from typing import Any, TypeVar

from numafit.host.measure.code import Functions
from numafit.host.measure.pages import NodeMemory

T = TypeVar("T")

LINE = 64
"""Bytes between two places of the chain; most processors load so many at once, some the double."""
_STEP = 0x9E3779B1
"""Of the chain, in lines: it leaves 1 when divided by 4, as a chain that meets every line must."""
_AT_ONCE = 1 << 16
_ABSENT = 0
_PATIENCE = 1 << 30
"""Looks at a line that the other CPU does not change: some tenths of a second."""
_TURNS = 20
_MOST_TURNS = 20_000


def on_cpu(cpu: int, action: Callable[[], T]) -> T:
    """What `action` gives in a thread that runs on this CPU alone; its error, too."""
    return on_cpus([cpu], lambda _: action())[0]


def on_cpus(cpus: Sequence[int], action: Callable[[int], T]) -> list[T]:
    """`action` with the place of each CPU, begun on all of them together."""
    barrier = Barrier(len(cpus))
    found: dict[int, T] = {}
    errors: list[Exception] = []
    ends = [Event() for _ in cpus]

    def body(place: int) -> None:
        try:
            os.sched_setaffinity(0, {cpus[place]})
            with suppress(BrokenBarrierError):
                barrier.wait()
                found[place] = action(place)
        except Exception as error:
            errors.append(error)
            barrier.abort()
        finally:
            ends[place].set()

    threads = [Thread(target=body, args=(place,), daemon=True) for place in range(len(cpus))]
    try:
        for thread in threads:
            thread.start()
        for end in ends:
            end.wait()
    except BaseException:
        barrier.abort()
        _outlive(threads, ends)
        raise
    if errors:
        raise errors[0]
    return [found[place] for place in range(len(cpus))]


def _outlive(threads: Sequence[Thread], ends: Sequence[Event]) -> None:
    """They work on memory that is given back afterwards. Not by `join`: one that is interrupted takes its thread for
    ended (Python 3.11, 3.12)."""
    for thread, end in zip(threads, ends, strict=True):
        while thread.is_alive() and not end.is_set():
            with suppress(KeyboardInterrupt):
                end.wait()


def read_rate(memory: NodeMemory, cpus: Sequence[int], seconds: float) -> float:
    """Bytes per second that these CPUs read together, each in a part of its own, for `seconds` or once through it."""
    look: Any = ctypes.CDLL(None).memchr
    look.argtypes, look.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t], ctypes.c_void_p
    part = memory.size // len(cpus) // mmap.PAGESIZE * mmap.PAGESIZE

    def read(place: int) -> float:
        start, passes = memory.address + place * part, 0
        begun = time.perf_counter()
        while (now := time.perf_counter()) < begun + seconds or not passes:
            if look(start, _ABSENT, part) is not None:
                raise RuntimeError("memory was changed while it was read")
            passes += 1
        return passes * part / (now - begun)

    return sum(on_cpus(cpus, read))


def lay_chain(memory: NodeMemory, size: int, source: NodeMemory | None = None) -> None:
    """Offsets in which every line of the first `size` bytes (a power of two) leads to another, and all are met before
    the first comes again; in an order that no prefetcher foresees. A chain elsewhere is copied, for it is the same."""
    if source is not None:
        ctypes.memmove(memory.address, source.address, size)
        return
    lines, words = size // LINE, LINE // 8
    step = _STEP % lines
    with memoryview(memory.map) as raw, raw.cast("Q") as view:
        for first in range(0, lines, _AT_ONCE):
            count = min(_AT_ONCE, lines - first)
            start = LINE * (step * first + 1)
            nexts = array("Q", [place & (size - 1) for place in range(start, start + LINE * step * count, LINE * step)])
            view[words * first : words * (first + count) : words] = memoryview(nexts)


class Chain:
    """A chain that is followed on and on: what was met a moment ago may still be in a cache."""

    def __init__(self, memory: NodeMemory, code: Functions) -> None:
        self.memory, self.code = memory, code
        self.offset = 0

    def latency(self, cpu: int, seconds: float) -> float:
        """Nanoseconds per load."""
        return on_cpu(cpu, lambda: self._follow(seconds))

    def _follow(self, seconds: float) -> float:
        loads = 1000
        while True:
            begun = time.perf_counter()
            self.offset = self.code.chase(self.memory.address, self.offset, loads)
            took = time.perf_counter() - begun
            if took >= seconds / 2:
                return took / loads * 1e9
            loads = min(loads * 16, max(loads * 2, int(loads * seconds / max(took, 1e-9))))


def message_time(a: int, b: int, code: Functions, seconds: float) -> float | None:
    """Nanoseconds that a changed line takes from one CPU to another, half of the way there and back; None when one of
    them was kept waiting by others."""
    turns = _TURNS
    while True:
        took = _messages(a, b, code, turns)
        if took is None:
            return None
        if took >= seconds / 2 or turns >= _MOST_TURNS:
            return took / turns / 2 * 1e9
        turns = min(_MOST_TURNS, turns * 16, max(turns * 2, int(turns * seconds / max(took, 1e-9))))


def _messages(a: int, b: int, code: Functions, turns: int) -> float | None:
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        held = ctypes.c_char.from_buffer(page)
        line = ctypes.addressof(held)

        def speak(place: int) -> float:
            begun = time.perf_counter()
            left = code.answer(line, place, turns, _PATIENCE)
            return -1.0 if left else time.perf_counter() - begun

        took = on_cpus([a, b], speak)
        del held
    return None if min(took) < 0 else max(took)
