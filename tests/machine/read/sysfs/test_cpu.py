"""CPUs and their caches in /sys."""

import pytest

from numafit.machine.model import Cache, Cpu, Machine
from numafit.machine.read.sysfs.machine import read_sysfs
from tests.machine.read.sysfs.trees import CPUS, NODES, MapTree, cache_files, server


def read(files: dict[str, str]) -> Machine:
    return read_sysfs(MapTree(files), "x")


def uncore(files: dict[str, str]) -> dict[int, int | None]:
    return {cpu.id: cpu.uncore_cache for cpu in read(files).cpus}


def test_cpus_stand_in_the_order_the_kubelet_meets_them() -> None:
    """Node after node, and cpu10 before cpu2: names are sorted as text (cAdvisor's glob)."""
    assert [cpu.id for cpu in read(server(nodes=1, cores=12, threads=1)).cpus] == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_cpu_is_read_whole() -> None:
    """Core and socket as the kernel numbers them, and what `isolcpus` keeps free."""
    files = {**server(nodes=2, cores=2), f"{CPUS}/isolated": "5-6\n"}
    assert read(files).cpus[1:3] == (
        Cpu(id=1, core=1, socket=0, numa=0, die=0),
        Cpu(id=4, core=0, socket=0, numa=0, die=0),
    )
    assert [cpu.id for cpu in read(files).cpus if cpu.isolated] == [5, 6]


def test_an_offline_cpu_is_listed_last_without_a_place() -> None:
    """The kernel takes its topology away; the kubelet skips it by `online`."""
    files = {path: text for path, text in server(nodes=1).items() if f"{CPUS}/cpu3/" not in path}
    files |= {f"{CPUS}/cpu3/online": "0\n", f"{CPUS}/online": "0-2,4-7\n"}
    machine = read(files)
    assert machine.cpus[-1] == Cpu(id=3, core=-1, socket=-1, numa=0, online=False)
    assert [cpu.id for cpu in machine.cpus] == [0, 1, 2, 4, 5, 6, 7, 3]


def test_without_a_list_of_online_cpus_all_are_online() -> None:
    """Kernels without CPU hotplug."""
    files = server(nodes=1)
    del files[f"{CPUS}/online"]
    assert [cpu.online for cpu in read(files).cpus] == [True] * 8


@pytest.mark.parametrize("name", ["core_id", "physical_package_id"])
def test_a_cpu_without_core_or_socket_does_not_exist_for_the_kubelet(name: str) -> None:
    """cAdvisor warns and goes on."""
    files = server(nodes=1)
    del files[f"{CPUS}/cpu2/topology/{name}"]
    assert 2 not in {cpu.id for cpu in read(files).cpus}


def test_a_cache_of_the_whole_node_is_no_uncore_cache() -> None:
    """Shared by as many CPUs as the node has: cores times threads."""
    assert set(uncore(server(nodes=2, cores=4)).values()) == {None}


def test_a_cache_smaller_than_the_node_is_an_uncore_cache() -> None:
    """Both threads of cores 0 and 1 share the first, those of 2 and 3 the second."""
    assert uncore(server(nodes=1, cores=4, l3_cores=2)) == {0: 0, 4: 0, 1: 0, 5: 0, 2: 1, 6: 1, 3: 1, 7: 1}


def test_a_cache_larger_than_the_node_is_an_uncore_cache() -> None:
    """Two sub-NUMA nodes of one socket share its level 3 cache: 8 CPUs where each node has 4."""
    files = server(nodes=1, cores=8, threads=1)
    for cpu in range(4, 8):
        del files[f"{NODES}/node0/cpu{cpu}/"]
        files[f"{NODES}/node1/cpu{cpu}/"] = ""
    assert set(uncore(files).values()) == {0}


def test_a_core_with_fewer_threads_measures_the_node_by_its_own() -> None:
    """Hybrid processors: 2 cores with two threads and 2 with one share a cache of 6 CPUs; cAdvisor expects 8 and 4, so
    the cache is nobody's node cache."""
    files = server(nodes=1, cores=4)
    for cpu in (6, 7):
        for path in [path for path in files if f"/cpu{cpu}/" in path]:
            del files[path]
    files[f"{CPUS}/online"] = "0-5"
    for cpu in range(6):
        files |= cache_files(cpu, 3, 3, "Unified", 32768, [0, 1, 2, 3, 4, 5], 0)
    assert set(uncore(files).values()) == {0}


@pytest.mark.parametrize("name", ["id", "size", "level", "type", "shared_cpu_map"])
def test_a_missing_file_of_a_cache_ends_the_search_in_that_node(name: str) -> None:
    """Cores met before keep their uncore cache, and other nodes are not touched."""
    files = server(nodes=2, cores=4, threads=1, l3_cores=2)
    del files[f"{CPUS}/cpu1/cache/index0/{name}"]
    assert uncore(files) == {0: 0, 1: None, 2: None, 3: None, 4: 2, 5: 2, 6: 3, 7: 3}


def test_a_core_without_caches_ends_the_search_in_that_node() -> None:
    """No folder is an error for cAdvisor, like a missing file."""
    files = {
        path: text
        for path, text in server(nodes=1, cores=4, threads=1, l3_cores=2).items()
        if f"{CPUS}/cpu1/cache" not in path
    }
    assert uncore(files) == {0: 0, 1: None, 2: None, 3: None}


def test_only_the_first_thread_of_a_core_is_asked_for_its_uncore_cache() -> None:
    """cAdvisor asks cpu10 for the core of cpu2 and cpu10."""
    files = server(nodes=1, cores=8, l3_cores=4)
    files |= cache_files(10, 3, 3, "Unified", 32768, [2, 10], 77)
    assert (uncore(files)[2], uncore(files)[10], uncore(files)[3]) == (77, 77, 0)


def test_caches_are_listed_once_each() -> None:
    """By level, kind and lowest CPU; sizes in bytes, CPUs as a mask."""
    caches = read(server(nodes=1, cores=2)).caches
    assert caches == (
        Cache(1, "data", 32 << 10, 0b0101, 0),
        Cache(1, "data", 32 << 10, 0b1010, 1),
        Cache(1, "instruction", 32 << 10, 0b0101, 0),
        Cache(1, "instruction", 32 << 10, 0b1010, 1),
        Cache(2, "unified", 1 << 20, 0b0101, 0),
        Cache(2, "unified", 1 << 20, 0b1010, 1),
        Cache(3, "unified", 32 << 20, 0b1111, 0),
    )


def test_caches_that_threads_do_not_share_are_all_listed() -> None:
    """QEMU gives each thread a level 1 cache of its own."""
    files = server(nodes=1, cores=1)
    files |= cache_files(0, 0, 1, "Data", 32, [0], 0) | cache_files(1, 0, 1, "Data", 32, [1], 1)
    assert [cache.cpus for cache in read(files).caches if cache.kind == "data"] == [0b01, 0b10]


def test_hybrid_processors_tell_their_kinds_of_cores() -> None:
    """The performance counters of the two kinds list their CPUs (Intel)."""
    files = {**server(nodes=1, cores=4, threads=1), "sys/devices/cpu_core/cpus": "0-1\n"}
    assert {cpu.kind for cpu in read(files).cpus} == {""}
    files["sys/devices/cpu_atom/cpus"] = "2-3\n"
    assert [cpu.kind for cpu in read(files).cpus] == ["performance"] * 2 + ["efficiency"] * 2


@pytest.mark.parametrize(
    ("capacities", "kinds"),
    [
        ([1024, 1024, 530, 530], ["performance", "performance", "efficiency", "efficiency"]),
        ([1024, 920, 1024, 920], ["", "", "", ""]),
    ],
)
def test_capacity_tells_the_kinds_where_they_differ_much(capacities: list[int], kinds: list[str]) -> None:
    """Arm: `cpu_capacity`, the strongest CPU has 1024."""
    files = server(nodes=1, cores=4, threads=1)
    files |= {f"{CPUS}/cpu{cpu}/cpu_capacity": f"{capacity}\n" for cpu, capacity in enumerate(capacities)}
    assert [cpu.kind for cpu in read(files).cpus] == kinds
