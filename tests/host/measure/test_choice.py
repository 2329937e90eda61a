"""What takes part in a survey: nothing that a lease holds, and never much of what is free."""

from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.measure import choice
from numafit.host.measure.choice import ChosenNode, cgroup_room, choose, cpu_pairs, free_memory
from numafit.host.measure.result import OTHER_SOCKET, SAME_NODE, SIBLINGS
from numafit.machine.catalogue.names import machine_named
from tests.host.ledgers import host_named

GIB = 1 << 30


def lease(id: str, cpus: int = 0, devices: tuple[str, ...] = ()) -> Lease:
    return Lease(id, "", 0, "root", 0.0, exclusive=cpus, devices={"nvidia.com/gpu": devices})


@pytest.fixture(autouse=True)
def plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "free_memory", lambda _: 256 * GIB)
    monkeypatch.setattr(choice, "cgroup_room", lambda: None)


def test_one_cpu_of_each_core_reads() -> None:
    """The second thread of a core has no more lines to fill."""
    found = choose(host_named("gpu8-128cpu"), [])
    assert found.nodes == (
        ChosenNode(0, tuple(range(32)), True),
        ChosenNode(1, tuple(range(32, 64)), True),
    )
    assert (len(found.gpus), found.notes) == (8, ())


def test_what_a_lease_holds_takes_no_part() -> None:
    """But that of the job in which numafit itself runs does."""
    host = host_named("gpu8-128cpu")
    gpu = next(device for device in host.machine.devices if device.kind == "gpu")
    leases = [lease("other", mask_of([*range(30), *range(64, 94)]), (gpu.id,)), lease("mine", mask_of([32, 33]))]
    found = choose(host, leases, "mine")
    assert found.nodes[0].cpus == (30, 31)
    assert found.nodes[1].cpus == tuple(range(32, 64))
    assert gpu not in found.gpus
    assert found.notes == (
        "CPUs 0-29,64-93 took no part: leases hold them",
        f"{gpu.label} took no part: a lease holds it",
    )


def test_a_gpu_of_another_maker_takes_no_part() -> None:
    host = host_named("gpu8-128cpu")
    first, *rest = host.machine.devices
    found = choose(
        replace(host, machine=replace(host.machine, devices=(replace(first, resource="amd.com/gpu"), *rest))), []
    )
    assert (len(found.gpus), found.notes) == (7, ("GPU0 took no part: only NVIDIA's driver library is known here",))


def test_only_what_the_caller_may_use_takes_part() -> None:
    found = choose(host_named("gpu8-128cpu", allowed_cpus=0b11, allowed_mems=0b10), [])
    assert found.nodes == (ChosenNode(0, (0, 1), False), ChosenNode(1, (), True))


def test_memory_without_cpus_takes_part_and_that_of_a_gpu_does_not() -> None:
    """GPU memory that is a NUMA node belongs to whoever uses the GPU."""
    machine = machine_named("gpu8-128cpu")
    far, of_gpu = (replace(machine.numa_nodes[0], id=id, device=device) for id, device in ((2, ""), (3, "GPU")))
    found = choose(Host(replace(machine, numa_nodes=(*machine.numa_nodes, far, of_gpu))), [])
    assert [(node.id, bool(node.cpus), node.memory) for node in found.nodes] == [
        (0, True, True),
        (1, True, True),
        (2, False, True),
    ]


def test_more_is_read_than_the_caches_hold() -> None:
    host = host_named("dgx-h100")
    found = choose(host, [])
    caches = {(cache.level, cache.cpus): cache.size for cache in host.machine.caches if cache.kind != "instruction"}
    node = mask_of(found.nodes[0].cpus)
    assert found.size >= 4 * sum(size for (_, cpus), size in caches.items() if cpus & node)
    assert found.chain >= 4 * sum(size for (_, cpus), size in caches.items() if cpus & 1)
    assert found.chain.bit_count() == 1


def test_a_full_node_is_left_alone_and_small_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of what is free at most."""
    free: dict[int | None, int] = {0: 128 << 20, 1: 4 << 20}
    monkeypatch.setattr(choice, "free_memory", lambda node: free[node])
    found = choose(host_named("gpu8-128cpu"), [])
    assert [node.memory for node in found.nodes] == [True, False]
    assert (found.size, found.chain) == (16 << 20, 16 << 20)
    assert found.notes == (
        "the memory of node 1 took no part: too little of it is free",
        "only 16Mi of each node took part, so that some of it may have come from caches",
    )


def test_a_limit_of_the_cgroup_is_shared_by_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else numafit, or its container, would be killed for what it measures."""
    monkeypatch.setattr(choice, "cgroup_room", lambda: 256 << 20)
    found = choose(host_named("gpu8-128cpu"), [])
    assert (found.size, found.chain) == (16 << 20, 16 << 20)


def test_a_size_that_was_asked_for_is_taken() -> None:
    large = choose(host_named("gpu8-128cpu"), [], size=5 * GIB)
    assert (large.size, large.chain, large.notes) == (5 * GIB, 4 * GIB, ())
    small = choose(host_named("gpu8-128cpu"), [], size=10 << 20)
    said = "only 10Mi of each node took part, so that some of it may have come from caches"
    assert (small.size, small.chain, small.notes) == (10 << 20, 8 << 20, (said,))


def test_pairs_of_cpus_are_few_on_a_large_machine() -> None:
    """Two threads of a core for each socket; then some cores of each node."""
    kinds = Counter(kind for _, _, kind in cpu_pairs(machine_named("gpu8-128cpu"), (1 << 128) - 1))
    assert kinds == {SIBLINGS: 2, SAME_NODE: 2, OTHER_SOCKET: 4}


def test_free_memory_is_what_the_kernel_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a node its unused pages and old ones of files; of the machine what is available."""
    monkeypatch.undo()
    (tmp_path / "node1").mkdir()
    (tmp_path / "node1/meminfo").write_text(
        "Node 1 MemTotal: 90 kB\nNode 1 MemFree: 7 kB\nNode 1 Inactive(file): 3 kB\n"
    )
    (tmp_path / "meminfo").write_text("MemFree: 1 kB\nMemAvailable: 20 kB\n")
    monkeypatch.setattr(choice, "NODES", tmp_path)
    monkeypatch.setattr(choice, "PROC", tmp_path)
    assert [free_memory(node) for node in (1, None, 2)] == [10 << 10, 20 << 10, 0]


@pytest.mark.parametrize(
    ("line", "mount", "files", "room"),
    [
        (
            "0::/a/b",
            "cgroup2 none rw",
            {"a/memory.max": "1000", "a/memory.current": "400", "a/b/memory.max": "max"},
            600,
        ),
        (
            "4:memory:/a",
            "cgroup none rw,memory",
            {"a/memory.limit_in_bytes": "900", "a/memory.usage_in_bytes": "1000"},
            0,
        ),
        ("0::/a", "cgroup2 none rw", {}, None),
    ],
)
def test_the_limits_of_all_groups_above_count(
    line: str,
    mount: str,
    files: dict[str, str],
    room: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both versions of cgroups."""
    monkeypatch.undo()
    root = tmp_path / "cgroup"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text(line + "\n")
    (tmp_path / "self/mountinfo").write_text(f"30 1 0:26 / {root} rw - {mount}\n")
    monkeypatch.setattr(choice, "PROC", tmp_path)
    assert cgroup_room() == room
