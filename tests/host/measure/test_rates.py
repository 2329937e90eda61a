"""One figure at a time. How large it is depends on the machine; that it is one of memory does not."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from numafit.host.measure.code import Functions, functions
from numafit.host.measure.pages import NodeMemory
from numafit.host.measure.rates import LINE, Chain, lay_chain, message_time, on_cpus, read_rate

CPUS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def memory() -> Iterator[NodeMemory]:
    made = NodeMemory(0, 1 << 20)
    made.fill(alone=True)
    yield made
    made.close()


def code() -> Functions:
    found = functions()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.mark.parametrize("size", [4096, 1 << 16, 1 << 20])
def test_a_chain_meets_every_line_once(memory: NodeMemory, size: int) -> None:
    """Else a part of the memory would be measured, and that may fit into a cache."""
    lay_chain(memory, size)
    with memoryview(memory.map) as raw, raw.cast("Q") as view:
        met, offset = set(), 0
        for _ in range(size // LINE):
            offset = view[offset // 8]
            met.add(offset)
        assert (len(met), offset) == (size // LINE, 0)
    assert met == set(range(0, size, LINE))


def test_a_chain_is_the_same_on_another_node(memory: NodeMemory) -> None:
    """It holds offsets, and is copied."""
    lay_chain(memory, memory.size)
    other = NodeMemory(0, memory.size)
    lay_chain(other, memory.size, memory)
    assert other.map[:] == memory.map[:]
    other.close()


def test_a_chain_is_followed_from_where_it_was_left(memory: NodeMemory) -> None:
    lay_chain(memory, memory.size)
    chain = Chain(memory, code())
    first = chain.latency(CPUS[0], 0.0001)
    left = chain.offset
    assert (first > 0, chain.latency(CPUS[0], 0.0001) > 0, chain.offset != left) == (True, True, True)


def test_reading_counts_each_cpu_once(memory: NodeMemory) -> None:
    """Without any time it goes once through its part."""
    assert read_rate(memory, CPUS[:2], 0.0) > 0


def test_memory_that_is_changed_meanwhile_is_no_figure(memory: NodeMemory) -> None:
    memory.map[5] = 0
    with pytest.raises(RuntimeError, match="changed"):
        read_rate(memory, CPUS[:1], 0.0)


def test_each_thread_is_where_it_should_be() -> None:
    """And the caller stays where it was."""
    before = os.sched_getaffinity(0)
    assert on_cpus(CPUS[:2], lambda _: os.sched_getaffinity(0)) == [{cpu} for cpu in CPUS[:2]]
    assert os.sched_getaffinity(0) == before


def test_a_cpu_that_may_not_be_used_is_an_error() -> None:
    """The other thread does not wait for it for ever."""
    with pytest.raises(OSError, match="Invalid argument"):
        on_cpus([CPUS[0], 8191], lambda _: None)


def test_a_message_goes_to_and_fro() -> None:
    if len(CPUS) < 2:
        pytest.skip("needs two CPUs")
    found = message_time(CPUS[0], CPUS[1], code(), 0.0)
    assert found is None or found > 0


def test_who_is_interrupted_outlives_his_threads() -> None:
    """They read memory that is given back then. Python's `join` takes a thread for ended when it is interrupted."""
    ended: list[int] = []

    def work(place: int) -> None:
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            pass
        ended.append(place)

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    cpu = min(os.sched_getaffinity(0))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            on_cpus([cpu, cpu], work)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert sorted(ended) == [0, 1]
