"""Other pods that stand in the way: which one could come later instead, and which would have to go."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from numafit.advice.alignment import is_aligned, torn
from numafit.advice.propose.proposal import Proposal, ProposalKind
from numafit.advice.propose.trial import Trial
from numafit.decision.decide import Load, load_after, load_beside, requests_of
from numafit.decision.decision import Decision
from numafit.decision.life import release, start_containers
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod

MOST_TOGETHER = 3
MOST_OF_A_KIND = 3
MOST_TRIED = 600
"""Sets of pods that are tried; beyond that none is proposed."""


class _Way(msgspec.Struct, frozen=True):
    """A set of pods without which this one is placed well."""

    gone: tuple[Pod, ...]
    decision: Decision
    back: bool
    """They are all admitted again after it."""
    after: Ledger
    held: int
    """CPUs that they hold together."""

    @property
    def text(self) -> str:
        names = " and ".join(pod.known_name for pod in self.gone)
        return f"first this pod, then {names} again" if self.back else f"without {names}"


def neighbours(trial: Trial) -> Iterator[Proposal]:
    """The smallest sets of other pods without which this one fits; a set that finds room again after it is a move.

    Only the few least disturbing of each kind.
    """
    ways = sorted(_ways(trial), key=lambda way: (way.held, way.text))
    for back in (True, False):
        yield from _least_disturbing(trial, [way for way in ways if way.back == back])


def _least_disturbing(trial: Trial, ways: Sequence[_Way]) -> list[Proposal]:
    """The ways come in their order, apart from whom they keep out."""
    found: list[Proposal] = []
    for way in ways:
        # Of equals the one before comes first: to be among the few, a way has to keep out fewer than the last of them.
        most = len(found[-1].loses) - 1 if len(found) == MOST_OF_A_KIND else None
        if most == -1:
            break
        loses = trial.loses_behind(way.after, most)
        if loses is None:
            continue
        kind: ProposalKind = "move" if way.back else "remove"
        proposal = Proposal(kind, way.text, (way.decision,), loss=float(way.held), loses=loses, removed=way.gone)
        found = sorted([*found, proposal], key=lambda proposal: proposal.order)[:MOST_OF_A_KIND]
    return found


def _ways(trial: Trial) -> Iterator[_Way]:
    own = {trial.pods[i].uid for i in trial.group}
    others = [pod for uid, pod in trial.before.active.items() if uid not in own]
    tried = 0
    for count in range(1, MOST_TOGETHER + 1):
        found = False
        for gone in combinations(others, count):
            tried += 1
            if tried > MOST_TRIED:
                return
            way = _without(trial, gone)
            if way is not None:
                found = True
                yield way
        if found:
            return


def _without(trial: Trial, gone: tuple[Pod, ...]) -> _Way | None:
    trial.course.begin_trial()
    settings = trial.stage.node.settings
    ledger, load = trial.before, trial.load_before
    for pod in gone:
        load = load.plus(requests_of(settings, pod), -1)
        ledger = release(ledger, pod.uid)
    load = load_beside(settings, load, ledger, trial.pod.uid)
    decision = trial.stage.decide(ledger, trial.pod, load)
    if not trial.good(decision):
        return None
    ledger = start_containers(trial.stage.node, decision.ledger, trial.pod.uid)[0]
    back = _come_back(trial, ledger, load_after(settings, load, decision), gone)
    held = sum(_held_cpus(trial.before, pod.uid) for pod in gone)
    return _Way(gone, decision, back is not None, ledger if back is None else back, held)


def _come_back(trial: Trial, ledger: Ledger, load: Load, gone: Sequence[Pod]) -> Ledger | None:
    """The ledger once they are all admitted again, aligned and with near GPUs; None if one is not."""
    for pod in gone:
        decision = trial.stage.decide(ledger, pod, load)
        if not is_aligned(trial.stage.node, decision) or torn(trial.stage.node, decision):
            return None
        load = load_after(trial.stage.node.settings, load, decision)
        ledger = start_containers(trial.stage.node, decision.ledger, pod.uid)[0]
    return ledger


def _held_cpus(ledger: Ledger, uid: str) -> int:
    cpus = 0
    for own in ledger.cpu.entries.get(uid, {}).values():
        cpus |= own
    return cpus.bit_count()
