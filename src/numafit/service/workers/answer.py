"""Answers to questions: the records that the command of the same name prints with `-o json`.

Runs in a worker: nothing in here knows of HTTP.
"""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numafit.advice.compare import compare
from numafit.advice.fit import count_fits, shapes_of
from numafit.advice.lint.lint import LintFile, lint
from numafit.advice.logs.report import report_of
from numafit.advice.propose.advise import Advice, advices, proposal_notes
from numafit.advice.variants import variants
from numafit.decision.doubt.chance import told_chances
from numafit.decision.history.lines import read_events
from numafit.decision.history.step import with_evictions
from numafit.decision.notes import release_notes
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.stage import Stage, after_running
from numafit.decision.story.story import story_of
from numafit.errors import InputError, StartRefusedError
from numafit.notes import Note
from numafit.service.workers import question
from numafit.service.workers.scene import Scenes, with_pods_of
from numafit.settings.versions import DEFAULT_VERSION, parse_version
from numafit.show.records.advice import AdviseAnswer, advice_record
from numafit.show.records.comparison import CompareAnswer, comparison_record, no_start_record
from numafit.show.records.fit import FitAnswer, fit_record, variants_record
from numafit.show.records.ledger import Known, ledger_view, node_amounts
from numafit.show.records.lint import LintAnswer, lint_record
from numafit.show.records.log import LogAnswer, log_record
from numafit.show.records.simulation import SimulateAnswer, simulation_record
from numafit.show.records.story import ExplainAnswer, events_explained, stories_record
from numafit.show.records.whatif import WhatIfAnswer, whatif_record
from numafit.workload.pod import Pod

Answer = (
    SimulateAnswer | ExplainAnswer | AdviseAnswer | FitAnswer | CompareAnswer | LintAnswer | WhatIfAnswer | LogAnswer
)

MOST_EVENTS = 1000
"""In one question, those of pods that come included."""
ADVICE_SHARE = 0.4
"""Of the time that the question may take: after so much processor time no other pod is begun. A worker that takes too
long is ended, and all that it has found is lost."""


def simulate(scenes: Scenes, asked: question.Simulate) -> SimulateAnswer:
    simulation, _, notes = _played(scenes, asked)
    return simulation_record(simulation, notes, events=asked.events is not None)


def explain(scenes: Scenes, asked: question.Explain) -> ExplainAnswer:
    simulation, pods, notes = _played(scenes, asked)
    chosen = _chosen(asked.pod, pods)
    chances = told_chances(simulation)
    if asked.events is not None:
        return events_explained(simulation, "" if chosen is None else _names(pods)[chosen], notes, chances)
    node = simulation.node
    decisions = [step.decision for step in with_evictions(simulation.steps) if chosen in (None, step.decision.pod.uid)]
    return stories_record(
        ((decision, story_of(node, decision, chances.get(id(decision), ""))) for decision in decisions), notes
    )


def advise_pods(scenes: Scenes, asked: question.Advise | question.WhatIf) -> AdviseAnswer:
    end, is_cut = time.process_time() + scenes.seconds * ADVICE_SHARE, False
    scene = scenes.scene(asked, empty=asked.empty)
    stage = with_pods_of(asked.pods, scene.stage)
    own = asked if isinstance(asked, question.Advise) else None
    chosen = _chosen(own.pod if own else None, stage.pods)
    simulation = stage.play(stage.pods)
    found: list[Advice] = []
    for advice in advices(stage, stage.pods, stage.maker_names, only=chosen, simulation=simulation):
        found.append(advice)
        is_cut = time.process_time() >= end
        if is_cut:
            break
    most = own.most if own else question.MOST_PROPOSALS
    notes = stage.notes_on(simulation) + proposal_notes(stage, found)
    if is_cut and chosen is None:
        notes += _without_advice(simulation, found, stage.maker_names)
    return advice_record(found, stage.config, stage.makers, most, notes, simulation.undecided)


def _without_advice(simulation: Simulation, found: Sequence[Advice], makers: Mapping[str, str]) -> tuple[Note, ...]:
    """For the pods that nobody speaks for."""
    told = {advice.decision.pod.full_name for advice in found} | {name for advice in found for name in advice.same}
    objects = {makers.get(advice.decision.pod.uid, advice.decision.pod.uid) for advice in found if advice.fault}
    pods = [step.decision.pod for step in simulation.steps]
    rest = [pod for pod in pods if pod.full_name not in told and makers.get(pod.uid, pod.uid) not in objects]
    text = "whether it is placed well was not looked at: the search for advice took too long before"
    return tuple(Note("advice-cut-short", pod.full_name, text) for pod in rest)


def fit(scenes: Scenes, asked: question.Fit) -> FitAnswer:
    stage = with_pods_of(asked.pods, scenes.scene(asked, empty=asked.empty).stage)
    stage, pods = after_running(stage)
    shapes = shapes_of(pods)
    notes = stage.notes_about(shapes)
    if not asked.compare:
        counted = count_fits(stage, shapes, asked.order)
        return fit_record(counted, (*notes, *counted.notes))
    rows = [
        (each, None if each.stage is None else count_fits(each.stage, shapes, asked.order)) for each in variants(stage)
    ]
    return variants_record(rows, notes)


def whatif(scenes: Scenes, asked: question.WhatIf) -> WhatIfAnswer:
    scene = scenes.scene(asked, empty=asked.empty)
    stage = with_pods_of(asked.pods, scene.stage)
    simulation = _run(stage, asked.events)
    snapshot = scenes.snapshot
    # A rejected pod that leaves something behind is known by its name, too.
    played = {step.decision.pod.uid: step.decision.pod for step in simulation.steps}
    named = {pod.uid: Known(pod.known_name) for pod in (*stage.pods, *played.values())}
    view = ledger_view(
        simulation.end.node,
        simulation.after,
        {**named, **scene.known},
        revision=snapshot.revision,
        time=snapshot.time,
        simulation=True,
        new=frozenset(named) - scene.known.keys(),
    )
    notes = stage.notes_on(simulation)
    before = tuple(node_amounts(stage.node, stage.ledger))
    return whatif_record(simulation, before, view, scene.kubelet, notes, events=asked.events is not None)


def compare_places(scenes: Scenes, asked: question.Compare) -> CompareAnswer:
    first = scenes.scene(asked.left, empty=asked.empty).stage
    try:
        second = scenes.scene(asked.right, empty=asked.empty).stage
    except StartRefusedError as error:
        return no_start_record(error, first.notes)
    first, second = with_pods_of(asked.pods, first), with_pods_of(asked.pods, second)
    result = compare(first, second, first.pods, second.pods)
    return comparison_record(result, result.notes)


def lint_files(scenes: Scenes, asked: question.Lint) -> LintAnswer:
    machine = None if asked.machine is None else scenes.machine(asked.machine)
    sources = [LintFile(file.name, file.text.encode()) for file in asked.files]
    if not sources:
        raise InputError("no files to look at", source="files")
    version = parse_version(asked.version or str(DEFAULT_VERSION))
    report = lint(sources, version, machine)
    return lint_record(report, (*release_notes(version, given=asked.version is not None), *report.notes))


def log(scenes: Scenes, data: bytes) -> LogAnswer:
    """All admissions are told, as with `--all`. The machine is not known: the log may be of any node."""
    report = report_of(io.BytesIO(data), "log", lambda admission: True)
    return log_record(report, None, report.notes)


def _played(scenes: Scenes, asked: question.Simulate) -> tuple[Simulation, tuple[Pod, ...], tuple[Note, ...]]:
    stage = with_pods_of(asked.pods, scenes.scene(asked, empty=asked.empty).stage)
    simulation = _run(stage, asked.events)
    return simulation, stage.pods, stage.notes_on(simulation)


def _run(stage: Stage, events: str | None) -> Simulation:
    if events is None:
        return stage.play(stage.pods)
    lines = read_events(events, "events", stage.pods, stage.ledger.active.values(), node=stage.node.facts.name)
    if len(lines) > MOST_EVENTS:
        raise InputError(f"there are {len(lines)} events, and at most {MOST_EVENTS} are played", source="events")
    return play_events(stage.situation, lines)


def _names(pods: Sequence[Pod]) -> dict[str, str]:
    return {pod.uid: pod.full_name for pod in pods}


def _chosen(name: str | None, pods: Sequence[Pod]) -> str | None:
    """The UID of the pod that is called so, by its name or namespace/name."""
    if name is None:
        return None
    for pod in pods:
        if name in (pod.name, pod.full_name):
            return pod.uid
    there = ", ".join(pod.full_name for pod in pods[:20])
    raise InputError(f"there is no pod {name}", source="pod", cure=f"there are {there}")


# `Any`: each function takes the body of its own kind.
ANSWERS: dict[str, Callable[[Scenes, Any], Answer]] = {
    "simulate": simulate,
    "explain": explain,
    "advise": advise_pods,
    "fit": fit,
    "whatif": whatif,
    "compare": compare_places,
    "lint": lint_files,
    "log": log,
}
