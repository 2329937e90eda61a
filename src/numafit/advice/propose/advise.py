"""What to change so that a pod is placed well: every proposal checked with the engine, the least disturbing first."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from numafit.advice.alignment import Torn, crossing, floating, torn
from numafit.advice.propose.course import Course, SearchCut
from numafit.advice.propose.kubelet import Kubelets, kubelet_proposals
from numafit.advice.propose.neighbours import neighbours
from numafit.advice.propose.proposal import Proposal
from numafit.advice.propose.reshape import fewer_pods, of_containers, pinnable, split
from numafit.advice.propose.resize import fewer, more
from numafit.advice.propose.trial import Trial
from numafit.decision.decision import Decision
from numafit.decision.doubt.unsure import guesses_that_matter
from numafit.decision.simulation import Simulation
from numafit.decision.stage import Stage
from numafit.decision.story.story import story_of
from numafit.decision.story.terms import nodes_in_words
from numafit.notes import Note
from numafit.workload.pod import Pod


class Advice(msgspec.Struct, frozen=True):
    decision: Decision
    """How it is."""
    fault: str
    """What is wrong with it; empty if nothing is."""
    why: str
    alike: int = 1
    """How many pods its object makes; what changes the pod's numbers is checked for all of them."""
    proposals: tuple[Proposal, ...] = ()
    same: tuple[str, ...] = ()
    """Other pods of the same shape with the same fault, for which this one speaks, as `namespace/name`."""
    cut: bool = False
    """There was no time for all that might help."""
    replicas: tuple[str, ...] = ()
    """Other pods of its object that have another fault: its template is theirs."""


def advise(
    stage: Stage,
    pods: Sequence[Pod],
    makers: Mapping[str, str] | None = None,
    only: str | None = None,
    simulation: Simulation | None = None,
) -> tuple[Advice, ...]:
    """One advice per pod that was played, in their order, or for the one with the UID `only`.

    `makers` says for a pod's UID from which object it was made; of the pods of one object the first that is badly off
    speaks for all, and of pods of one shape the first that has a fault speaks for the others with the same fault. The
    pods after a panic of the kubelet get none. `simulation` is how the pods were played, where the caller has done so
    already.
    """
    return tuple(advices(stage, pods, makers, only, simulation))


def advices(
    stage: Stage,
    pods: Sequence[Pod],
    makers: Mapping[str, str] | None = None,
    only: str | None = None,
    simulation: Simulation | None = None,
    goes_on: Callable[[], bool] = lambda: True,
) -> Iterator[Advice]:
    """As `advise`, one after the other as they are found. Once `goes_on` says no, they end with what the pod of that
    moment has so far."""
    simulation = simulation or stage.play(pods)
    course = Course(stage, tuple(pods), simulation, goes_on)
    speakers = _speakers(course, makers or {}, only)
    kubelets = Kubelets(course, frozenset(speaker.trial.index for speaker in speakers if speaker.fault))
    for speaker in speakers:
        if not goes_on():
            return
        advice = _advice(speaker, kubelets)
        yield advice
        if advice.cut:
            return


def proposal_notes(stage: Stage, found: Sequence[Advice]) -> tuple[Note, ...]:
    """What proposals stand on, beside what the run stands on: they are not doubted by other machines, as the run is."""
    text = "its proposals are tried on the machine as it is guessed, and not on others that it may be"
    return tuple(
        Note("tried-on-guess", advice.decision.pod.full_name, text)
        for advice in found
        if advice.proposals and guesses_that_matter(stage.node, [advice.decision.pod])
    )


class _Speaker(msgspec.Struct):
    trial: Trial
    fault: str
    same: list[str] = []
    replicas: list[str] = []


def _speakers(course: Course, makers: Mapping[str, str], only: str | None) -> list[_Speaker]:
    """The pods that get advice: those without a fault, and of the others the first of each object and shape."""
    gathered: dict[str, list[int]] = {}
    for i, pod in enumerate(course.pods):
        gathered.setdefault(makers.get(pod.uid, pod.uid), []).append(i)
    groups = {maker: tuple(members) for maker, members in gathered.items()}
    found: list[_Speaker] = []
    by_shape: dict[tuple[int, int, str], _Speaker] = {}
    by_maker: dict[str, _Speaker] = {}
    for i in range(len(course.simulation.steps)):
        pod = course.pods[i]
        if only not in (None, pod.uid):
            continue
        maker = makers.get(pod.uid, pod.uid)
        trial = Trial(course, i, groups[maker])
        speaker = _Speaker(trial, fault_of(trial))
        if not speaker.fault or only is not None:
            found.append(speaker)
            continue
        key = (course.shapes[i], len(trial.group), speaker.fault)
        if key in by_shape:
            by_shape[key].same.append(pod.full_name)
        elif maker in by_maker:
            by_maker[maker].replicas.append(pod.full_name)
        else:
            by_shape[key] = speaker
            found.append(speaker)
        by_maker.setdefault(maker, by_shape.get(key, speaker))
    return found


def _advice(speaker: _Speaker, kubelets: Kubelets) -> Advice:
    trial, fault = speaker.trial, speaker.fault
    why = story_of(trial.stage.node, trial.decision).sentence
    alike = len(trial.group)
    if not fault:
        return Advice(trial.decision, fault, why, alike)
    proposals, cut = list[Proposal](), False
    try:
        for proposal in _searched(trial, kubelets):
            proposals.append(proposal)
    except SearchCut:
        cut = True
    ordered = tuple(sorted(proposals, key=lambda proposal: proposal.order))
    return Advice(trial.decision, fault, why, alike, ordered, tuple(speaker.same), cut, tuple(speaker.replicas))


def _searched(trial: Trial, kubelets: Kubelets) -> Iterator[Proposal]:
    yield from pinnable(trial)
    yield from of_containers(trial)
    yield from more(trial)
    yield from neighbours(trial)
    yield from split(trial)
    yield from fewer_pods(trial)
    yield from kubelet_proposals(trial, kubelets)
    if not trial.floats:
        # A pod in the shared pool fits as it is; smaller numbers would not pin it.
        yield from fewer(trial)


def fault_of(trial: Trial) -> str:
    decision, node = trial.decision, trial.stage.node
    if decision.panic:
        return "the kubelet would crash"
    if not decision.admitted:
        return f"rejected, {decision.reason}"
    spread = crossing(node, decision)
    if spread:
        places = [f"{unit.unit or 'the pod'} lies on {nodes_in_words(unit.nodes)}" for unit in spread]
        return f"admitted, but {', '.join(places)} and would fit on fewer"
    apart = torn(node, decision)
    if apart:
        return f"admitted, but {', and '.join(map(_apart_in_words, apart))}"
    loose = floating(node, decision)
    if loose:
        return f"admitted, but {', '.join(loose)} shares its CPUs with others"
    return ""


def _apart_in_words(unit: Torn) -> str:
    *first, last = unit.gpus
    text = f"{unit.unit or 'the pod'} takes {', '.join(first)} and {last}"
    if len(unit.gpus) == 2:
        text += ", which no NVLink joins" if unit.nvlink else ", which hang under different switches"
    return f"{text}; {', '.join(f'{one} and {other}' for one, other in unit.partners)} belong together"
