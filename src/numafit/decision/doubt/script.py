"""Choices that fall as a script says, and what was chosen by it in place of what numafit chooses."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, permutations
from math import comb, factorial
from typing import TypeVar

from numafit.bits import cpuset_text
from numafit.decision.doubt.other import Dependence
from numafit.managers.protocol import Choices, Draw, WatchedChoices
from numafit.workload.pod import Pod

T = TypeVar("T")


class ScriptedChoices(Choices):
    """The choice of each draw by its number; 0, what numafit chooses, where the script ends.

    The order of static pods is given as a whole, by their UIDs; there are too many orders to number them.
    """

    def __init__(self, script: Sequence[int] = (), order: Sequence[str] = ()) -> None:
        self.script = script
        self.order = order
        self.taken: list[int] = []
        self.options: list[int] = []
        """How many there were at each draw."""
        self.depends: list[Dependence] = []
        """Where something else was chosen than numafit chooses; pods by their UIDs."""

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
        chosen = next(islice(combinations(ordered, count), number, None))
        self._note(Draw("devices", container, resource, len(ordered), count), chosen, ordered[:count])
        return chosen

    def preferred(self, container: str, resource: str, answers: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
        listed = list(answers)
        chosen = listed[self._next(len(listed))]
        self._note(Draw("preferred", container, resource, count=len(chosen)), chosen, listed[0])
        return chosen

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        ordered = sorted(nodes)
        chosen = self._permuted(ordered)
        self._note(Draw("nodes"), [str(node) for node in chosen], [str(node) for node in ordered])
        return chosen

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        ordered = sorted(names)
        chosen = self._permuted(ordered)
        self._note(Draw("resources", container), chosen, ordered)
        return chosen

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        ordered = sorted(containers)
        chosen = self._permuted(ordered)
        self._note(Draw("stale"), ["/".join(each) for each in chosen], ["/".join(each) for each in ordered])
        return chosen

    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        place = {uid: number for number, uid in enumerate(self.order)}
        chosen = sorted(pods, key=lambda pod: place.get(pod.uid, len(place)))
        names = [pod.uid for pod in chosen]
        self._note(Draw("pods", candidates=len(pods)), names, [pod.uid for pod in pods])
        return chosen

    def victim(self, uids: Sequence[str]) -> str:
        chosen = uids[-1 - self._next(len(uids))]
        self._note(Draw("victim", candidates=len(uids), count=1), [chosen], [uids[-1]])
        return chosen

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        listed = list(outcomes)
        chosen = listed[self._next(len(listed))]
        self._note(Draw("cpus", container), [cpuset_text(chosen)], [cpuset_text(listed[0])])
        return chosen

    def _next(self, options: int) -> int:
        """A draw with one possibility is none."""
        if options < 2:
            return 0
        place = len(self.taken)
        self.taken.append(self.script[place] if place < len(self.script) else 0)
        self.options.append(options)
        return self.taken[-1]

    def _permuted(self, ordered: list[T]) -> Sequence[T]:
        return next(islice(permutations(ordered), self._next(factorial(len(ordered))), None))

    def _note(self, draw: Draw, taken: Sequence[str], instead: Sequence[str]) -> None:
        if tuple(taken) != tuple(instead):
            self.depends.append(Dependence(draw, tuple(taken), tuple(instead)))


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

    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        return super().pods(pods)[::-1]

    def victim(self, uids: Sequence[str]) -> str:
        super().victim(uids)
        return uids[0]

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        return list(outcomes)[-1]
