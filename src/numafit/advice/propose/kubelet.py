"""Other orders for the kubelet, tried on a kubelet that starts with them."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec

from numafit.advice.propose.course import Course
from numafit.advice.propose.orders import KubeletOrder, orders
from numafit.advice.propose.proposal import Proposal
from numafit.advice.propose.reservation import cuts
from numafit.advice.propose.trial import Trial
from numafit.decision.stage import Stage, files_left, restarted
from numafit.decision.verdicts import Verdicts, verdicts
from numafit.errors import KubeletError


class Kubelets(msgspec.Struct, frozen=True, dict=True):
    """Each order on a kubelet that starts with it and is given all the pods anew, once for all trials.

    `asked` are the pods that advice is for.
    """

    course: Course
    asked: frozenset[int]

    @cached_property
    def orders(self) -> tuple[KubeletOrder, ...]:
        return tuple(orders(self.course.stage, self.course.pods))

    @cached_property
    def _runs(self) -> dict[str, tuple[Stage, Verdicts] | None]:
        return {}

    @cached_property
    def _files(self) -> Mapping[str, str]:
        return files_left(self.course.stage)

    def run(self, order: KubeletOrder) -> tuple[Stage, Verdicts] | None:
        """None if the kubelet would not start."""
        if order.text not in self._runs:
            self.course.begin_trial()
            self._runs[order.text] = self._play(order)
        return self._runs[order.text]

    def _play(self, order: KubeletOrder) -> tuple[Stage, Verdicts] | None:
        course = self.course
        end = max([course.end, *(index + 1 for index in self.asked)])
        try:
            stage = restarted(course.stage, order.config, files=self._files)
        except KubeletError:
            return None
        pods, shapes = course.pods[:end], course.shapes[:end]
        return stage, verdicts(stage.node, stage.ledger, pods, stage.allocatable, shapes=shapes, asked=self.asked)


def kubelet_proposals(trial: Trial, kubelets: Kubelets) -> Iterator[Proposal]:
    """The orders that help the pod, and of a reservation that could be smaller the smallest cut that does."""
    for order in kubelets.orders:
        yield from _helping(trial, kubelets, order)
    if trial.floats:
        return
    for family in cuts(trial):
        for order in family:
            found = [proposal for proposal in _helping(trial, kubelets, order) if proposal.aligned]
            yield from found
            if found:
                break


def _helping(trial: Trial, kubelets: Kubelets, order: KubeletOrder) -> Iterator[Proposal]:
    """Nothing if the kubelet would crash with it, at the pod or at one that is admitted now."""
    played = kubelets.run(order)
    if played is None:
        return
    stage, run = played
    decision = run.decisions.get(trial.index)
    if decision is None or (run.crash and run.end <= max(trial.course.end, trial.index + 1)):
        return
    aligned = trial.good(decision, stage)
    if aligned or (decision.admitted and not trial.decision.admitted):
        loses = trial.course.newly_rejected(run)
        yield Proposal(
            order.kind, order.text, (decision,), aligned=aligned, loss=order.loss, loses=loses, config=order.config
        )
