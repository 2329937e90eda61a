"""How a measurement reads: each sentence is true of the figures."""

import pytest
from msgspec.structs import replace

from numafit.host.measure.gain import AS_IT_IS, BADLY, WELL, CommandMeasured, NearFar
from numafit.host.measure.result import CpuPair, Figure, GpuCopy, Measured, MeasuredNode, NodePair
from numafit.show.draw.picture.measured import draw_measured
from numafit.show.records.measure import command_record, measured_record
from numafit.show.table import Screen
from numafit.show.text.measure import command_text, gain_sentence, measured_text


def figure(middle: float, spread: float = 0.0) -> Figure:
    return Figure(middle, middle - spread, middle + spread, 5)


def rate(middle: float, spread: float = 1.0) -> Figure:
    return figure(middle * 1e9, spread * 1e9)


TWO = Measured(
    "2026-11-16T19:00:00Z",
    "abc",
    (MeasuredNode(0, 0b11, 1 << 26, "move_pages"), MeasuredNode(1, 0b1100, 1 << 26, "move_pages")),
    (
        NodePair(0, 0, rate(120), figure(90, 2)),
        NodePair(0, 1, rate(60), figure(150, 3)),
        NodePair(1, 0, rate(61), figure(91, 30)),
        NodePair(1, 1, rate(118, 60), figure(89, 2)),
    ),
    (CpuPair(0, 1, "same NUMA node", 60.0), CpuPair(0, 2, "other socket", 140.0), CpuPair(0, 3, "other socket", 160.0)),
    (GpuCopy("GPU0", "0000:3b:00.0", "NVIDIA H200", 0, rate(55.1, 0.2), rate(54.9, 0.2)),),
    ("CPUs 4-5 took no part: leases hold them",),
)


def test_few_rounds_tell_no_difference() -> None:
    """The ranges of single figures always lie apart."""
    once = replace(
        TWO,
        pairs=tuple(
            replace(pair, bandwidth=replace(pair.bandwidth, rounds=3), latency=None)
            for pair in TWO.pairs
            if pair.bandwidth
        ),
    )
    assert "of that of its own memory" in measured_text(TWO)
    assert "of that of its own memory" not in measured_text(once)


def test_a_matrix_has_numbers_and_bars() -> None:
    """Rows are CPUs, columns memory. A difference is told only where the ranges of both lie apart."""
    assert measured_text(TWO).splitlines() == [
        "read bandwidth, GB/s (median; ± half of the range of all rounds)",
        "                memory 0              memory 1",
        "CPUs of node 0    120 ±1.00 ████████   60.0 ±1.00 ████",
        "CPUs of node 1   61.0 ±1.00 ████        118 ±60.0 ████████",
        "",
        "latency of a load, ns (median; ± half of the range of all rounds)",
        "                memory 0              memory 1",
        "CPUs of node 0   90.0 ±2.00 █████       150 ±3.00 ████████",
        "CPUs of node 1   91.0 ±30.0 █████      89.0 ±2.00 █████",
        "",
        "from CPU to CPU, ns one way (shortest)  median    range  pairs",
        "same NUMA node                            60.0        -      1",
        "other socket                               150  140-160      2",
        "",
        "GPU copies, GB/s  memory  to the GPU            from the GPU",
        "GPU0 NVIDIA H200  node 0   55.1 ±0.20 ████████   54.9 ±0.20 ████████",
        "",
        "node 0: bandwidth of memory 1 is 50% of that of its own memory",
        "node 0: latency of memory 1 is 167% of that of its own memory",
        "every page was where it should be, by move_pages",
        "CPUs 4-5 took no part: leases hold them",
    ]


def test_one_node_has_nothing_to_compare() -> None:
    one = replace(TWO, nodes=TWO.nodes[:1], pairs=TWO.pairs[:1], cpus=(), gpus=(), notes=())
    text = measured_text(one, blocks=False)
    assert "CPUs of node 0    120 ±1.00 ########" in text
    assert "CPUs of one NUMA node and memory of one: there is nothing to compare" in text
    assert "%" not in text


def test_what_was_not_measured_is_a_dash_and_said() -> None:
    """After Ctrl-C."""
    part = replace(TWO, pairs=(TWO.pairs[0],), cpus=(), gpus=(), whole=False)
    text = measured_text(part)
    assert "CPUs of node 1  -" in text
    assert text.endswith("stopped before its end: what is missing was not measured")


def test_a_wide_matrix_goes_on_below() -> None:
    """No line is longer than the screen, and no cell is lost."""
    nodes = tuple(MeasuredNode(id, 1 << id, 1, "") for id in range(8))
    pairs = tuple(NodePair(a, b, rate(100 + a * 8 + b)) for a in range(8) for b in range(8))
    text = measured_text(Measured("", "", nodes, pairs), Screen(80))
    assert max(map(len, text.splitlines())) <= 80
    assert all(f" {100 + number} ±" in text for number in range(64))


def test_the_picture_has_a_square_for_each_pair() -> None:
    """Coloured by what it loses against the best of all, and told in words for those who cannot see it."""
    text = draw_measured(replace(TWO, pairs=TWO.pairs[:3]))
    assert [text.count(f'"nf-{role}" x=') for role in ("near", "middle", "far", "self")] == [3, 1, 2, 2]
    assert "CPUs of node 0, memory 1: 60.0 GB/s 150 ns." in text


def command(seconds: dict[str, tuple[float, ...]], whole: bool = True) -> CommandMeasured:
    return CommandMeasured(("x",), NearFar(0b1111, 0, 1, "farthest by the distance table"), seconds, whole)


QUICK = (1.0, 1.01, 1.02, 1.03, 1.04)
SLOW = (2.0, 2.01, 2.02, 2.03, 2.04)


def test_a_command_is_told_with_its_gain_and_how_that_was_decided() -> None:
    text = command_text(command({AS_IT_IS: QUICK, WELL: QUICK, BADLY: SLOW}))
    assert text.splitlines() == [
        "             seconds        range            rounds  where",
        "as it is       1.020  1.000-1.040  ████           5  where the kernel puts it",
        "bound well     1.020  1.000-1.040  ████           5  CPUs 0-3, memory preferred from node 0",
        "bound badly    2.020  2.000-2.040  ████████       5  CPUs 0-3, memory preferred from node 1 "
        "(farthest by the distance table)",
        "",
        "bound badly is slower: it took 1.98 times (1.93 to 2.03) as long as bound well, which is more than noise "
        "(p = 0.0079)",
        "as it is took 1 times (0.971 to 1.03) as long as bound well: no more than noise may give (p = 1)",
        "decided by the exact Mann-Whitney test, two-sided",
    ]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (tuple(time / 4 for time in QUICK), "as it is is quicker: it took 0.25 times"),
        ((3.0,), "as it is took 2.94 times (2.88 to 3) as long as bound well: too few rounds to tell that from noise"),
        ((), ""),
    ],
)
def test_binding_that_does_harm_or_too_few_rounds_are_told(other: tuple[float, ...], said: str) -> None:
    """A default must never be worse than nothing, and who measures wants to know."""
    assert gain_sentence(command({AS_IT_IS: other, WELL: QUICK, BADLY: ()}), AS_IT_IS).startswith(said)


def test_records_carry_what_the_text_says() -> None:
    machine = measured_record(TWO)
    assert (machine.comparable, machine.nodes[1].cpus, machine.pairs[1].nanoseconds) == (True, "2-3", figure(150, 3))
    record = command_record(command({AS_IT_IS: (1.0,), WELL: QUICK, BADLY: SLOW}))
    assert [(gain.slow, gain.more_than_noise) for gain in record.gains] == [(AS_IT_IS, None), (BADLY, True)]
