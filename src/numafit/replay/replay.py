"""Replays recordings of real kubelet code: computes each case from its input alone, compares with what was recorded."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from numafit.errors import InputError
from numafit.ledger.ledger import Ledger
from numafit.managers.protocol import Choices
from numafit.replay.cases.checkpoint import checkpoint_case
from numafit.replay.cases.cpu_assign import cpu_case
from numafit.replay.cases.hint_merge import merge_case
from numafit.replay.cases.run import Run, first_unlike
from numafit.replay.cases.scenario import RecordedStep, Scenario
from numafit.replay.cases.validation import config_case
from numafit.replay.choices import RecordedChoices
from numafit.replay.comparison import Mismatch, ScenarioComparison, mismatch
from numafit.replay.inputs import machine_from_recording, settings_from_recording
from numafit.replay.outcomes import Json
from numafit.settings.versions import Behaviour, KubeVersion, behaviour_of, parse_version

SCENARIOS = frozenset({"node", "memory", "devices", "seed"})
RUN = "run"
FAMILIES = SCENARIOS | {"cpu-assign", "hint-merge", "checkpoint", "validation", RUN}

Verdict = Literal["match", "other order", "differs", "computed"]
"""`other order`: the recorded outcome is another of those that the kubelet's random map order allows. `computed`:
nothing was recorded to compare with."""

ORDERS = 144
"""How many orders are tried to explain a step."""
STALE_ORDERS = 720
"""The same where the order of stale removal shows: all of six containers."""


class Replayed(msgspec.Struct, frozen=True):
    verdict: Verdict
    actual: Json
    difference: Mismatch | None = None
    """The first one; with `other order` that of numafit's own choice."""
    marked: bool = True
    """With `other order`: the recording itself says that this place is left to chance."""


def compute(case: Mapping[str, Any], choices: Choices | None = None) -> Json:
    """What numafit says to the `input` of a case, in the schema of its `expect`."""
    version = parse_version(case["kubeVersion"])
    content = case["input"]
    match case["family"]:
        case "cpu-assign":
            settings = settings_from_recording(content.get("config") or {}, version)
            return cpu_case(content, machine_from_recording(content["machine"]), settings, choices or Choices())
        case "hint-merge":
            return merge_case(content, version)
        case "checkpoint":
            return checkpoint_case(content, version)
        case "validation" if content["kind"] == "config":
            gates = (content.get("config") or {}).get("featureGates") or {}
            return config_case(content["spec"], gates, version)
        case "run":
            return Run(content, version).play()
    return Scenario(content, version).play()


def replay(case: Mapping[str, Any]) -> Replayed:
    actual = compute(case)
    expected = case.get("expect")
    if expected is None:
        return Replayed("computed", actual)
    try:
        return _compared(case, expected, actual)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # The input has been computed without it: what fails now is the walk through a result of another form.
        raise InputError(f"has not the form of a result: {error}", field="expect") from error


def _compared(case: Mapping[str, Any], expected: Json, actual: Json) -> Replayed:
    version = parse_version(case["kubeVersion"])
    if case["family"] == RUN:
        return _replay_run(case, expected, actual, version)
    if "start" in expected:
        return _replay_scenario(case, expected, actual, version)
    found = mismatch(expected, actual)
    if found is None:
        return Replayed("match", actual)
    marked = found.path in (case.get("nondeterministic") or ())
    if case["family"] == "cpu-assign" and mismatch(expected, compute(case, RecordedChoices(expected))) is None:
        return Replayed("other order", actual, found, marked)
    if marked and isinstance(found.actual, type(found.expected)):
        return Replayed("other order", actual, found)
    return Replayed("differs", actual, found)


def _replay_run(case: Mapping[str, Any], expected: Json, actual: Json, version: KubeVersion) -> Replayed:
    found = first_unlike(expected, actual)
    if found is None or "error" in expected:
        return Replayed("match" if found is None else "differs", actual, found)
    run = Run(case["input"], version)
    told = first_unlike(expected, run.follow(expected["events"]))
    if told is None or first_unlike(expected, run.follow(expected["events"], backwards=True)) is None:
        return Replayed("other order", actual, found)
    return Replayed("differs", actual, told)


def _replay_scenario(case: Mapping[str, Any], expected: Json, actual: Json, version: KubeVersion) -> Replayed:
    behaviour = behaviour_of(version)
    step, found = _first_difference(expected, actual, behaviour)
    if found is None:
        return Replayed("match", actual)
    told = _Following(case["input"], version, expected).play()
    _, told_difference = _first_difference(expected, told, behaviour)
    if told_difference is not None:
        if step is None and told_difference.path in (case.get("nondeterministic") or ()):
            # Which of several start-up errors comes first is random, and the record does not tell the order.
            return Replayed("other order", actual, found)
        return Replayed("differs", actual, told_difference)
    random_from = case.get("firstNondeterministicStep")
    marked = random_from is not None and step is not None and step >= random_from
    return Replayed("other order", actual, found, marked)


def _first_difference(expected: Json, actual: Json, behaviour: Behaviour) -> tuple[int | None, Mismatch | None]:
    """The step and the difference; the step is None when already the start differs, or the number of steps."""
    comparison = ScenarioComparison(behaviour)
    found = comparison.part(expected["start"], actual["start"], "/start")
    if found is not None:
        return None, found
    steps = zip(expected.get("steps") or (), actual.get("steps") or (), strict=False)
    for i, (expected_step, actual_step) in enumerate(steps):
        found = comparison.part(expected_step, actual_step, f"/steps/{i}")
        if found is not None:
            return i, found
    outline = [{key: _length(value) for key, value in side.items() if key != "start"} for side in (expected, actual)]
    return None, mismatch(outline[0], outline[1])


def _length(value: Any) -> object:
    return len(value) if isinstance(value, list) else value


class _Following(Scenario):
    """Plays a scenario so that every random choice falls as recorded, as far as the record tells."""

    def __init__(self, scenario: Mapping[str, Any], version: KubeVersion, expected: Json) -> None:
        super().__init__(scenario, version, self._recorded_choices)
        self.expected = expected
        self.comparison = ScenarioComparison(behaviour_of(version))
        self.variant = 0

    def _recorded_choices(self, step: int, pod: int) -> Choices:
        if step < 0:
            return RecordedChoices(self.expected["start"])
        steps = self.expected.get("steps") or ()
        record = steps[step] if step < len(steps) else {}
        if "readmit" in record or "error" in record:
            readmit = record.get("readmit") or ()
            record = readmit[pod] if 0 <= pod < len(readmit) else {}
        return RecordedChoices(record, self.variant)

    def _step(self, i: int, step: RecordedStep) -> Json:
        """Where the record does not tell an order, try orders until the record comes out."""
        steps = self.expected.get("steps") or ()
        if i >= len(steps):
            return super()._step(i, step)
        before = self.ledger, self.files.ledger, dict(self.files.reported), dict(self.devices)
        first: tuple[Json, Ledger] | None = None
        for variant in range(ORDERS if self.comparison.behaviour.memory_group_check else STALE_ORDERS):
            self.variant = variant
            self.ledger, self.files.ledger = before[0], before[1]
            self.files.reported, self.devices = dict(before[2]), dict(before[3])
            record = super()._step(i, step)
            first = first or (record, self.ledger)
            comparison = self.comparison.copy()
            if comparison.part(steps[i], {"op": step.op, **record}, "") is None:
                self.comparison = comparison
                return record
        if first is not None:
            self.ledger = first[1]
        return first[0] if first else {}
