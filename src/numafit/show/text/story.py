"""How the story of a decision reads in a terminal."""

from collections.abc import Sequence

from numafit.bits import mask_of
from numafit.decision.decision import Decision, Preempted
from numafit.decision.history.step import StepEvent
from numafit.decision.story.grid import Cell, Row
from numafit.decision.story.story import Chapter, Story
from numafit.decision.story.terms import amount_in_words, nodes_in_words
from numafit.managers.ask import is_memory
from numafit.quantity import Quantity
from numafit.show.table import BAD, CRASH, GOOD, PLAIN, Screen, matrix

DecisionTold = tuple[Decision, Story]


def story_text(stories: Sequence[DecisionTold], screen: Screen = PLAIN) -> str:
    return "\n\n".join(decision_story(decision, story, screen=screen) for decision, story in stories)


def decision_story(decision: Decision, story: Story, event: StepEvent = "add", *, screen: Screen = PLAIN) -> str:
    verdict = _verdict(decision, event)
    verdict = screen.paint(verdict, GOOD if decision.admitted else CRASH if decision.panic else BAD)
    parts = [f"{decision.pod.full_name} ({decision.qos}): {verdict}", f"  {story.sentence}"]
    parts += [f"  {story.chance}"] if story.chance else []
    parts += [_chapter(chapter, screen) for chapter in story.chapters]
    if decision.message:
        who = "API server" if decision.resize == "refused" else "kubelet"
        parts.append(f"  The {who} says: {decision.reason}: {decision.message}")
    if decision.panic:
        parts.append(f"  The kubelet says: {decision.panic}")
    return "\n".join(parts)


def _verdict(decision: Decision, event: StepEvent) -> str:
    if decision.panic:
        return "crash of the kubelet"
    if event == "evict" or isinstance(decision.cause, Preempted):
        return f"evicted, {decision.reason}"
    if decision.resize:
        return f"resize {decision.resize}"
    return "admitted" if decision.admitted else f"rejected, {decision.reason}"


def _chapter(chapter: Chapter, screen: Screen) -> str:
    title = f"container {chapter.container}" if chapter.container else "the pod as a whole"
    lines = ["", f"  {title}"]
    if chapter.grid:
        lines += [f"    {line}".rstrip() for line in _grid(chapter.grid, screen.inside(4))]
    width = max(len(resource) for resource in chapter.hints)
    lines += [f"    {resource.ljust(width)}  {words}" for resource, words in chapter.hints.items()]
    lines.append(f"    {chapter.outcome}")
    return "\n".join(lines)


def _grid(rows: Sequence[Row], screen: Screen) -> list[str]:
    """Free of allocatable per NUMA node; `*` where the request fits now. Holders stand below, node by node."""
    nodes = sorted({cell.numa for row in rows for cell in row.cells})
    table = [["needed (* fits)", *(f"node {node}" for node in nodes)]]
    holders: list[str] = []
    for row in rows:
        cells = {cell.numa: cell for cell in row.cells}
        line = [amount_in_words(row.resource, row.needed)]
        for node in nodes:
            cell = cells.get(node)
            if cell is None:
                line.append("-")
                continue
            fits = "*" if cell.fits else " "
            line.append(f"{_short(row.resource, cell.free)} of {_short(row.resource, cell.allocatable)} free{fits}")
            if cell.held or cell.across:
                holders.append(f"{row.resource} on node {node} is held by {_holders(row.resource, cell)}")
        table.append(line)
    return [*matrix(table, screen=screen).split("\n"), *holders]


def _holders(resource: str, cell: Cell) -> str:
    who = [f"{pod} {_short(resource, amount)}" for pod, amount in cell.held.items()]
    who += [
        f"{own.pod} {_short(resource, own.amount)} across {nodes_in_words(mask_of(own.nodes))}" for own in cell.across
    ]
    return ", ".join(who)


def _short(resource: str, amount: int) -> str:
    return str(Quantity(amount, 0, "BinarySI")) if is_memory(resource) else str(amount)
