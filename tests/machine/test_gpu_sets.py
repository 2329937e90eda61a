"""Which GPUs belong together."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.gpu_sets import best_set, equal_sets, groups_of, pairs_of, preferred_set
from numafit.machine.links import LINK_KINDS
from numafit.machine.model import Cpu, Device, Link, Machine
from tests.show.draw.boxes import gpu, linked, pairs_box

# A box of the kind with eight V100 and one or two NVLinks between some of them.
VOLTA = {
    (0, 1): "NV1", (0, 2): "NV1", (0, 3): "NV2", (0, 4): "NV2",
    (1, 2): "NV2", (1, 3): "NV1", (1, 5): "NV2",
    (2, 3): "NV2", (2, 6): "NV1", (3, 7): "NV1",
    (4, 5): "NV1", (4, 6): "NV1", (4, 7): "NV2",
    (5, 6): "NV2", (5, 7): "NV1", (6, 7): "NV2",
}  # fmt: skip


@pytest.mark.parametrize(
    ("size", "gpus", "score"),
    [
        (1, "0", 0),
        (2, "01", 50),
        (3, "012", 90),
        (4, "0123", 180),
        (5, "01234", 220),
        (6, "012345", 310),
        (8, "01234567", 520),
    ],
)
def test_the_plugin_prefers_by_pair_scores(size: int, gpus: str, score: int) -> None:
    """Best-effort allocation of NVIDIA's device plugin on a box with four PIX pairs, two in each NUMA node."""
    pairs = pairs_of(pairs_box())
    chosen = preferred_set(pairs, size)
    assert ("".join(map(str, chosen)), pairs.score(chosen)) == (gpus, score)


@pytest.mark.parametrize(
    ("available", "required", "gpus"),
    [
        ([1, 2, 3, 4, 5, 6, 7], [], (2, 3)),
        ([0, 2, 4, 5], [], (4, 5)),
        (range(8), [6], (6, 7)),
        ([0], [], ()),
        (range(8), [0, 1, 2], ()),
    ],
)
def test_the_plugin_keeps_to_what_is_available_and_required(
    available: list[int], required: list[int], gpus: tuple[int, ...]
) -> None:
    """The rest of a cut scores too: 1 stays alone, 2 and 3 go together. Too few, or too many required: no answer."""
    assert preferred_set(pairs_of(pairs_box()), 2, list(available), required) == gpus


def test_the_plugin_leaves_whole_pairs_behind() -> None:
    """The cut counts, not the one set: of GPU0-1 NV1, GPU1-2 NV2 and GPU2-3 NV1 it takes a pair that leaves a pair."""
    machine = linked([gpu(i, 0) for i in range(4)], {(0, 1): "NV2", (1, 2): "NV3", (2, 3): "NV2"})
    assert preferred_set(pairs_of(machine), 2) == (0, 1)
    assert best_set(pairs_of(machine), 2).gpus == (1, 2)  # type: ignore[union-attr]


def test_pairs_on_one_switch_come_first_then_one_node() -> None:
    """Two GPUs: a switch. Four: a node. Six: no pair is torn although 3+3 would be even."""
    pairs = pairs_of(pairs_box())
    chosen = {size: best_set(pairs, size) for size in (2, 4, 6)}
    assert {size: found.gpus for size, found in chosen.items() if found} == {
        2: (0, 1),
        4: (0, 1, 2, 3),
        6: (0, 1, 2, 3, 4, 5),
    }


def test_four_and_four_rather_than_five_and_three() -> None:
    """Eight of ten GPUs, five on each node and no switches: the plugin's sum of scores would take 5+3."""
    machine = pairs_box(per_node=5)
    nodes = {device.id: device.numa for device in machine.devices}
    links = tuple(Link(x.a, x.b, "NODE" if nodes[x.a] == nodes[x.b] else "SYS") for x in machine.links)
    pairs = pairs_of(Machine(machine.cpus, machine.numa_nodes, machine.devices, links))
    chosen = best_set(pairs, 8)
    assert chosen is not None
    assert chosen.split == ((0, 4), (1, 4))
    assert chosen.crosses
    assert pairs.score((0, 1, 2, 3, 4, 5, 6, 7)) > chosen.score


def test_one_gpu_leaves_the_pairs_to_others() -> None:
    """The box with three P100: GPU0 is alone on its node."""
    pairs = pairs_of(linked([gpu(0, 0), gpu(1, 1), gpu(2, 1)], {(1, 2): "NODE"}))
    assert best_set(pairs, 1).gpus == (0,)  # type: ignore[union-attr]
    assert preferred_set(pairs, 2) == (1, 2)


def test_a_crossing_set_stays_in_one_socket() -> None:
    """Four NUMA nodes in two sockets, NVLink everywhere: two nodes of one socket before one of each."""
    gpus = [gpu(i, node) for i, node in enumerate((0, 2, 1, 3))]
    machine = linked(gpus, {}, "NV18")
    cpus = tuple(Cpu(i, i, i // 2, i) for i in range(4))
    pairs = pairs_of(Machine(cpus, devices=machine.devices, links=machine.links))
    assert best_set(pairs, 2).gpus == (0, 2)  # type: ignore[union-attr]


def test_nvlinks_that_end_at_a_switch_do_not_score() -> None:
    """No GPU has more than 18 links: 7 x 18 lead to an NVSwitch, and the plugin sees no link to a GPU."""
    eight = pairs_of(linked([gpu(i, i // 4) for i in range(8)], {}, "NV18"))
    four = pairs_of(linked([gpu(i, 0) for i in range(4)], {}, "NV4"))
    assert (eight.switched, eight.scores[0][1], eight.scores[0][4]) == (True, 20, 10)
    assert (four.switched, four.scores[0][1]) == (False, 420)


def test_groups_are_joined_over_others() -> None:
    """NVLinks 0-1 and 1-2 make one group of three."""
    pairs = pairs_of(linked([gpu(i, 0) for i in range(4)], {(0, 1): "NV1", (1, 2): "NV1"}))
    assert groups_of(pairs, 100) == [(0, 1, 2), (3,)]


KINDS = st.sampled_from(["", *LINK_KINDS, "NV1", "NV4"])


@st.composite
def gpu_boxes(draw: st.DrawFn) -> Machine:
    number = draw(st.integers(1, 6))
    gpus = [gpu(i, draw(st.integers(0, 2))) for i in range(number)]
    kinds = {(a, b): draw(KINDS) for a in range(number) for b in range(a + 1, number)}
    return linked(gpus, kinds)


@given(machine=gpu_boxes(), size=st.integers(1, 6))
def test_the_best_set_has_the_size_and_as_few_nodes_as_any(machine: Machine, size: int) -> None:
    """No set of that size touches fewer NUMA nodes."""
    pairs = pairs_of(machine)
    chosen = best_set(pairs, size)
    if size > len(pairs.gpus):
        assert chosen is None
        return
    assert chosen is not None
    assert len(set(chosen.gpus)) == size
    counts = sorted((sum(pairs.numa(g) == node for g in range(len(pairs.gpus))) for node in range(3)), reverse=True)
    fewest = next(nodes for nodes in range(1, 4) if sum(counts[:nodes]) >= size)
    assert len(chosen.split) == fewest


@given(machine=gpu_boxes(), size=st.integers(1, 6))
def test_the_plugins_answer_is_available_and_full(machine: Machine, size: int) -> None:
    """As many as asked for, each once, or nothing."""
    pairs = pairs_of(machine)
    chosen = preferred_set(pairs, size)
    assert len(set(chosen)) == (size if size <= len(pairs.gpus) else 0)


def test_more_gpus_than_a_machine_can_have_are_refused() -> None:
    """Each pair is looked at; a made-up file must not keep numafit busy for ever."""
    with pytest.raises(InputError, match="1025 GPUs"):
        pairs_of(Machine(devices=tuple(gpu(i, 0) for i in range(1025))))


def test_many_gpus_are_searched_quickly() -> None:
    """64 GPUs: 8 of them can be chosen in four billion ways."""
    start = time.process_time()
    chosen = best_set(pairs_of(pairs_box(per_node=8, nodes=8)), 8)
    assert time.process_time() - start < 1
    assert chosen is not None
    assert len(chosen.split) == 1


def test_the_volta_box() -> None:
    """Two NVLinks are nearer than one: the plugin pairs 0 with 3, and 1 with 2."""
    pairs = pairs_of(linked([gpu(i, i // 4) for i in range(8)], VOLTA))
    assert preferred_set(pairs, 2) == (0, 3)
    assert preferred_set(pairs, 2, [1, 2, 5, 6]) == (1, 2)
    assert preferred_set(pairs, 4) == (0, 1, 2, 3)


def test_mig_slices_are_not_gpus() -> None:
    """Links exist between whole GPUs."""
    machine = Machine(devices=(gpu(0, 0), Device("nvidia.com/mig-1g.5gb", "m", (0,), kind="mig", parent="gpu-0")))
    assert [device.id for device in pairs_of(machine).gpus] == ["gpu-0"]


def test_sets_that_are_linked_as_well_as_the_best_stand_behind_it() -> None:
    """Each pair on one switch is as good as another; the first is the best set."""
    pairs = pairs_of(machine_named("gpu8-128cpu"))
    sets = equal_sets(pairs, 2)
    assert [one.gpus for one in sets] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert sets[0] == best_set(pairs, 2)
    assert equal_sets(pairs, 9) == []
