"""The guard beside the placer: where it holds, and that nothing waits once both have ended for good."""

import asyncio

from numafit.cluster.guard.beside import HOLD_PATH, guard_beside, hold_questions
from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.guard import GuardOptions
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.words import GUARD_LABEL
from tests.cluster.guard.looping import gated_pod
from tests.cluster.guard.recorded_api import Noted, RecordedApi


def test_loops_are_held_by_the_label_of_the_guard_and_not_by_that_of_the_placer() -> None:
    (own,) = hold_questions(enforce=True, opt_in=False)
    assert (own.path, own.label, own.opt_in) == (HOLD_PATH, GUARD_LABEL, False)
    assert hold_questions(enforce=False, opt_in=False) == ()


def test_the_last_one_that_ends_releases_what_it_holds() -> None:
    def answer(noted: Noted) -> object:
        return {}

    api, health = RecordedApi(answer), ApiHealth()
    live = LiveFleet(api, health)
    live.book.pod_told(gated_pod("held"))
    options = GuardOptions(enforce=True, by_policy=False, alone=False)
    work = guard_beside(options, GuardCounts(), lambda _: None)(api, health, live)
    assert work.last is not None
    asyncio.run(work.last())
    assert [own.path.rpartition("/")[2] for own in api.of("PATCH") if "/pods/" in own.path] == ["held"]


def test_a_dry_run_asks_for_nothing_and_releases_nothing() -> None:
    api, health = RecordedApi(lambda _: {}), ApiHealth()
    options = GuardOptions(enforce=False, by_policy=False, alone=False)
    work = guard_beside(options, GuardCounts(), lambda _: None)(api, health, LiveFleet(api, health))
    assert (work.wishes, work.last, work.always) == ({}, None, None)
