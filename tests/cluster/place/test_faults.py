"""A bug of ours that one pod meets stops nobody else, and keeps no pod back."""

from typing import Any

import pytest

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import CandidateSearch
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.faults import Faults
from numafit.cluster.place.waiting.entries import EntryMaker
from numafit.cluster.place.waiting.helped import HelpedKinds
from numafit.cluster.place.waiting.sentences import Sentences
from tests.cluster.place.clusters import filled, waiting
from tests.cluster.place.played import Play, PlayedFleet, run


def breaks_for(monkeypatch: pytest.MonkeyPatch, owner: type, method: str, name: str) -> None:
    """Of the pod of that name only."""
    good = getattr(owner, method)

    def bad(self: Any, pod: ClusterPod, *more: Any, **named: Any) -> Any:
        if pod.metadata.name == name:
            raise KeyError("a bug")
        return good(self, pod, *more, **named)

    monkeypatch.setattr(owner, method, bad)


@pytest.mark.parametrize(("owner", "method"), [(CandidateSearch, "candidates"), (EntryMaker, "entry")])
def test_a_pod_that_nobody_can_decide_about_is_released_as_it_came_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str
) -> None:
    breaks_for(monkeypatch, owner, method, "bad")

    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet) as play:
            fleet.tell(waiting("bad"))
            fleet.tell(waiting("good", gpus=2))
            await play.until(lambda: not fleet.pods["good"].gates and not fleet.pods["bad"].gates)
            assert play.names("good") == ("n1",)
            assert play.names("bad") == ()
            assert "bad" not in fleet.fleet.offers
            await play.until(lambda: play.counts.released == {"known": 1, "fault": 1})
            assert play.counts.faults >= 1
            assert any("team/bad: a fault of numafit: KeyError" in line for line in play.said)

    run(test())


def test_a_group_that_nobody_can_decide_about_is_released_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_for(monkeypatch, CandidateSearch, "candidates", "b")

    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet) as play:
            for name in ("a", "b"):
                fleet.tell(waiting(name, annotations={"numafit.io/group": "g", "numafit.io/group-size": "2"}))
            await play.until(lambda: not fleet.pods["a"].gates and not fleet.pods["b"].gates)
            assert fleet.fleet.offers == {}

    run(test())


def test_who_could_be_helped_is_everybody_where_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: HelpedKinds, queue: object) -> set[object]:
        raise ValueError("a bug")

    monkeypatch.setattr(HelpedKinds, "kinds", broken)

    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet) as play:
            fleet.tell(waiting("first", gpus=8))
            fleet.tell(waiting("second", gpus=8, made="2026-01-02T00:00:00Z"))
            await play.until(lambda: not fleet.pods["first"].gates)
            fleet.end("first")
            await play.until(lambda: not fleet.pods["second"].gates)
            assert play.names("second") == ("n1",)

    run(test())


def test_a_pod_is_told_where_nobody_knows_why_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Sentences, *more: object) -> str:
        raise IndexError("a bug")

    monkeypatch.setattr(Sentences, "of", broken)

    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet) as play:
            fleet.tell(waiting("p", gpus=9))
            await play.until(lambda: bool(play.api.conditions))
            assert "fault of numafit" in play.api.conditions[0][1]["message"]

    run(test())


def test_the_same_fault_is_said_once_and_counted_each_time() -> None:
    counts, said = PlaceCounts(), list[str]()
    faults = Faults(counts, said.append)
    for _ in range(3):
        with faults.passed_over("a/b"):
            raise ValueError("no")
    assert counts.faults == 3
    assert len(said) == 1
    assert "a/b: a fault of numafit: ValueError: no (test_faults.py, line" in said[0]
