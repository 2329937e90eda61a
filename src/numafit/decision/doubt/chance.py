"""What else could have come out where the kubelet leaves a decision to chance.

A decision is made again and again, each time with other choices, until no other ones are left or enough outcomes are
found. Every outcome listed is one that some order of Go's maps leads to; the decisions before it are as they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice, permutations
from math import comb, factorial
from typing import Literal, TypeVar

import msgspec

from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.history.step import Step
from numafit.decision.simulation import Simulation, play_events
from numafit.managers.protocol import Choices, Draw, WatchedChoices
from numafit.notes import Note

T = TypeVar("T")

MOST_TRIES = 2000
"""Decisions that are made to find the outcomes of one."""

Extent = Literal["all", "more", "not searched"]
"""Of a list of outcomes: there are no others; there are others; nobody knows, for there are too many orders to try."""


class Others(msgspec.Struct, frozen=True):
    decisions: tuple[Decision, ...]
    """Each with another outcome; without the one that is shown."""
    extent: Extent


class ScriptedChoices(Choices):
    """The choice of each draw by its number; 0, what numafit chooses, where the script ends."""

    def __init__(self, script: Sequence[int] = ()) -> None:
        self.script = script
        self.taken: list[int] = []
        self.options: list[int] = []
        """How many there were at each draw."""

    def _next(self, options: int) -> int:
        """A draw with one possibility is none."""
        if options < 2:
            return 0
        place = len(self.taken)
        self.taken.append(self.script[place] if place < len(self.script) else 0)
        self.options.append(options)
        return self.taken[-1]

    def following(self) -> list[int] | None:
        """The script of the next try, in lexicographic order; None after the last one."""
        script = list(self.taken)
        while script and script[-1] + 1 == self.options[len(script) - 1]:
            script.pop()
        return [*script[:-1], script[-1] + 1] if script else None

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        ordered = sorted(candidates)
        count = min(count, len(ordered))
        number = self._next(comb(len(ordered), count))
        return next(islice(combinations(ordered, count), number, None))

    def preferred(self, container: str, resource: str, answers: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
        listed = list(answers)
        return listed[self._next(len(listed))]

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        return self._permuted(sorted(nodes))

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        return self._permuted(sorted(names))

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        return self._permuted(sorted(containers))

    def victim(self, uids: Sequence[str]) -> str:
        return uids[-1 - self._next(len(uids))]

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        listed = list(outcomes)
        return listed[self._next(len(listed))]

    def _permuted(self, ordered: list[T]) -> Sequence[T]:
        return next(islice(permutations(ordered), self._next(factorial(len(ordered))), None))


def others(made: Decision, again: Callable[[Choices], Decision], most: int) -> Others:
    """Up to `most` outcomes of a decision besides the one that was made; `again` makes it with other choices."""
    seen = [_outcome(made)]
    found: list[Decision] = []
    script: list[int] | None = []
    for _ in range(MOST_TRIES):
        if script is None:
            return Others(tuple(found), "all")
        choices = ScriptedChoices(script)
        decision = again(choices)
        script = choices.following()
        if _outcome(decision) in seen:
            continue
        if len(found) == most:
            return Others(tuple(found), "more")
        seen.append(_outcome(decision))
        found.append(decision)
    return Others(tuple(found), "all" if script is None else "not searched")


def _of_step(simulation: Simulation, step: Step, most: int) -> Others:
    before = step.before
    if before is None:
        return Others((), "not searched")

    def again(choices: Choices) -> Decision:
        return decide(simulation.node_of(step), before, step.decision.pod, simulation.allocatable, choices)

    return others(step.decision, again, most)


def others_of_run(simulation: Simulation, most: int) -> dict[int, Others]:
    """By the number of the step; only where there are others, or may be."""
    found = {number: _of_step(simulation, step, most) for number, step in enumerate(simulation.steps) if step.draws}
    return {number: own for number, own in found.items() if own.decisions or own.extent != "all"}


def _outcome(decision: Decision) -> tuple[object, ...]:
    held = decision.containers if decision.admitted else None
    evicted = {victim.pod.uid for victim in decision.evicted}
    return decision.admitted, decision.reason, decision.message, decision.panic, held, evicted


class LastChoices(WatchedChoices):
    """Chooses at each draw what numafit would choose last: a run that is as possible as the one that is shown."""

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        return super().devices(container, resource, candidates, count)[::-1]

    def preferred(self, container: str, resource: str, answers: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
        return list(answers)[-1]

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        return super().nodes(nodes)[::-1]

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        return super().resources(container, names)[::-1]

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        return super().stale(containers)[::-1]

    def victim(self, uids: Sequence[str]) -> str:
        super().victim(uids)
        return uids[0]

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        return list(outcomes)[-1]


def chance_notes(simulation: Simulation) -> tuple[Note, ...]:
    """For each pod whose decision could have come out otherwise, or follows from one that could."""
    steps = simulation.steps
    own = {number for number, step in enumerate(steps) if step.draws and _differs(simulation, step)}
    notes = {number: _text(steps[number].draws) for number in own}
    if any(step.draws for step in steps):
        notes |= dict.fromkeys(_followers(simulation) - own, FOLLOWS)
    return tuple(
        Note("left-to-chance", steps[number].decision.pod.full_name, text) for number, text in sorted(notes.items())
    )


def _differs(simulation: Simulation, step: Step) -> bool:
    """Other devices are another outcome at once; of orders only a try can tell."""
    if step.decision.admitted and any(draw.kind in ("devices", "preferred") for draw in step.draws):
        return True
    return bool(_of_step(simulation, step, 1).decisions)


def _followers(simulation: Simulation) -> set[int]:
    """The decisions that came out otherwise in one other run. That none did there proves nothing."""
    first = next(number for number, step in enumerate(simulation.steps) if step.draws)
    if first + 1 == len(simulation.steps):
        return set()
    other = play_events(simulation.begin, simulation.events, LastChoices).steps
    return {
        number
        for number, step in enumerate(simulation.steps)
        if number > first and (number >= len(other) or _outcome(other[number].decision) != _outcome(step.decision))
    }


FOLLOWS = "what it gets follows from what is left to chance before it"


def _text(draws: Sequence[Draw]) -> str:
    chosen = next((draw for draw in draws if draw.kind in ("devices", "preferred")), None)
    victim = next((draw for draw in draws if draw.kind == "victim"), None)
    if chosen is None and victim is not None:
        what = f"which of {victim.candidates} equal pods is evicted for it is left to chance"
    elif chosen is None:
        what = "what it gets is left to chance"
    elif chosen.kind == "devices":
        what = f"which {chosen.count} of {chosen.candidates} {chosen.resource} it gets is left to chance"
    else:
        what = f"which {chosen.resource} it gets is left to chance"
    return f"{what} (`simulate --outcomes 5` lists others)"
