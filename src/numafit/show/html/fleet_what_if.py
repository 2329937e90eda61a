"""A fleet with one thing changed as a page: what each change gains, and how many nodes are enough."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from numafit.fleet.simulation.outcome import FleetMoment, RuleOutcome
from numafit.fleet.what_if.gain import overdue_of
from numafit.show.html.graph import Dot, graph_text
from numafit.show.html.parts import page_text, stands_on, table_html
from numafit.show.html.plot import Curve, plot_text
from numafit.show.records.fleet_what_if import FleetSize, FleetSizeAnswer, FleetWhatIfAnswer
from numafit.show.text.fleet.simulation import GIB, duration_text, skipped_text
from numafit.show.text.fleet.what_if import (
    AS_IT_IS,
    pins_memory,
    reached_row,
    size_lines,
    size_row,
    verdict_lines,
    waits_row,
)

LOOKS = ("first", "second", "third")
"""Of the changes that are drawn over time: those that gain most."""
WAIT_HEADS = ("change", "overdue", "pods rejected", "made again", "mean wait", "99 % wait", "never placed")
SIZE_HEADS = ("nodes", "enough", "overdue", "pods rejected", "mean wait", "99 % wait", "never placed")


def what_if_page(answer: FleetWhatIfAnswer) -> str:
    named = [(AS_IT_IS, answer.before), *((own.change, own.outcome) for own in answer.changes)]
    memory = pins_memory(own for _, own in named)
    # One that makes no difference would lie over the fleet as it is.
    drawn = [named[0], *((own.change, own.outcome) for own in answer.changes if not own.idle)]
    parts = [
        f'<section><h2>Which change gains most</h2><p class="verdict">{escape(" ".join(verdict_lines(answer)))}</p>',
        f'<p class="note">{escape(_overdue(answer.limit))}</p>',
        '<div class="card"><div class="shares">',
        *_bars(named, answer.pods),
        "</div></div></section>",
        "<section><h2>Rejections and waiting</h2>",
        table_html(WAIT_HEADS, (waits_row(name, own, answer.pods) for name, own in named)),
        "<h2>How aligned it is, and what is stranded</h2>",
        '<p class="note">Containers whose exclusive CPUs are on one NUMA node; whose memory, whose devices are at '
        "these CPUs. Stranded is what is free and cannot be used with the rest of its NUMA node; mean over time.</p>",
        table_html(_reached_heads(memory), (reached_row(name, own, memory=memory) for name, own in named)),
        "</section>",
        *_over_time(drawn[: 1 + len(LOOKS)]),
        *_told(answer, [f"not possible: {own.change}: {own.why}" for own in answer.refused]),
    ]
    return page_text("A fleet, and what if", _subtitle(answer), parts)


def _reached_heads(memory: bool) -> tuple[str, ...]:
    near, stranded = (("memory near",), ("memory stranded",)) if memory else ((), ())
    return ("change", "CPUs together", *near, "devices near", "CPUs stranded", *stranded, "GPUs stranded")


def _subtitle(answer: FleetWhatIfAnswer | FleetSizeAnswer) -> str:
    return f"{answer.pods:,} pods in {duration_text(answer.seconds)} on {answer.nodes:,} nodes, placed by {answer.rule}"


def _overdue(limit: float) -> str:
    return f"Overdue is who waits longer than {duration_text(limit)}, or has no node at the end."


def _bars(named: Sequence[tuple[str, RuleOutcome]], pods: int) -> Iterator[str]:
    """How many are overdue: the longest bar is that of most of them."""
    most = max(max(overdue_of(own) for _, own in named), 1)
    for place, (name, own) in enumerate(named):
        late = overdue_of(own)
        told = f"{late:,} of {pods:,} pods overdue"
        bar = f'<i class="{"before" if not place else "after"}" style="width:{85 * late / most:.2f}%"></i>'
        yield (
            f"<span>{escape(name)}</span>"
            f'<span class="amount" role="img" aria-label="{told}">{bar}<b>{late / pods:.2%}</b></span>'
        )


def _over_time(named: Sequence[tuple[str, RuleOutcome]]) -> Iterator[str]:
    looks = ("now", *LOOKS)
    yield '<section><h2>The fleet over time</h2><ul class="key">'
    for (name, _), look in zip(named, looks, strict=False):
        sample = f'<svg viewBox="0 0 28 8" aria-hidden="true"><path class="rule {look}" d="M0 4H28"/></svg>'
        yield f"<li>{sample}{escape(name)}</li>"
    yield '</ul><div class="plots">'
    yield _plot("Pods that wait", named, looks, lambda own: own.waiting)
    yield _plot("CPUs that are asked for", named, looks, lambda own: 100 * own.used_cpus, " %")
    yield _plot("CPUs that are stranded", named, looks, lambda own: own.stranded_cpus)
    if any(moment.stranded_memory for _, own in named for moment in own.moments):
        yield _plot("Memory that is stranded, GiB", named, looks, lambda own: own.stranded_memory / GIB)
    if any(moment.stranded_gpus for _, own in named for moment in own.moments):
        yield _plot("GPUs that are stranded", named, looks, lambda own: own.stranded_gpus)
    for place, left in enumerate(named[0][1].large):
        yield _plot(f"Room for large pods: {left.shape.name}", named, looks, _room(place))
    yield "</div></section>"


def _room(place: int) -> Callable[[FleetMoment], float]:
    return lambda own: own.large[place] if place < len(own.large) else 0


def _plot(
    title: str,
    named: Sequence[tuple[str, RuleOutcome]],
    looks: Sequence[str],
    amount: Callable[[FleetMoment], float],
    unit: str = "",
) -> str:
    curves = [
        Curve(name, look, tuple((at.at, float(amount(at))) for at in own.moments))
        for (name, own), look in zip(named, looks, strict=False)
    ]
    # What gains most is drawn last, over the others.
    drawn = plot_text(title, [curves[0], *reversed(curves[1:])], unit)
    return f'<figure class="card"><h3>{escape(title)}</h3>{drawn}</figure>'


def fleet_size_page(answer: FleetSizeAnswer) -> str:
    parts = [
        f'<p class="note">{escape(_overdue(answer.limit))} At most {100 * answer.part:g} % of the pods may be so.</p>'
    ]
    for fleet in answer.fleets:
        parts += _size(answer, fleet)
    granted = "numbers between were not all played: it is taken for granted that more nodes are enough where fewer are"
    parts += _told(answer, [granted])
    return page_text("How many nodes are enough", _subtitle(answer), parts)


def _size(answer: FleetSizeAnswer, fleet: FleetSize) -> Iterator[str]:
    yield f"<section><h2>The fleet {escape(f'with {fleet.change}' if fleet.change else AS_IT_IS)}</h2>"
    yield f'<p class="verdict">{escape(" ".join(size_lines(answer, fleet)))}</p><div class="plots beside">'
    dots = [
        Dot(
            own.nodes,
            100 * own.overdue / answer.pods,
            "good-dot" if own.enough else "bad-dot",
            f"{own.nodes:,} nodes: {own.overdue / answer.pods:.2%} overdue",
        )
        for own in fleet.played
    ]
    said = "What was played; the dashed line is what may be overdue."
    title = "Overdue by the number of nodes"
    yield f'<figure class="card"><h3>{title}</h3><p class="note">{said}</p>'
    yield f"{graph_text(title, dots, 100 * answer.part, ' %')}</figure>"
    yield table_html(SIZE_HEADS, (size_row(own, answer.pods) for own in fleet.played))
    yield "</div></section>"


def _told(answer: FleetWhatIfAnswer | FleetSizeAnswer, more: Sequence[str]) -> Iterator[str]:
    said = [*more, *(note.text for note in answer.notes)]
    if answer.skipped:
        said.append(skipped_text(answer.skipped))
    yield from stands_on(said) if said else ()
