"""Which caches the kubelet calls uncore caches."""

from numafit.machine.model import Cache, Cpu
from numafit.machine.uncore import with_uncore_caches

CPUS = [Cpu(id=cpu, core=cpu // 2, socket=0, numa=cpu // 8) for cpu in range(16)]


def l3(first: int, count: int, id: int | None) -> Cache:
    return Cache(level=3, kind="unified", size=1, cpus=((1 << count) - 1) << first, id=id)


def uncore_caches(*caches: Cache) -> list[int | None]:
    return [cpu.uncore_cache for cpu in with_uncore_caches(CPUS, caches)][::2]


def test_a_cache_of_a_whole_numa_node_is_none() -> None:
    """cAdvisor 0.53: as many CPUs as the node has cores times the threads of this core."""
    assert uncore_caches(l3(0, 8, 3), l3(8, 4, 4), l3(12, 4, 5)) == [None] * 4 + [4, 4, 5, 5]


def test_a_cache_over_two_numa_nodes_is_one() -> None:
    """The rule compares numbers, not sets: 16 CPUs are not 8."""
    assert uncore_caches(l3(0, 16, 1)) == [1] * 8


def test_only_caches_above_level_two_count() -> None:
    """The lowest of them is the first that cAdvisor meets."""
    two = Cache(level=2, kind="unified", size=1, cpus=0b11, id=9)
    four = Cache(level=4, kind="unified", size=1, cpus=0b1111, id=8)
    assert uncore_caches(four, two, l3(0, 2, 7)) == [7, 8] + [None] * 6


def test_a_cache_without_an_id_ends_the_search_in_its_numa_node() -> None:
    """Kernels before 4.11: cAdvisor stops at the missing file; cores before it keep theirs."""
    assert uncore_caches(l3(0, 2, 1), l3(2, 2, None), l3(4, 2, 2), l3(8, 4, 3)) == [
        1,
        None,
        None,
        None,
        3,
        3,
        None,
        None,
    ]


def test_an_offline_cpu_has_no_uncore_cache() -> None:
    """Nor does it count as a core."""
    offline = Cpu(id=2, core=-1, socket=-1, numa=-1, online=False)
    cpus = [*CPUS[:2], offline]
    assert with_uncore_caches(cpus, [l3(0, 2, 1), l3(2, 2, 5)]) == tuple(cpus)
