"""Advice as a record."""

import json

import msgspec

from numafit.advice.propose.advise import advise
from numafit.show.records.advice import advice_record
from tests.advice.stages import stage
from tests.decision.strategies import cpus, pod


def test_decisions_stand_in_short_in_an_advice() -> None:
    """Without hints, calls and files; the containers last."""
    on = stage()
    advices = advise(on, [pod("a", cpus("app", "9"))], {})
    (found,) = json.loads(msgspec.json.encode(advice_record(advices, on.config, {}, 1)))["advice"]
    (proposal,) = found["proposals"]
    assert list(found["now"]) == ["pod", "admitted", "reason", "message", "containers"]
    assert [list(each) for each in proposal["then"]] == [["pod", "admitted", "containers"]]
