"""How the events of a run read: a table with the decisions of each event below it, and each event told as a story."""

from collections.abc import Mapping, Sequence

from numafit.decision.decision import Decision
from numafit.decision.effects import EventTold, effect_in_words, told_events
from numafit.decision.history.lines import line_of
from numafit.decision.history.step import Step
from numafit.decision.simulation import Simulation
from numafit.decision.story.story import story_of
from numafit.ledger.ledger import Ledger
from numafit.notes import Note
from numafit.show.table import CRASH, PLAIN, Screen, Section, sections
from numafit.show.text.simulation import (
    HEADS,
    WIDE_HEADS,
    decision_text,
    labels_of,
    left_table,
    step_rows,
    unsure_pods,
    why_not,
)
from numafit.show.text.story import decision_story


def events_table(
    simulation: Simulation, about: Sequence[Note] = (), *, wide: bool = False, screen: Screen = PLAIN
) -> str:
    """Each event with the decisions that it caused, and what else came of it; `wide` as for a simulation."""
    labels, unsure = labels_of(simulation), unsure_pods(about)
    parts, why = [], []
    for told in told_events(simulation):
        rows: list[Sequence[str]] = []
        for step in told.steps:
            rows += step_rows(step, labels, unsure, wide=wide, screen=screen)
            if not step.decision.admitted:
                why.append(why_not(simulation.node_of(step), step.decision, told.number, told.gone(step.decision)))
        parts.append(Section(line_of(told.happened.event), rows, _lines(told, screen)))
    heads = (*HEADS, *(WIDE_HEADS if wide else ()))
    found = [sections(heads, parts, screen), "\n".join(why), left_table(simulation, screen)]
    return "\n\n".join(part for part in found if part)


def events_story(
    simulation: Simulation, pod: str = "", chances: Mapping[int, str] | None = None, *, screen: Screen = PLAIN
) -> str:
    """Each event told; of one pod (namespace/name), those that it has a part in. `chances`: what was left to chance, by
    the `id` of the decision."""
    found = []
    for told in told_events(simulation, pod):
        title = f"{told.number}. {line_of(told.happened.event)}"
        parts = ["\n".join([title, *(f"   {line}" for line in _lines(told, screen))])]
        parts += [_told(simulation, step, told, chances or {}, screen) for step in told.steps]
        found.append("\n\n".join(parts))
    return "\n\n".join(found)


def _lines(told: EventTold, screen: Screen) -> list[str]:
    happened = told.happened
    lines = [f"{effect.pod}: {effect_in_words(effect)}" for effect in told.effects]
    if happened.void:
        lines.append(f"no effect: {happened.void}")
    if happened.crash and any(step.decision.panic for step in happened.steps):
        lines.append(screen.paint("the kubelet crashes", CRASH))
    elif happened.crash:
        lines.append(f"{screen.paint('the kubelet does not start:', CRASH)} {happened.crash}")
    return lines


def _told(simulation: Simulation, step: Step, told: EventTold, chances: Mapping[int, str], screen: Screen) -> str:
    decision, before = step.decision, told.before.ledger
    chance = chances.get(id(decision), "")
    # Nobody reads the same merge twice: who sits where he sat is told in a line.
    if step.event == "restart" and decision.admitted and _keeps(before, decision):
        place = decision_text(decision).removeprefix("admitted: ")
        parts = [f"{decision.pod.full_name} ({decision.qos}): keeps its place", place, chance]
        return "\n  ".join(part for part in parts if part)
    story = story_of(simulation.node_of(step), decision, chance, told.name, told.gone(decision))
    return decision_story(decision, story, step.event, screen=screen)


def _keeps(before: Ledger, decision: Decision) -> bool:
    uid = decision.pod.uid
    cpus, memory = before.cpu.entries.get(uid, {}), before.memory.entries.get(uid, {})
    devices = before.device.held.get(uid, {})
    return uid in before.active and all(
        (own.cpus, own.memory) == (cpus.get(name), memory.get(name))
        and {resource: set(ids) for resource, ids in own.devices.items()}
        == {resource: set(held.ids) for resource, held in devices.get(name, {}).items()}
        for name, own in decision.containers.items()
    )
