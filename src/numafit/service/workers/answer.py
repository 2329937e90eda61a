"""Answers to questions: the JSON that the command of the same name prints with `-o json`.

Runs in a worker: nothing in here knows of HTTP.
"""

import io
from collections.abc import Callable
from typing import Any

import msgspec

from numafit.advice.compare import compare
from numafit.advice.fit import count_fits, shapes_of
from numafit.advice.lint.lint import LintFile, lint
from numafit.advice.logs.report import report_of
from numafit.advice.propose.advise import advise
from numafit.advice.variants import variants
from numafit.bits import mask_of
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation
from numafit.decision.story import story_of
from numafit.errors import InputError, StartRefusedError
from numafit.service.workers import question
from numafit.service.workers.scene import Scenes, pods_of
from numafit.settings.versions import DEFAULT_VERSION, parse_version
from numafit.show.records.advice import advice_record
from numafit.show.records.comparison import comparison_record, no_start_record
from numafit.show.records.fit import fit_record, variants_record
from numafit.show.records.ledger import ledger_view
from numafit.show.records.lint import lint_record
from numafit.show.records.log import report_record
from numafit.show.records.settings import resolved
from numafit.show.records.simulation import simulation_record
from numafit.show.records.story import story_record
from numafit.show.records.walk import walk_of
from numafit.workload.pod import Pod

AnswerJson = dict[str, Any]
"""A JSON object that msgspec encodes; its shape is that of the command line."""


def simulate(scenes: Scenes, asked: question.Simulate) -> AnswerJson:
    return simulation_record(_played(scenes, asked)[0])


def explain(scenes: Scenes, asked: question.Explain) -> AnswerJson:
    simulation, pods = _played(scenes, asked)
    chosen = _chosen(asked.pod, pods)
    node = simulation.node
    decisions = [step.decision for step in simulation.steps if chosen in (None, step.decision.pod.uid)]
    return {"stories": [story_record(decision, story_of(node, decision)) for decision in decisions]}


def advise_pods(scenes: Scenes, asked: question.Advise | question.WhatIf) -> AnswerJson:
    scene = scenes.scene(asked, empty=asked.empty)
    pods, makers = pods_of(asked.pods, scene.stage)
    own = asked if isinstance(asked, question.Advise) else None
    chosen = _chosen(own.pod if own else None, pods)
    names = {uid: f"{maker.kind}/{maker.namespace}/{maker.name}" for uid, maker in makers.items()}
    advices = advise(scene.stage, pods, names, only=chosen)
    return advice_record(advices, scene.stage.config, makers, own.most if own else question.MOST_PROPOSALS)


def fit(scenes: Scenes, asked: question.Fit) -> AnswerJson:
    stage = scenes.scene(asked, empty=asked.empty).stage
    shapes = shapes_of(pods_of(asked.pods, stage)[0])
    if not asked.compare:
        return fit_record(count_fits(stage, shapes, asked.order))
    rows = [
        (each, None if each.stage is None else count_fits(each.stage, shapes, asked.order)) for each in variants(stage)
    ]
    return variants_record(rows)


def whatif(scenes: Scenes, asked: question.WhatIf) -> AnswerJson:
    """Without the advice, which is asked for by itself, and without state files, which nobody looks at on a page."""
    scene = scenes.scene(asked, empty=asked.empty)
    pods, _ = pods_of(asked.pods, scene.stage)
    simulation = scene.stage.play(pods)
    node, shown = simulation.node, scenes.shown
    view = ledger_view(
        node,
        simulation.after,
        scene.known,
        revision=shown.revision,
        time=shown.time,
        simulation=True,
        new=frozenset(pod.uid for pod in pods),
    )
    return {
        **simulation_record(simulation, with_files=False),
        "stories": [_walked(node, step.decision) for step in simulation.steps],
        "ledger": view,
        "settings": resolved(node.settings),
        "kubelet": scene.kubelet,
        "advice": None,
    }


def _walked(node: Node, decision: Decision) -> AnswerJson:
    """The story, with the walk of each merge in its chapter."""
    record = story_record(decision, story_of(node, decision))
    story: AnswerJson = msgspec.to_builtins(record["story"])
    ground = mask_of(numa.id for numa in node.machine.numa_nodes)
    equal = node.settings.behaviour.merge_equal_masks
    for chapter, step in zip(story["chapters"], decision.merges or (), strict=True):
        chapter["walk"] = walk_of(step, node.topology.policy, ground, equal_masks=equal)
    return {**record, "story": story}


def compare_places(scenes: Scenes, asked: question.Compare) -> AnswerJson:
    first = scenes.scene(asked.left, empty=asked.empty).stage
    try:
        second = scenes.scene(asked.right, empty=asked.empty).stage
    except StartRefusedError as error:
        return no_start_record(error.message)
    return comparison_record(compare(first, second, pods_of(asked.pods, first)[0], pods_of(asked.pods, second)[0]))


def lint_files(scenes: Scenes, asked: question.Lint) -> AnswerJson:
    machine = None if asked.machine is None else scenes.machine(asked.machine)
    sources = [LintFile(file.name, file.text.encode()) for file in asked.files]
    if not sources:
        raise InputError("no files to look at", source="files")
    return lint_record(lint(sources, parse_version(asked.version or str(DEFAULT_VERSION)), machine))


def log(scenes: Scenes, data: bytes) -> AnswerJson:
    """All admissions are told, as with `--all`. The machine is not known: the log may be of any node."""
    return report_record(report_of(io.BytesIO(data), "log", lambda admission: True), None)


def _played(scenes: Scenes, asked: question.Simulate) -> tuple[Simulation, list[Pod]]:
    stage = scenes.scene(asked, empty=asked.empty).stage
    pods, _ = pods_of(asked.pods, stage)
    return stage.play(pods), pods


def _chosen(name: str | None, pods: list[Pod]) -> str | None:
    """The UID of the pod that is called so, by its name or namespace/name."""
    if name is None:
        return None
    for pod in pods:
        if name in (pod.name, pod.full_name):
            return pod.uid
    there = ", ".join(pod.full_name for pod in pods[:20])
    raise InputError(f"there is no pod {name}", source="pod", cure=f"there are {there}")


# `Any`: each function takes the body of its own kind.
ANSWERS: dict[str, Callable[[Scenes, Any], AnswerJson]] = {
    "simulate": simulate,
    "explain": explain,
    "advise": advise_pods,
    "fit": fit,
    "whatif": whatif,
    "compare": compare_places,
    "lint": lint_files,
    "log": log,
}
