"""How pods go on a node without any change: what all trials on them share."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property

import msgspec

from numafit.decision.decide import Load, load_of
from numafit.decision.history.step import Step
from numafit.decision.simulation import Simulation
from numafit.decision.stage import Stage
from numafit.decision.verdicts import Verdicts, shape_of, verdicts
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod


class SearchCut(Exception):
    """No more is to be tried; what was found so far counts."""


class Course(msgspec.Struct, frozen=True, dict=True):
    stage: Stage
    pods: tuple[Pod, ...]
    simulation: Simulation
    """Of these pods, as far as the kubelet comes."""
    goes_on: Callable[[], bool] = lambda: True
    """Asked before each trial: whether there is time for it."""

    def begin_trial(self) -> None:
        """Raises SearchCut."""
        if not self.goes_on():
            raise SearchCut

    @cached_property
    def shapes(self) -> tuple[int, ...]:
        """For each pod the number of its shape."""
        return tuple(self._number(pod) for pod in self.pods)

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {}

    def _number(self, pod: Pod) -> int:
        return self._numbers.setdefault(shape_of(pod), len(self._numbers))

    @cached_property
    def admitted(self) -> tuple[int, ...]:
        """Without those that are evicted later, for a critical pod."""
        evicted = {victim.pod.uid for step in self.steps for victim in step.decision.evicted}
        return tuple(
            i for i, step in enumerate(self.steps) if step.decision.admitted and step.decision.pod.uid not in evicted
        )

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """One for each pod."""
        return tuple(step for step in self.simulation.steps if step.event == "add")

    @property
    def end(self) -> int:
        """Behind the last pod that is admitted: of those from here on none can be lost."""
        return self.admitted[-1] + 1 if self.admitted else 0

    def ledger_before(self, index: int) -> Ledger:
        return self.steps[index - 1].ledger if index else self.simulation.before

    def load_before(self, index: int) -> Load:
        return load_of(self.stage.node.settings, self.ledger_before(index).active.values())

    def lost(
        self, ledger: Ledger, start: int, changed: Mapping[int, Pod], most: int | None = None
    ) -> tuple[str, ...] | None:
        """The pods from `start` on that are rejected now and were not, as `namespace/name`, when they are played on
        this ledger, some of them changed. None if the kubelet would crash, or if there are more than `most`."""
        if start >= self.end:
            return ()
        pods = [changed.get(i, self.pods[i]) for i in range(start, self.end)]
        shapes = self._shapes_of(changed, start, self.end)
        stage = self.stage
        expected = [i - start for i in self.admitted[bisect_left(self.admitted, start) :]]
        found = verdicts(stage.node, ledger, pods, stage.allocatable, shapes=shapes, expected=expected, most_lost=most)
        lost = self.newly_rejected(found, start)
        return None if found.crash or (most is not None and len(lost) > most) else lost

    def _shapes_of(self, changed: Mapping[int, Pod], start: int, end: int) -> list[int]:
        shapes = list(self.shapes[start:end])
        for i, pod in changed.items():
            if start <= i < end:
                shapes[i - start] = self._number(pod)
        return shapes

    def newly_rejected(self, found: Verdicts, offset: int = 0) -> tuple[str, ...]:
        """Of the pods from `offset` on, as far as they were decided."""
        last = offset + found.end
        return tuple(
            self.pods[i].full_name for i in self.admitted if offset <= i < last and i - offset not in found.admitted
        )
