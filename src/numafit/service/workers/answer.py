"""Answers to questions: the records that the command of the same name prints with `-o json`.

Runs in a worker: nothing in here knows of HTTP.
"""

import io
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from numafit.advice.compare import compare
from numafit.advice.doctor.checkup import examine
from numafit.advice.fit import count_fits, shapes_of
from numafit.advice.inspection.inspection import inspected
from numafit.advice.lint.lint import LintFile, lint
from numafit.advice.logs.report import report_of
from numafit.advice.propose.advise import Advice, advices, proposal_notes
from numafit.advice.propose.patched import patched_document, patched_manifest
from numafit.advice.variants import variants
from numafit.bits import cpuset_text, mask_of
from numafit.decision.doubt.chance import told_chances
from numafit.decision.files import state_files
from numafit.decision.history.lines import read_events
from numafit.decision.history.step import with_evictions
from numafit.decision.notes import config_notes, release_notes
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.stage import Stage, after_running
from numafit.decision.story.story import story_of
from numafit.errors import InputError, StartRefusedError
from numafit.notes import Note
from numafit.service.workers import question
from numafit.service.workers.scene import MOST_PODS, Scenes, with_pods_of
from numafit.settings.versions import DEFAULT_VERSION, parse_version
from numafit.show.records.advice import AdviseAnswer, advice_record, maker_of
from numafit.show.records.checkup import CheckupAnswer, checkup_record
from numafit.show.records.comparison import CompareAnswer, comparison_record, no_start_record
from numafit.show.records.elsewhere import WhyNotAnswer, elsewhere_record
from numafit.show.records.fit import FitAnswer, fit_record, variants_record
from numafit.show.records.ledger import Known, ledger_view, node_amounts
from numafit.show.records.lint import LintAnswer, lint_record
from numafit.show.records.log import LogAnswer, log_record
from numafit.show.records.patch import PatchAnswer, kubelet_patch, manifest_patch
from numafit.show.records.simulation import SimulateAnswer, simulation_record
from numafit.show.records.story import ExplainAnswer, events_explained, stories_record
from numafit.show.records.whatif import WhatIfAnswer, whatif_record
from numafit.workload.objects import ManifestFile
from numafit.workload.pod import Pod
from numafit.workload.reading import read_files

Answer = (
    SimulateAnswer
    | ExplainAnswer
    | AdviseAnswer
    | FitAnswer
    | CompareAnswer
    | LintAnswer
    | WhatIfAnswer
    | LogAnswer
    | WhyNotAnswer
    | CheckupAnswer
    | PatchAnswer
)

MOST_EVENTS = 1000
"""In one question, those of pods that come included."""
ADVICE_SHARE = 0.4
"""Of the time that the question may take: after so much processor time nothing more is tried. A worker that takes too
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
    end = scenes.clock() + scenes.seconds * ADVICE_SHARE
    scene = scenes.scene(asked, empty=asked.empty, without=asked.without)
    stage = with_pods_of(asked.pods, scene.stage)
    own = asked if isinstance(asked, question.Advise) else None
    chosen = _chosen(own.pod if own else None, stage.pods)
    simulation = stage.play(stage.pods)
    found = list(
        advices(
            stage,
            stage.pods,
            stage.maker_names,
            only=chosen,
            simulation=simulation,
            goes_on=lambda: scenes.clock() < end,
        )
    )
    most = own.most if own else question.MOST_PROPOSALS
    notes = stage.notes_on(simulation) + proposal_notes(stage, found)
    notes += _cut_short(simulation, found, chosen)
    return advice_record(found, stage.config, stage.makers, most, notes, simulation.undecided)


def _cut_short(simulation: Simulation, found: Sequence[Advice], only: str | None) -> tuple[Note, ...]:
    """For the pods that nobody speaks for, and the one whose proposals may not be all; `only`: the UID of one pod."""
    text = "not all that might help was tried: the search for advice took too long"
    cut = tuple(Note("advice-cut-short", advice.decision.pod.full_name, text) for advice in found if advice.cut)
    told = {advice.decision.pod.full_name for advice in found}
    told |= {name for advice in found for name in (*advice.same, *advice.replicas)}
    pods = [step.decision.pod for step in simulation.steps if only in (None, step.decision.pod.uid)]
    rest = [pod for pod in pods if pod.full_name not in told]
    text = "whether it is placed well was not looked at: the search for advice took too long before"
    return (*cut, *(Note("advice-cut-short", pod.full_name, text) for pod in rest))


def fit(scenes: Scenes, asked: question.Fit) -> FitAnswer:
    stage = with_pods_of(asked.pods, scenes.scene(asked, empty=asked.empty, without=asked.without).stage)
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
    scene = scenes.scene(asked, empty=asked.empty, without=asked.without)
    # Who only asks what would be free without somebody has no pods.
    alone = bool(asked.without) and not asked.pods.strip() and asked.events is None
    stage = scene.stage if alone else with_pods_of(asked.pods, scene.stage)
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
    before = tuple(node_amounts(stage.node, scene.before))
    return whatif_record(simulation, before, view, scene.kubelet, notes, events=asked.events is not None)


def why_not(scenes: Scenes, asked: question.WhyNot) -> WhyNotAnswer:
    stage = with_pods_of(asked.pods, scenes.scene(asked, empty=asked.empty, without=asked.without).stage)
    ids = [numa.id for numa in stage.node.machine.numa_nodes]
    if asked.numa not in ids:
        there = f"there are {cpuset_text(mask_of(ids))}"
        raise InputError(f"there is no NUMA node {asked.numa}", source="numa", cure=there)
    chosen = _chosen(asked.pod, stage.pods)
    simulation = stage.play(stage.pods)
    told = [step for step in with_evictions(simulation.steps) if chosen in (None, step.decision.pod.uid)]
    pairs = [(simulation.node_of(step), step.decision) for step in told]
    return elsewhere_record(pairs, asked.numa, stage.notes_on(simulation))


def doctor(scenes: Scenes, asked: question.Doctor) -> CheckupAnswer:
    """With the state of who is on the node now, as its kubelet would find it when it starts again."""
    known = scenes.started(asked)
    # On a host that runs no kubelet leases are held, which no kubelet would find.
    idle = asked.empty or asked.machine is not None or scenes.snapshot.place.kind == "live"
    active = {} if idle else scenes.snapshot.ledger.active
    files = state_files(scenes.snapshot.stage.node, scenes.snapshot.ledger) if active else {}
    known = replace(known, files=files)
    owners = frozenset(active) if active else None
    checkup = examine(known, owners=owners, place="kubelet")
    notes = (*config_notes(inspected(known).known), *checkup.notes)
    return checkup_record(checkup, known.version, files=tuple(files), notes=notes)


def apply(scenes: Scenes, asked: question.Apply) -> PatchAnswer:
    if asked.kubelet is not None:
        if asked.pods is not None or asked.pod is not None:
            raise InputError("a patch is of one of both", source="kubelet", cure='give "pods" with "pod", or "kubelet"')
        return kubelet_patch(patched_document(asked.kubelet, asked.patch), asked.patch)
    if asked.pods is None or asked.pod is None:
        raise InputError("nothing to patch", source="pods", cure='give "pods" with "pod", or "kubelet"')
    reading = read_files([ManifestFile("pods", asked.pods)], most=MOST_PODS)
    uid = _chosen(asked.pod, reading.pods)
    pod = next(each for each in reading.pods if each.uid == uid)
    kind, name = maker_of(reading.makers, pod)
    text = patched_manifest(asked.pods, kind, pod.namespace, name, asked.patch)
    _check_patched(text, pod, kind)
    return manifest_patch(text, kind, pod.namespace, name, asked.patch)


def _check_patched(text: str, pod: Pod, kind: str) -> None:
    """Raises InputError where the patch leaves nothing that makes pods, or no such pod; an owner may make fewer."""
    try:
        names = [each.full_name for each in read_files([ManifestFile("pods", text)], most=MOST_PODS).pods]
    except InputError as error:
        raise InputError(f"the text with it is of no use: {error.message}", source="patch") from None
    if kind == "Pod" and pod.full_name not in names:
        raise InputError(f"there is no {pod.full_name} any more with it", source="patch")


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
    stage = with_pods_of(asked.pods, scenes.scene(asked, empty=asked.empty, without=asked.without).stage)
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
    "why-not": why_not,
    "doctor": doctor,
    "apply": apply,
}
