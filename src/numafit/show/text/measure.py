"""How a measurement reads: matrices with bars, and what binding brought a command, in sentences."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from numafit.bits import cpuset_text
from numafit.host.measure.gain import AS_IT_IS, BADLY, WAYS, WELL, CommandMeasured, Gain
from numafit.host.measure.result import CPU_PAIRS, Figure, Measured, NodePair
from numafit.show.records.measure import TEST
from numafit.show.table import PLAIN, Screen, aligned, matrix
from numafit.show.words import printable

BAR = 8
"""Letters of the longest bar."""
ONE_NODE = "CPUs of one NUMA node and memory of one: there is nothing to compare"
ENOUGH_ROUNDS = 4
"""Of two times four equal figures the lowest four are all of one side in 3 of 100 cases."""


def measured_text(measured: Measured, screen: Screen = PLAIN, *, blocks: bool = True) -> str:
    """`blocks`: bars are drawn with block letters, else with `#`."""
    letter = "█" if blocks else "#"
    parts = [
        _matrix(measured, "read bandwidth, GB/s", _bandwidth, 1e9, letter, screen),
        _matrix(measured, "latency of a load, ns", _latency, 1.0, letter, screen),
        _cpus(measured, screen),
        _gpus(measured, letter, screen),
        "\n".join(_sentences(measured)),
    ]
    return "\n\n".join(part for part in parts if part)


def _bandwidth(pair: NodePair) -> Figure | None:
    return pair.bandwidth


def _latency(pair: NodePair) -> Figure | None:
    return pair.latency


def _matrix(
    measured: Measured,
    title: str,
    figure: Callable[[NodePair], Figure | None],
    unit: float,
    letter: str,
    screen: Screen,
) -> str:
    """Rows are the nodes of the CPUs, columns those of the memory."""
    found = [own.middle for pair in measured.pairs if (own := figure(pair)) is not None]
    if not found:
        return ""
    most = max(found)
    rows: list[Sequence[str]] = [("", *(f"memory {node}" for node in measured.memories))]
    for node in measured.callers:
        cells = [figure(measured.pair(node, memory)) for memory in measured.memories]
        rows.append((f"CPUs of node {node}", *(_cell(cell, most, unit, letter) for cell in cells)))
    return f"{title} (median; ± half of the range of all rounds)\n{matrix(rows, screen=screen)}"


def _cell(figure: Figure | None, most: float, unit: float, letter: str) -> str:
    if figure is None:
        return "-"
    bar = letter * max(round(BAR * figure.middle / most), 1)
    spread = f"±{_number((figure.high - figure.low) / 2 / unit)}" if figure.rounds > 1 else ""
    return f"{_number(figure.middle / unit):>5} {spread:<5} {bar:<{BAR}}"


def _number(value: float) -> str:
    """About three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _cpus(measured: Measured, screen: Screen) -> str:
    rows: list[Sequence[str]] = [("from CPU to CPU, ns one way (shortest)", "median", "range", "pairs")]
    for kind in CPU_PAIRS:
        times = [pair.latency for pair in measured.cpus if pair.kind == kind]
        if times:
            spread = f"{_number(min(times))}-{_number(max(times))}" if len(times) > 1 else "-"
            rows.append((kind, _number(median(times)), spread, str(len(times))))
    return aligned(rows, (1, 2, 3), screen) if len(rows) > 1 else ""


def _gpus(measured: Measured, letter: str, screen: Screen) -> str:
    if not measured.gpus:
        return ""
    figures = [own for copy in measured.gpus for own in (copy.to_gpu, copy.from_gpu) if own is not None]
    most = max(figure.middle for figure in figures)
    rows: list[Sequence[str]] = [("GPU copies, GB/s", "memory", "to the GPU", "from the GPU")]
    for copy in measured.gpus:
        cells = [_cell(own, most, 1e9, letter) for own in (copy.to_gpu, copy.from_gpu)]
        rows.append((printable(f"{copy.gpu} {copy.name}".strip()), f"node {copy.node}", *cells))
    return aligned(rows, screen=screen)


def _sentences(measured: Measured) -> Iterator[str]:
    if not measured.comparable:
        yield ONE_NODE
    else:
        yield from _worst(measured)
    proofs = sorted({node.proof for node in measured.nodes if node.proof and node.proof != "the only node"})
    if proofs:
        yield f"every page was where it should be, by {' and '.join(proofs)}"
    yield from (printable(note) for note in measured.notes)
    if not measured.whole:
        yield "stopped before its end: what is missing was not measured"


def _worst(measured: Measured) -> Iterator[str]:
    """For each node the memory that costs most, against its own; only where the ranges of both lie apart, in so many
    rounds that chance seldom does that."""
    for node in measured.callers:
        near = measured.pair(node, node)
        for name, figure, worse in (("bandwidth", _bandwidth, False), ("latency", _latency, True)):
            own = figure(near)
            others = [
                (memory, found)
                for memory in measured.memories
                if memory != node and (found := figure(measured.pair(node, memory))) is not None
            ]
            if own is None or not others:
                continue
            memory, far = (max if worse else min)(others, key=lambda one: one[1].middle)
            apart = far.low > own.high if worse else far.high < own.low
            if apart and min(far.rounds, own.rounds) >= ENOUGH_ROUNDS:
                ratio = far.middle / own.middle
                yield f"node {node}: {name} of memory {memory} is {ratio:.0%} of that of its own memory"


def command_text(measured: CommandMeasured, screen: Screen = PLAIN, *, blocks: bool = True) -> str:
    places = measured.places
    where = {
        AS_IT_IS: "where the kernel puts it",
        WELL: f"CPUs {cpuset_text(places.cpus)}, memory preferred from node {places.near}",
        BADLY: f"CPUs {cpuset_text(places.cpus)}, memory preferred from node {places.far} ({places.far_by})",
    }
    known = {way: times for way in WAYS if (times := measured.seconds[way])}
    most = max((median(times) for times in known.values()), default=0.0)
    rows: list[Sequence[str]] = [("", "seconds", "range", "", "rounds", "where")]
    for way, times in known.items():
        bar = ("█" if blocks else "#") * max(round(BAR * median(times) / most), 1)
        spread = f"{_seconds(min(times))}-{_seconds(max(times))}"
        rows.append((way, _seconds(median(times)), spread, bar, str(len(times)), where[way]))
    sentences = [gain_sentence(measured, slow) for slow in (BADLY, AS_IT_IS)]
    if any(sentences):
        sentences.append(f"decided by the {TEST}")
    if not measured.whole:
        sentences.append("stopped before its end")
    table = aligned(rows, (1, 2, 4), screen) if known else ""
    return "\n\n".join(part for part in (table, "\n".join(filter(None, sentences))) if part)


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value >= 10 else f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"


def gain_sentence(measured: CommandMeasured, other: str) -> str:
    """Bound well against another way; empty while one of both has no time."""
    gain = measured.gain(other, WELL)
    if gain is None:
        return ""
    numbers = f"{gain.ratio:.3g} times ({gain.low:.3g} to {gain.high:.3g})"
    if not gain.enough:
        return f"{other} took {numbers} as long as {WELL}: too few rounds to tell that from noise"
    chance = _chance(gain)
    if not gain.real:
        return f"{other} took {numbers} as long as {WELL}: no more than noise may give ({chance})"
    word = "slower" if gain.ratio > 1 else "quicker"
    return f"{other} is {word}: it took {numbers} as long as {WELL}, which is more than noise ({chance})"


def _chance(gain: Gain) -> str:
    return f"p = {gain.chance:.2g}"
