"""Workers in two lanes, and the time that a question may take: a slow question never stands before a quick one."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from numafit.service.node import Snapshot
from numafit.service.problem import refused
from numafit.service.workers.job import FRAME, READY, Done, Job, Now, decoded, framed, packed

QUICK = ("simulate", "explain", "whatif", "lint", "why-not", "apply", "doctor")
QUICK_SECONDS = 5.0
SLOW_SECONDS = 20.0
PATIENCE = 3
"""On a busy machine an answer may take so many times as long, while it does not use its own time up."""
OWN_SHARE = 0.8
"""Of the CPU time that was there to have: who took less had to wait for others."""
START_SECONDS = 30.0
"""For a process to start, or to become free."""
AGAIN_SECONDS = 1.0
SLOW_NICE = 10
"""Slow questions give way to quick ones on a busy machine."""
WORKERS = 2
"""In each lane: while one is busy with a bad question, the other answers good ones."""
MOST_WAITING = 200
"""Questions in one lane; more are turned away at once."""


class Worker:
    """One process. It is told of the node once, and of a new ledger when that has changed since its last job."""

    def __init__(self, nice: int = 0) -> None:
        self.nice = nice
        self.process: asyncio.subprocess.Process | None = None
        self.revision = -1

    async def start(self, snapshot: Snapshot) -> None:
        """Returns when it is ready to answer."""
        if not self.is_gone:
            return
        self.process = await asyncio.create_subprocess_exec(
            # -P: no module is taken from the folder that the agent happens to stand in.
            *(sys.executable, "-P", "-m", "numafit.service.workers.worker", str(self.nice)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        await self._exchange(Job(READY, b"", place=snapshot.place, now=_now(snapshot)))
        self.revision = snapshot.revision

    async def ask(self, kind: str, body: bytes, snapshot: Snapshot, seconds: float) -> Done:
        now = None if snapshot.revision == self.revision else _now(snapshot)
        done = await self._exchange(Job(kind, body, seconds, now=now))
        self.revision = snapshot.revision
        return done

    def cpu_seconds(self) -> float:
        """CPU time that the process has taken so far; 0 when it is gone."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text() if self.process is not None else ""
        except OSError:
            return 0.0
        # The name may hold blanks and parentheses; user and system time are the 12th and 13th field behind it.
        fields = text.rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:13]) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0.0

    @property
    def is_gone(self) -> bool:
        return self.process is None or self.process.returncode is not None

    async def _exchange(self, job: Job) -> Done:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(framed(packed(job)))
        await process.stdin.drain()
        size = await process.stdout.readexactly(FRAME)
        return decoded(await process.stdout.readexactly(int.from_bytes(size, "big")))

    async def stop(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _within(asking: "asyncio.Task[Done]", worker: Worker, seconds: float) -> Done:
    """Its answer, or TimeoutError. Time that the machine gave to others does not count, up to a point."""
    used = worker.cpu_seconds()
    for _ in range(PATIENCE):
        await asyncio.wait((asking,), timeout=seconds)
        if asking.done():
            return asking.result()
        if worker.cpu_seconds() - used >= seconds * OWN_SHARE:
            break
    raise TimeoutError


def _now(snapshot: Snapshot) -> Now:
    return Now(snapshot.ledger, dict(snapshot.known), snapshot.revision, snapshot.time)


class Lane:
    """Workers for one kind of questions. One that was ended is started again before it is asked again."""

    def __init__(self, snapshot: Callable[[], Snapshot], seconds: float, workers: int = WORKERS, nice: int = 0) -> None:
        self.snapshot = snapshot
        self.seconds = seconds
        self.workers = [Worker(nice) for _ in range(workers)]
        self.idle: asyncio.Queue[Worker] = asyncio.Queue()
        self.starting: set[asyncio.Task[None]] = set()
        self.started = False
        self.waiting = 0

    def start(self) -> None:
        """All workers, each in its own time."""
        self.started = True
        for worker in self.workers:
            self._start(worker)

    def _start(self, worker: Worker) -> None:
        task = asyncio.create_task(self._ready(worker))
        self.starting.add(task)
        task.add_done_callback(self.starting.discard)

    async def _ready(self, worker: Worker) -> None:
        """A process that cannot be started (memory, limits) is tried again: there may be room later."""
        while True:
            try:
                async with asyncio.timeout(START_SECONDS):
                    await worker.start(self.snapshot())
                break
            except (TimeoutError, asyncio.IncompleteReadError, OSError):
                await worker.stop()
                await asyncio.sleep(AGAIN_SECONDS)
        self.idle.put_nowait(worker)

    async def ask(self, kind: str, body: bytes, seconds: float | None = None, patience: float | None = None) -> Done:
        """`patience`: seconds until a worker is free; as for all, unless told."""
        seconds = self.seconds if seconds is None else seconds
        worker = await self._worker(START_SECONDS if patience is None else patience)
        asking = asyncio.create_task(worker.ask(kind, body, self.snapshot(), seconds))
        try:
            done = await _within(asking, worker, seconds)
        except BaseException as error:
            # It is in the middle of something, or gone.
            asking.cancel()
            await worker.stop()
            self._start(worker)
            if isinstance(error, TimeoutError):
                cure = "ask for less: fewer pods, a smaller machine, a shorter log"
                raise refused(504, f"no answer within {seconds:g} s", cure=cure) from None
            if isinstance(error, asyncio.IncompleteReadError | ConnectionError):
                raise refused(500, "the worker ended without an answer", cure="ask for less") from None
            raise
        self.idle.put_nowait(worker)
        return done

    async def _worker(self, patience: float) -> Worker:
        if not self.started:
            self.start()
        if self.waiting >= MOST_WAITING:
            raise refused(503, "too many questions are waiting", cure="ask again later", headers={"Retry-After": "2"})
        self.waiting += 1
        try:
            async with asyncio.timeout(patience):
                while (worker := await self.idle.get()).is_gone:
                    # It ended while nobody asked it, as when the machine ran out of memory.
                    self._start(worker)
                return worker
        except TimeoutError:
            raise refused(503, "all workers are busy", cure="ask again later", headers={"Retry-After": "5"}) from None
        finally:
            self.waiting -= 1

    async def stop(self) -> None:
        for task in tuple(self.starting):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for worker in self.workers:
            await worker.stop()


class Pool:
    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self.quick = Lane(snapshot, QUICK_SECONDS)
        self.slow = Lane(snapshot, SLOW_SECONDS, nice=SLOW_NICE)

    def start(self) -> None:
        """The workers for quick questions; the others start when they are needed."""
        self.quick.start()

    async def ask(self, kind: str, body: bytes, seconds: float | None = None, patience: float | None = None) -> Done:
        return await (self.quick if kind in QUICK else self.slow).ask(kind, body, seconds, patience)

    async def stop(self) -> None:
        await self.quick.stop()
        await self.slow.stop()
