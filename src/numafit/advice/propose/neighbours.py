"""Other pods that stand in the way: which one could come later instead, and which would have to go."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from numafit.advice.alignment import is_aligned, torn
from numafit.advice.propose.proposal import Proposal, ProposalKind
from numafit.advice.propose.trial import Trial
from numafit.decision.life import release, start_containers
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod

MOST_TOGETHER = 3
MOST_OF_A_KIND = 3
MOST_TRIED = 600
"""Sets of pods that are tried; beyond that none is proposed."""


def neighbours(trial: Trial) -> Iterator[Proposal]:
    """The smallest sets of other pods without which this one fits; a set that finds room again after it is a move.

    Only the few least disturbing of each kind.
    """
    found = sorted(_sets(trial), key=lambda proposal: proposal.order)
    for kind in ("move", "remove"):
        yield from [proposal for proposal in found if proposal.kind == kind][:MOST_OF_A_KIND]


def _sets(trial: Trial) -> Iterator[Proposal]:
    own = {trial.pods[i].uid for i in trial.group}
    others = [pod for uid, pod in trial.before.active.items() if uid not in own]
    tried = 0
    for count in range(1, MOST_TOGETHER + 1):
        found = False
        for gone in combinations(others, count):
            tried += 1
            if tried > MOST_TRIED:
                return
            proposal = _without(trial, gone)
            if proposal is not None:
                found = True
                yield proposal
        if found:
            return


def _without(trial: Trial, gone: Sequence[Pod]) -> Proposal | None:
    ledger = trial.before
    for pod in gone:
        ledger = release(ledger, pod.uid)
    decision = trial.stage.decide(ledger, trial.pod)
    if not trial.good(decision):
        return None
    ledger = start_containers(trial.stage.node, decision.ledger, trial.pod.uid)
    back = _come_back(trial, ledger, gone)
    kind: ProposalKind = "remove" if back is None else "move"
    played = trial.stage.play(trial.rest, ledger if back is None else back)
    names = " and ".join(_name(pod) for pod in gone)
    text = f"without {names}" if back is None else f"first this pod, then {names} again"
    loses = trial.newly_rejected(played)
    held = sum(_held_cpus(trial.before, pod.uid) for pod in gone)
    return Proposal(kind, text, (decision,), loss=float(held), loses=loses, removed=tuple(gone))


def _name(pod: Pod) -> str:
    """A pod that is known from a state file only has its UID for a name."""
    return pod.known_name


def _come_back(trial: Trial, ledger: Ledger, gone: Sequence[Pod]) -> Ledger | None:
    """The ledger once they are all admitted again, aligned and with near GPUs; None if one is not."""
    for pod in gone:
        decision = trial.stage.decide(ledger, pod)
        if not is_aligned(trial.stage.node, decision) or torn(trial.stage.node, decision):
            return None
        ledger = start_containers(trial.stage.node, decision.ledger, pod.uid)
    return ledger


def _held_cpus(ledger: Ledger, uid: str) -> int:
    cpus = 0
    for own in ledger.cpu.entries.get(uid, {}).values():
        cpus |= own
    return cpus.bit_count()
