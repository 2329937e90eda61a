"""How holders lie, in one word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.alignment import crossing
from numafit.advice.verdict import (
    IN_WORDS,
    LYING,
    HeldPart,
    HolderVerdict,
    Lying,
    UnitLying,
    alignments,
    as_decided,
    counted,
)
from numafit.bits import mask_of
from numafit.decision.held import holding_of
from numafit.decision.stage import Stage
from numafit.ledger.ledger import Block, Held, Ledger
from numafit.machine.model import Device
from tests.advice.stages import BOX, stage, stages
from tests.advice.test_alignment import best_effort
from tests.decision.strategies import GI, GPU, box, container, cpus, gpus, pod, pods

LEFT, RIGHT = 0b1111, 0b1111 << 4
"""CPUs of NUMA node 0, and of NUMA node 1."""


def held(
    cpu: int = 0,
    memory: tuple[int, ...] = (),
    devices: tuple[str, ...] = (),
    resource: str = GPU,
    on: Stage | None = None,
) -> tuple[Stage, Ledger]:
    """A pod `a` that holds just this, however it came by it."""
    on = on or best_effort()
    ledger = on.ledger
    own = Held({}, frozenset(devices), b"")
    return on, replace(
        ledger,
        active={"a": pod("a", container("app", {}))},
        cpu=replace(ledger.cpu, entries={"a": {"app": cpu}} if cpu else {}),
        memory=replace(ledger.memory, entries={"a": {"app": (Block(memory, "memory", GI),)}} if memory else {}),
        device=replace(ledger.device, held={"a": {"app": {resource: own}}} if devices else {}),
    )


def lying(cpu: int = 0, memory: tuple[int, ...] = (), devices: tuple[str, ...] = ()) -> Lying:
    on, ledger = held(cpu, memory, devices)
    return alignments(on.node, ledger)["a"].lying


@pytest.mark.parametrize(
    ("cpu", "memory", "devices", "word"),
    [
        (LEFT, (0,), ("GPU0",), "aligned"),
        (LEFT, (), (), "aligned"),
        (LEFT | RIGHT, (0,), (), "split"),
        (LEFT, (1,), (), "split"),
        (LEFT, (0,), ("GPU1",), "remote GPU"),
        (LEFT, (0, 1), ("GPU1",), "remote GPU"),
        (LEFT | RIGHT, (0,), ("GPU1",), "remote GPU"),
        (0, (0,), ("GPU1",), "remote GPU"),
        (0, (0,), ("GPU0",), "shared"),
        (0, (), ("GPU1",), "shared"),
        (0, (), (), "shared"),
    ],
)
def test_each_word(cpu: int, memory: tuple[int, ...], devices: tuple[str, ...], word: Lying) -> None:
    """Two NUMA nodes of 8 CPUs with a GPU each. A GPU is remote from CPUs, or from memory, of another node."""
    assert lying(cpu, memory, devices) == word


def test_who_needs_two_numa_nodes_is_aligned_on_two() -> None:
    """Both GPUs, which hang on both nodes, with CPUs and memory of both."""
    assert lying(LEFT | RIGHT, (0, 1), ("GPU0", "GPU1")) == "aligned"


def test_both_gpus_with_cpus_of_one_node_only() -> None:
    """No fewer nodes could hold it, and yet one GPU is far from all of its CPUs."""
    assert lying(LEFT, (0, 1), ("GPU0", "GPU1")) == "remote GPU"


def test_the_parts_say_what_makes_it_so() -> None:
    on, ledger = held(LEFT, (0,), ("GPU0", "GPU1"))
    parts = (
        HeldPart("cpu", 0b01),
        HeldPart("memory", 0b01),
        HeldPart(GPU, 0b01, "GPU0"),
        HeldPart(GPU, 0b10, "GPU1", ("cpu", "memory")),
    )
    assert alignments(on.node, ledger)["a"] == HolderVerdict(
        "remote GPU", (UnitLying("app", "remote GPU", 0b11, 2, parts),)
    )


@pytest.mark.parametrize(
    ("kind", "resource", "word"),
    [
        ("nic", "example.com/port", "remote NIC"),
        ("", "example.com/rdma_a", "remote NIC"),
        ("", "nvidia.com/mig-1g.10gb", "remote GPU"),
        ("nvme", "example.com/disk", "remote device"),
        ("", "example.com/disk", "remote device"),
    ],
)
def test_what_a_remote_device_is(kind: str, resource: str, word: Lying) -> None:
    """By the machine, else by the name of its resource."""
    machine = replace(BOX, devices=(Device(resource, "d", (1,), kind=kind),))
    on, ledger = held(LEFT, devices=("d",), resource=resource, on=stage(machine))
    assert alignments(on.node, ledger)["a"].lying == word


def test_a_device_of_a_node_without_cpus_is_not_remote_from_cpus() -> None:
    """It is as near as it can be; the nodes of CPU and device are two, and one would not do."""
    machine = box(2, 8, 2, memory=16 * GI, devices=gpus(1))
    machine = replace(machine, cpus=tuple(cpu for cpu in machine.cpus if cpu.numa == 0))
    on, ledger = held(LEFT, devices=("GPU0",), on=stage(machine))
    assert alignments(on.node, ledger)["a"].lying == "aligned"


def test_the_worst_container_gives_the_pod_its_word() -> None:
    """The first has NUMA node 0 but for the reserved CPU and one more; the second takes that and three of the other."""
    on = best_effort()
    before = on.decide(on.ledger, pod("a", cpus("x", "5"))).ledger
    after = on.decide(before, pod("b", cpus("y", "6"), cpus("z", "4"))).ledger
    found = alignments(on.node, after)["b"]
    assert {unit.unit: unit.lying for unit in found.units} == {"y": "aligned", "z": "split"}
    assert found.lying == "split"
    assert alignments(on.node, after)["a"].lying == "aligned"


def test_a_container_of_the_shared_pool_beside_an_aligned_one_changes_nothing() -> None:
    on = best_effort()
    after = on.decide(on.ledger, pod("a", cpus("x", "2"), cpus("z", "500m"))).ledger
    found = alignments(on.node, after)["a"]
    assert found.lying == "aligned"
    assert {unit.unit: unit.lying for unit in found.units} == {"x": "aligned", "z": "shared"}


def test_what_the_gone_left_behind_is_not_judged() -> None:
    on, ledger = held(LEFT | RIGHT)
    assert alignments(on.node, replace(ledger, active={})) == {}


def test_counts_come_in_one_order_and_aligned_always() -> None:
    words: tuple[Lying, ...] = ("shared", "split", "remote GPU", "split")
    assert list(counted(HolderVerdict(word) for word in words).items()) == [
        ("aligned", 0),
        ("split", 2),
        ("remote GPU", 1),
        ("shared", 1),
    ]
    assert counted([]) == {"aligned": 0}
    assert sorted(IN_WORDS) == sorted(LYING)


@given(stages(), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_every_holder_has_a_word_that_its_parts_bear_out(on: Stage, numbers: list[int], data: st.DataObject) -> None:
    """All that are there and no others; the units lie where the holder lies; who crosses nodes by `alignment` is not
    called aligned; who is aligned has exclusive CPUs, who is shared none; remote names what is elsewhere."""
    simulation = on.play(tuple(data.draw(pods(f"uid-{number}")) for number in dict.fromkeys(numbers)))
    node, ledger = simulation.end.node, simulation.after
    found = alignments(node, ledger)
    assert set(found) == set(ledger.active)
    for uid, own in found.items():
        holding = holding_of(node, ledger, uid)
        if own.lying == "aligned":
            assert holding.cpus
        if own.lying == "shared":
            assert not holding.cpus
        crosses = crossing(node, as_decided(ledger.active[uid], ledger))
        assert bool(crosses) <= (own.lying not in ("aligned", "shared"))
        for unit in own.units:
            assert unit.nodes & ~mask_of(holding.nodes) == 0
            assert 0 <= unit.fewest <= unit.nodes.bit_count()
            for part in unit.parts:
                kept = {"cpu": _at(unit, "cpu"), "memory": _at(unit, "memory")}
                assert all(not part.nodes & kept[name] and kept[name] for name in part.remote_from)


def _at(unit: UnitLying, name: str) -> int:
    nodes = 0
    for part in unit.parts:
        if not part.device and (part.resource == "cpu") == (name == "cpu"):
            nodes |= part.nodes
    return nodes
