"""One pod among others on a node, and the question that every proposal has to pass: is it placed well then?"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from numafit.advice.alignment import floating, is_aligned, torn
from numafit.advice.propose.knobs import as_new, is_valid
from numafit.decision.decision import Decision
from numafit.decision.life import start_containers
from numafit.decision.simulation import Simulation
from numafit.decision.stage import Stage
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod


class Trial(msgspec.Struct, frozen=True):
    """`pods[index]` is the one that advice is for; the others are played before and after it."""

    stage: Stage
    pods: tuple[Pod, ...]
    index: int
    group: tuple[int, ...]
    """All pods that are made from the same template, this one too: a change of the template changes them all."""
    simulation: Simulation
    """How it goes without any change."""

    @property
    def pod(self) -> Pod:
        return self.pods[self.index]

    @property
    def decision(self) -> Decision:
        return self.simulation.steps[self.index].decision

    @property
    def before(self) -> Ledger:
        """The ledger that the pod meets."""
        return self.ledger_before(self.index)

    @property
    def rest(self) -> tuple[Pod, ...]:
        """The pods after it, up to the last one that is admitted: of those behind that one none can be lost."""
        return self.pods[self.index + 1 : self._end]

    @property
    def _end(self) -> int:
        admitted = (
            i for i in reversed(range(len(self.simulation.steps))) if self.simulation.steps[i].decision.admitted
        )
        return next(admitted, -1) + 1

    def ledger_before(self, index: int) -> Ledger:
        return self.simulation.steps[index - 1].ledger if index else self.simulation.before

    @property
    def floats(self) -> bool:
        """Its only fault is that it runs in the shared pool."""
        node = self.stage.node
        return bool(floating(node, self.decision)) and is_aligned(node, self.decision) and not torn(node, self.decision)

    @property
    def tears(self) -> bool:
        """It is aligned, and its fault is that its GPUs are torn."""
        node = self.stage.node
        return bool(torn(node, self.decision)) and is_aligned(node, self.decision)

    def good(self, decision: Decision, stage: Stage | None = None) -> bool:
        """Admitted and aligned; with exclusive CPUs or near GPUs, if the lack of them was the fault."""
        node = (stage or self.stage).node
        if not is_aligned(node, decision) or (torn(node, decision) and self.tears):
            return False
        return not (floating(node, decision) and self.floats)

    def tried(self, pod: Pod) -> Decision | None:
        """The decision on the pod in a changed form, if that is valid and every pod of its group is placed well."""
        if not is_valid(pod):
            return None
        found: Decision | None = None
        group = frozenset(self.group)
        ledger = self.ledger_before(self.group[0])
        for i, each in self._changed(pod, self.group[-1] + 1):
            decision = self.stage.decide(ledger, each)
            if decision.panic or (i in group and not self.good(decision)):
                return None
            ledger = decision.ledger
            if decision.admitted:
                ledger = start_containers(self.stage.node, ledger, each.uid)
            if i == self.index:
                found = decision
        return found

    def loses(self, pod: Pod) -> tuple[str, ...]:
        """The pods that the changed form keeps out."""
        changed = [each for _, each in self._changed(pod, self._end)]
        played = self.stage.play(changed, self.ledger_before(self.group[0]))
        return self.newly_rejected(played)

    def newly_rejected(self, played: Simulation) -> tuple[str, ...]:
        """Pods that are admitted without any change and rejected in `played`, as `namespace/name`."""
        admitted = {step.decision.pod.uid for step in self.simulation.steps if step.decision.admitted}
        return tuple(
            step.decision.pod.full_name
            for step in played.steps
            if not step.decision.admitted and step.decision.pod.uid in admitted
        )

    def _changed(self, pod: Pod, end: int) -> Iterator[tuple[int, Pod]]:
        """The pods from the first of the group on, those of the group in the changed form."""
        group, form = frozenset(self.group), as_new(pod)
        for i in range(self.group[0], end):
            each = self.pods[i]
            yield i, replace(form, uid=each.uid, name=each.name) if i in group else each
