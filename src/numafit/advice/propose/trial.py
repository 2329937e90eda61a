"""One pod among others on a node, and the question that every proposal has to pass: is it placed well then?"""

from functools import cached_property

import msgspec
from msgspec.structs import replace

from numafit.advice.alignment import floating, is_aligned, torn
from numafit.advice.propose.course import Course
from numafit.advice.propose.knobs import as_new, is_valid
from numafit.decision.decide import Load, load_after, load_beside, offered_by, requests_of
from numafit.decision.decision import Decision
from numafit.decision.life import start_containers
from numafit.decision.simulation import Simulation
from numafit.decision.stage import Stage
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod


class Trial(msgspec.Struct, frozen=True, dict=True):
    """`pods[index]` is the one that advice is for; the others are played before and after it."""

    course: Course
    """How it goes without any change."""
    index: int
    group: tuple[int, ...]
    """All pods that are made from the same template, this one too: a change of the template changes them all."""

    @property
    def stage(self) -> Stage:
        return self.course.stage

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.course.pods

    @property
    def simulation(self) -> Simulation:
        return self.course.simulation

    @property
    def pod(self) -> Pod:
        return self.pods[self.index]

    @property
    def decision(self) -> Decision:
        return self.course.steps[self.index].decision

    @property
    def before(self) -> Ledger:
        """The ledger that the pod meets."""
        return self.course.ledger_before(self.index)

    @cached_property
    def load_before(self) -> Load:
        """What those that are there before it ask for together."""
        return self.course.load_before(self.index)

    @cached_property
    def floats(self) -> bool:
        """Its only fault is that it runs in the shared pool."""
        node = self.stage.node
        return bool(floating(node, self.decision)) and is_aligned(node, self.decision) and not torn(node, self.decision)

    @cached_property
    def tears(self) -> bool:
        """It is aligned, and its fault is that its GPUs are torn."""
        node = self.stage.node
        return bool(torn(node, self.decision)) and is_aligned(node, self.decision)

    def good(self, decision: Decision, stage: Stage | None = None) -> bool:
        """Admitted and aligned; with exclusive CPUs or near GPUs, if the lack of them was the fault."""
        node = (stage or self.stage).node
        if not is_aligned(node, decision) or (self.tears and torn(node, decision)):
            return False
        return not (self.floats and floating(node, decision))

    def tried(self, pod: Pod) -> Decision | None:
        """The decision on the pod in a changed form, if that is valid and every pod of its group is placed well.

        Raises SearchCut."""
        self.course.begin_trial()
        if not is_valid(pod) or self._too_many(pod):
            return None
        found: Decision | None = None
        changed = self._changed(pod)
        ledger, load = self.course.ledger_before(self.group[0]), self._there
        settings = self.stage.node.settings
        for i in range(self.group[0], self.group[-1] + 1):
            each = changed.get(i, self.pods[i])
            load = load_beside(settings, load, ledger, each.uid)
            decision = self.stage.decide(ledger, each, load)
            if decision.panic or (i in changed and not self.good(decision)):
                return None
            ledger = decision.ledger
            load = load_after(settings, load, decision)
            if decision.admitted:
                ledger = start_containers(self.stage.node, ledger, each.uid)[0]
            if i == self.index:
                found = decision
        return found

    def loses(self, pod: Pod) -> tuple[str, ...] | None:
        """The pods that the changed form keeps out; None if the kubelet would crash at one of them."""
        first = self.group[0]
        return self.course.lost(self.course.ledger_before(first), first, self._changed(pod))

    def loses_behind(self, ledger: Ledger, most: int | None = None) -> tuple[str, ...] | None:
        """The pods behind this one that are rejected when they meet this ledger.

        None if the kubelet would crash, or if there are more than `most`.
        """
        return self.course.lost(ledger, self.index + 1, {}, most)

    def _too_many(self, pod: Pod) -> bool:
        """The group together asks for more than the node as a whole has beside those that are there before it.

        The last of the group would be rejected for that, if not one before it; so no pod has to be tried. For critical
        pods others would be evicted.
        """
        group = len(self.group)
        if group == 1 or pod.critical or len({self.pods[i].uid for i in self.group}) < group:
            return False
        most, there = self._most, self._there
        if "pods" in most and there.pods + group > most["pods"]:
            return True
        return any(
            amount > 0 and name in most and amount * group + there.amounts.get(name, 0) > most[name]
            for name, amount in requests_of(self.stage.node.settings, pod).items()
        )

    @cached_property
    def _most(self) -> dict[str, int]:
        """What the node as a whole has at the most. Devices that are held count, whatever their health."""
        device = self.before.device
        known = {name: len(ids | device.allocated.get(name, frozenset())) for name, ids in device.healthy.items()}
        return offered_by(device, self.stage.allocatable) | known

    @cached_property
    def _there(self) -> Load:
        return self.course.load_before(self.group[0])

    def _changed(self, pod: Pod) -> dict[int, Pod]:
        """The pods of the group in the changed form."""
        form = as_new(pod)
        return {i: replace(form, uid=self.pods[i].uid, name=self.pods[i].name) for i in self.group}
