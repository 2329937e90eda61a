"""Who holds what, as the API shows it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import parse_cpuset
from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.service.node import Snapshot
from numafit.service.sources.demo import Demo
from numafit.show.records.ledger import LedgerView


def own_memory(name: str) -> dict[int, str]:
    """NUMA node -> the device whose memory it is."""
    return {numa.id: numa.device for numa in machine_named(name).numa_nodes if numa.device and numa.memory}


def view_after(name: str, seed: int, events: int) -> LedgerView:
    demo = Demo(name, seed)
    changes = [change for _ in range(events) for change in demo.events()]
    return Snapshot(demo.place, changes[-1].stage, changes[-1].known).view()


# On a hybrid processor the kubelet may give one CPU to two containers (docs/differences.md).
SOUND = sorted(set(catalogue()) - {"hybrid-desktop"})


@given(st.sampled_from(SOUND), st.integers(0, 10_000), st.integers(1, 40))
def test_every_cpu_is_held_free_or_reserved_once(name: str, seed: int, events: int) -> None:
    """The sets of a view do not overlap, and the sums of the NUMA nodes agree with them."""
    view = view_after(name, seed, events)
    held = [parse_cpuset(holder.cpus) for holder in view.holders]
    union = 0
    for cpus in held:
        assert not union & cpus
        union |= cpus
    free, reserved = parse_cpuset(view.free_cpus), parse_cpuset(view.reserved_cpus)
    assert not free & (union | reserved)
    assert parse_cpuset(view.shared_cpus) == free | reserved
    for part, cpus in (("held", union), ("free", free), ("reserved", reserved)):
        assert sum(getattr(node.cpus, part) for node in view.nodes) == cpus.bit_count()
    assert all(node.cpus.held + node.cpus.free + node.cpus.reserved == node.cpus.total for node in view.nodes)


@given(st.sampled_from(["gpu8-128cpu", "dgx-a100", "grace-hopper"]), st.integers(0, 10_000))
def test_memory_and_devices_add_up(name: str, seed: int) -> None:
    """What holders hold is what the NUMA nodes miss, and the memory of a held device beside it."""
    view = view_after(name, seed, 25)
    devices = [device for holder in view.holders for ids in holder.devices.values() for device in ids]
    assert len(devices) == len(set(devices))
    assert sum(own.held for node in view.nodes for own in node.devices.values()) == len(devices)
    memory = sum(held.bytes for holder in view.holders for held in holder.memory if held.type == "memory")
    taken = [node for node in view.nodes if own_memory(name).get(node.id) in devices]
    own = sum(node.memory.held for node in taken)
    assert all((node.memory.free, node.memory.held > 0) == (0, True) for node in taken)
    assert sum(node.memory.held for node in view.nodes) == memory + own
    for node in [node for node in view.nodes if node not in taken]:
        parts = [part for holder in view.holders for part in holder.memory_parts]
        assert sum(part.bytes for part in parts if (part.node, part.type) == (node.id, "memory")) == node.memory.held
    assert all(node.memory.held + node.memory.free + node.memory.reserved == node.memory.total for node in view.nodes)


def test_memory_of_a_held_gpu_is_not_called_free() -> None:
    """It belongs to the GPU, and no manager of the kubelet counts it."""
    view = view_after("gb200", 1, 40)
    held = {device for holder in view.holders for ids in holder.devices.values() for device in ids}
    nodes = own_memory("gb200")
    free = {node.id: node.memory.free for node in view.nodes if node.id in nodes}
    assert held
    assert {numa for numa, device in nodes.items() if device in held} == {numa for numa in free if not free[numa]}


def test_a_pod_that_has_ended_is_marked_while_the_kubelet_still_counts_it() -> None:
    """Its memory and devices are freed at the next admission; the CPU manager's loop frees the CPUs before."""
    demo = Demo()
    change = None
    while change is None or change.happened is None or change.happened.kind != "release":
        change = next(iter(demo.events()))
    holder = next(
        each
        for each in Snapshot(demo.place, change.stage, change.known).view().holders
        if each.id == change.happened.uid
    )
    assert holder.gone
    assert not holder.cpus
    assert holder.memory


@pytest.mark.parametrize("name", ["laptop", "gb200"])
def test_a_view_is_json_in_camel_case(name: str) -> None:
    """And reads back as the same view."""
    view = view_after(name, 1, 5)
    data = msgspec.json.encode(view)
    assert b'"reservedCpus"' in data
    assert msgspec.json.decode(data, type=LedgerView) == view
