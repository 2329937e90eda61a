"""The links between GPUs, in words."""

import pytest
from hypothesis import given

from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.model import Machine
from numafit.show.draw.links import draw_links
from numafit.show.records.gpu_links import links_record
from tests.machine.strategies import any_machines
from tests.show.draw.boxes import few, gpu, linked, pairs_box


@few
@given(machine=any_machines())
def test_any_machine_has_an_answer(machine: Machine) -> None:
    """Also with no GPU, or with no link known."""
    assert draw_links(machine).endswith("\n")
    assert len(links_record(machine).gpus) == sum(device.kind == "gpu" for device in machine.devices)


def test_a_set_that_must_cross_is_said_to_cross() -> None:
    """Five GPUs on a 4+4 box; the sizes that fit better are named."""
    text = draw_links(pairs_box(), [5], width=1000).splitlines()[-1]
    assert text == (
        "5 GPUs: GPU0 GPU1 GPU2 GPU3 GPU4; crosses NUMA nodes 0, 1 (4+1): no node has more than 4 GPUs; "
        "worst pair SYS; score 220; uneven, 4 or 8 would fit better"
    )


def test_only_sizes_that_exist_are_said_to_fit_better() -> None:
    """Three GPUs as 1+2: a whole node has two, and no two nodes are equal."""
    machine = linked([gpu(0, 0), gpu(1, 1), gpu(2, 1)], {(1, 2): "NODE"})
    assert draw_links(machine, [3], width=1000).splitlines()[-1].endswith("; uneven, 2 would fit better")


def test_one_gpu_is_chosen_for_a_reason() -> None:
    """Any, if all are alike; the one without a partner; the one that leaves the best pairs."""
    alike = linked([gpu(i, 0) for i in range(4)], {}, "NV18")
    single = linked([gpu(i, 0) for i in range(3)], {(0, 1): "PIX"}, "NODE")
    apart = linked([gpu(0, 0), gpu(1, 1), gpu(2, 1)], {(1, 2): "NODE"})
    assert [draw_links(machine, [1]).splitlines()[-1] for machine in (alike, single, apart)] == [
        "1 GPU: GPU0; NUMA 0; any is as good",
        "1 GPU: GPU2; NUMA 0; it has no partner on its switch",
        "1 GPU: GPU0; NUMA 0; leaves the best pairs to others",
    ]


def test_another_answer_of_the_plugin_is_told() -> None:
    """Two GPUs with NVLinks across NUMA nodes outscore a pair that shares a node."""
    machine = linked([gpu(0, 0), gpu(1, 0), gpu(2, 1)], {(0, 1): "NODE", (0, 2): "NV4"})
    text = draw_links(machine, [2], width=1000).splitlines()[-1]
    assert text.startswith("2 GPUs: GPU0 GPU1; NUMA 0; linked by NODE; score 20; NVIDIA's plugin")
    assert text.endswith("offers GPU0 GPU2 (score 410 against 20)")


@pytest.mark.parametrize("name", ["p100-28cpu", "gpu8-128cpu", "dgx-a100", "dgx-h100", "hgx-a100-4numa", "gb200"])
def test_sixty_columns_are_enough_for_eight_gpus(name: str) -> None:
    """What a kind means goes on below itself, in its own column."""
    text = draw_links(machine_named(name), width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert " ".join(text.split()) == " ".join(draw_links(machine_named(name), width=1000).split())


def test_sizes_beyond_the_machine_are_said_once() -> None:
    """Not a line for each."""
    assert draw_links(pairs_box(), [16, 32]).splitlines()[-1] == "16 or 32 GPUs: the machine has only 8 GPUs"


def test_groups_follow_from_the_matrix() -> None:
    """Switches first, then NUMA nodes."""
    lines = draw_links(pairs_box()).splitlines()
    assert "one switch: [GPU0 GPU1] [GPU2 GPU3] [GPU4 GPU5] [GPU6 GPU7]" in lines
    assert "NUMA 1: GPU4 GPU5 GPU6 GPU7" in lines


def test_no_line_about_a_catalogue_machine_is_wider_than_a_terminal() -> None:
    """Tables aside, which cannot be cut, the words keep to any width; at 80 columns everything does."""
    for name in catalogue():
        assert max(map(len, draw_links(machine_named(name)).splitlines())) <= 80, name
