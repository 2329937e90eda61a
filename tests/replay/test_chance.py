"""Outcomes that the kubelet leaves to chance, against recordings of kubelet code in which chance fell otherwise."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest

from numafit.decision.admit import admit
from numafit.decision.decision import Decision
from numafit.decision.doubt.chance import others
from numafit.managers.protocol import Choices, WatchedChoices
from numafit.replay.cases.scenario import RecordedStep, pod_of
from numafit.replay.outcomes import as_recorded, decision_outcome
from numafit.replay.replay import _Following
from numafit.settings.versions import parse_version
from tests.test_replay_recordings import EVERYTHING, VERSIONS, lines

FIELDS = ("admitted", "reason", "message", "containers")


def told(record: Mapping[str, Any]) -> dict[str, Any]:
    """What an outcome is told by; memory blocks are written in the order of a map."""
    fields = {name: record.get(name) for name in FIELDS}
    if not fields["admitted"]:
        fields["containers"] = None
    for own in (fields["containers"] or {}).values():
        if "memory" in own:
            own["memory"] = sorted(own["memory"], key=lambda block: (block["type"], block["numaAffinity"]))
    return fields


class Enumerated(_Following):
    """Follows a recording, and looks whether each recorded outcome is among those that are possible there."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.decisions = self.by_chance = 0
        self.missing: list[int] = []

    def _step(self, i: int, step: RecordedStep) -> dict[str, Any]:
        steps = self.expected.get("steps") or ()
        recorded = steps[i] if i < len(steps) else {}
        if step.op == "add" and step.pod is not None and "panic" not in recorded and recorded:
            self._compare(i, pod_of(step.pod), json.loads(json.dumps(recorded)))
        return super()._step(i, step)

    def _compare(self, i: int, pod: Any, recorded: dict[str, Any]) -> None:
        node, ledger = self.node, self.ledger

        def again(choices: Choices) -> Decision:
            return admit(node, ledger, pod, choices)

        watched = WatchedChoices()
        made = again(watched)
        self.decisions += 1
        if told(as_recorded(decision_outcome(made))) == told(recorded):
            return
        self.by_chance += 1
        found = others(made, again, 10_000)
        possible = [told(as_recorded(decision_outcome(decision))) for decision in found.decisions]
        if not watched.draws or (told(recorded) not in possible and found.extent == "all"):
            self.missing.append(i)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_chance_gave_a_real_kubelet_is_among_the_outcomes(version: str) -> None:
    """Each decision that the recorded kubelet made otherwise is one of those that are listed."""
    seen = 0
    for family in ("node", "devices"):
        for line in islice(lines(version, family), 0, None, 1 if EVERYTHING else 24):
            case = json.loads(line)
            expected = case.get("expect")
            if not expected or "start" not in expected or "error" in expected["start"]:
                continue
            playing = Enumerated(case["input"], parse_version(case["kubeVersion"]), expected)
            playing.play()
            assert playing.missing == [], case["id"]
            seen += playing.by_chance
    assert seen > 0
