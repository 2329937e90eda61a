"""Workers: questions that take too long are stopped, and do not hold up others."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from numafit.service.node import Snapshot
from numafit.service.problem import ProblemError
from numafit.service.sources.demo import Demo
from numafit.service.workers import pool
from numafit.service.workers.job import READY, Done, Job, framed, packed
from numafit.service.workers.pool import Lane, Pool
from numafit.service.workers.scene import Scenes
from numafit.service.workers.worker import done
from tests.service.agents import POD

SLOW = b'{"machine": "gb200", "pods": "%s"}' % (POD.replace("\n", "\\n").replace('"', '\\"').encode())
QUICK = b'{"pods": "%s"}' % (POD.replace("\n", "\\n").replace('"', '\\"').encode())


def snapshot() -> Snapshot:
    place = Demo().place
    return Snapshot(place, place.stage())


def test_a_question_that_takes_too_long_is_stopped_and_the_next_is_answered() -> None:
    """The worker ends with it; a new one takes its place."""

    async def run() -> tuple[int, int]:
        now = snapshot()
        lane = Lane(lambda: now, 10, workers=1)
        try:
            with pytest.raises(ProblemError) as found:
                await lane.ask("fit", SLOW, 0.001)
            return found.value.problem.status, (await lane.ask("simulate", QUICK, 30)).status
        finally:
            await lane.stop()

    assert asyncio.run(run()) == (504, 200)


def test_a_question_that_is_stopped_does_not_hold_up_the_next() -> None:
    """The other worker is free, and is asked before the one that starts again."""

    async def run() -> bool:
        now = snapshot()
        lane = Lane(lambda: now, 10, workers=2)
        try:
            await lane.ask("simulate", QUICK)
            while lane.idle.qsize() < 2:
                await asyncio.sleep(0.01)
            with pytest.raises(ProblemError):
                await lane.ask("fit", SLOW, 0.001)
            await lane.ask("simulate", QUICK)
            return len(lane.starting) == 1
        finally:
            await lane.stop()

    assert asyncio.run(run())


def test_a_worker_that_dies_is_replaced() -> None:
    """Whoever asked it hears so."""

    async def run() -> tuple[int, int]:
        now = snapshot()
        lane = Lane(lambda: now, 10, workers=1)
        worker = lane.workers[0]
        try:
            await lane.ask("simulate", QUICK, 30)
            assert worker.process is not None
            # Stopped, it cannot answer before it is killed.
            worker.process.send_signal(signal.SIGSTOP)
            asked = asyncio.create_task(lane.ask("simulate", QUICK, 30))
            await asyncio.sleep(0.01)
            worker.process.kill()
            with pytest.raises(ProblemError) as found:
                await asked
            return found.value.problem.status, (await lane.ask("simulate", QUICK, 30)).status
        finally:
            await lane.stop()

    assert asyncio.run(run()) == (500, 200)


def test_a_worker_that_died_while_nobody_asked_it_costs_no_answer() -> None:
    """As when the machine ran out of memory: it is started again before it is asked."""

    async def run() -> int:
        now = snapshot()
        lane = Lane(lambda: now, 30, workers=1)
        try:
            await lane.ask("simulate", QUICK)
            process = lane.workers[0].process
            assert process is not None
            process.kill()
            await process.wait()
            return (await lane.ask("simulate", QUICK)).status
        finally:
            await lane.stop()

    assert asyncio.run(run()) == 200


def test_a_worker_whose_agent_was_killed_ends_without_a_word() -> None:
    """Nobody reads its answer any more."""
    job = packed(Job(READY, b"", place=Demo().place))
    command = [sys.executable, "-P", "-m", "numafit.service.workers.worker", "0"]
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(command, input=framed(job), stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_those_who_wait_too_long_or_are_too_many_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the time after which to ask again."""

    async def run() -> list[ProblemError]:
        now = snapshot()
        lane = Lane(lambda: now, 1, workers=0)
        found = []
        for most in (1, 0):
            monkeypatch.setattr(pool, "MOST_WAITING", most)
            monkeypatch.setattr(pool, "START_SECONDS", 0.05)
            with pytest.raises(ProblemError) as error:
                await lane.ask("simulate", QUICK)
            found.append(error.value)
        return found

    problems = asyncio.run(run())
    assert [one.problem.status for one in problems] == [503, 503]
    assert all(int(one.headers["Retry-After"]) > 0 for one in problems)


def test_a_worker_follows_the_ledger() -> None:
    """A question is answered on top of what is held when it is asked."""

    async def run() -> list[Done]:
        demo = Demo()
        stage = demo.place.stage()
        state = Snapshot(demo.place, stage)
        both = Pool(lambda: state)
        try:
            first = await both.ask("simulate", QUICK)
            for _ in range(5):
                for change in demo.events():
                    state = Snapshot(demo.place, change.stage, change.known, state.revision + 1)
            return [first, await both.ask("simulate", QUICK), done(Scenes(state), Job("simulate", QUICK))]
        finally:
            await both.stop()

    idle, busy, expected = asyncio.run(run())
    assert idle != busy
    assert busy == expected


def test_a_bug_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker never ends by an exception of a question."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("numafit.service.workers.worker.ANSWERS", {"simulate": broken})
    found = done(Scenes(snapshot()), Job("simulate", QUICK))
    assert found.status == 500
    assert b"bug in numafit" in found.content


@pytest.mark.parametrize(("error", "status"), [(MemoryError(), 422), (RecursionError(), 422)])
def test_a_question_that_is_too_large_is_a_problem(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whoever asks."""

    def greedy(*_: object) -> None:
        raise error

    monkeypatch.setattr("numafit.service.workers.worker.ANSWERS", {"simulate": greedy})
    assert done(Scenes(snapshot()), Job("simulate", QUICK)).status == status
