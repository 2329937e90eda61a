"""The steps of a switch, forward and back. Each can be done twice; the journal knows of each before and after.

What may be lost is kept before anything is changed, and the kubelet is stopped before anything is kept, since it
writes its state until then. A step that fails sends everything back to what ran before; only the last one does not: the
new kubelet is known to run well by then, and the node is merely still closed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from numafit.cluster.switch.drain import PodOnNode, drain_of
from numafit.cluster.switch.files import KubeletFiles
from numafit.cluster.switch.journal import BEGUN, DONE, FAILED, UNDO, Journal, JournalEntry
from numafit.cluster.switch.server import passes_by
from numafit.errors import ApiServerError, DisruptionBudgetError, InputError, NumafitError, some_of

CORDON, DRAIN, STOP, KEEP, CLEAR = "cordon", "drain", "stop", "keep", "clear"
WRITE, START, READY, VERIFY, UNCORDON = "write", "start", "ready", "verify", "uncordon"
STEPS = (CORDON, DRAIN, STOP, KEEP, CLEAR, WRITE, START, READY, VERIFY, UNCORDON)
UNDO_STOP, UNDO_FILES, UNDO_START, UNDO_READY, UNDO_UNCORDON = (
    f"{UNDO}{name}" for name in (STOP, "files", START, READY, UNCORDON)
)
UNDO_STEPS = (UNDO_STOP, UNDO_FILES, UNDO_START, UNDO_READY, UNDO_UNCORDON)
WORDS = {
    CORDON: "no new pods come to the node",
    DRAIN: "its pods are evicted, and waited for",
    STOP: "the kubelet is stopped",
    KEEP: "state files and configuration are kept",
    CLEAR: "state files are moved away",
    WRITE: "the new configuration is written",
    START: "the kubelet is started",
    READY: "the node is waited for until it is ready",
    VERIFY: "the new state files are checked",
    UNCORDON: "pods may come again",
    UNDO_STOP: "the kubelet is stopped",
    UNDO_FILES: "the old state files and configuration are put back",
    UNDO_START: "the kubelet is started as it was",
    UNDO_READY: "the node is waited for until it is ready",
    UNDO_UNCORDON: "pods may come again",
}
AGAIN_FROM = {KEEP: STOP, CLEAR: STOP, WRITE: STOP, UNDO_FILES: UNDO_STOP}
"""Step that was interrupted -> the one to go on with: a machine that was started again has started its kubelet."""
BUDGET_PAUSE, GONE_PAUSE, READY_PAUSE = 5.0, 1.0, 0.5
"""Seconds."""
ABSENT_SECONDS = 20.0
"""A service manager has started a kubelet that failed again by then."""
MOST_STARTS = 3
MOST_NAMES = 5

SWITCHED, UNDONE, UNFINISHED = "switched", "undone", "unfinished"


class ServerSide(Protocol):
    async def pods(self) -> tuple[PodOnNode, ...]: ...
    async def cordon(self, cordoned: bool) -> None: ...
    async def evict(self, pod: PodOnNode) -> None: ...
    async def ready_since(self, begin: str) -> str: ...


class ProcessSide(Protocol):
    async def stop(self, *, watched: bool) -> str: ...
    async def start(self) -> str: ...
    def number(self) -> int | None: ...


class Switch:
    """`say` is told each entry of the journal as it is written, and in between what is waited for."""

    def __init__(
        self,
        journal: Journal,
        server: ServerSide,
        kubelet: ProcessSide,
        say: Callable[[JournalEntry], None],
        tell: Callable[[str], None] = lambda _: None,
        root: Path = Path("/"),
    ) -> None:
        self.journal, self.order = journal, journal.order
        self.server, self.kubelet, self.files = server, kubelet, KubeletFiles(journal, root)
        self.say, self.tell = say, tell
        self.was_closed = True
        """False where the API server is known to have refused that."""

    # --- which steps --------------------------------------------------------------------------------------------------

    async def forward(self) -> str:
        """From the first step that is not done. SWITCHED, UNDONE or UNFINISHED."""
        for step in self._left(STEPS):
            try:
                await self._do(step)
            except Exception as error:
                # Whatever it was, the node must not stay as it is now.
                self._failed(step, error)
                self.was_closed = step != CORDON or not isinstance(error, ApiServerError) or passes_by(error)
                return UNFINISHED if step == UNCORDON else await self.back()
        self.journal.finish(SWITCHED)
        return SWITCHED

    async def back(self) -> str:
        """To what ran before. UNDONE, or UNFINISHED where that fails, too: it can be tried again."""
        for step in self._left(UNDO_STEPS):
            try:
                await self._do(step)
            except Exception as error:
                self._failed(step, error)
                return UNFINISHED
        try:
            self.journal.finish(UNDONE)
        except OSError:
            # All is as it was; only the journal lies where it lay.
            return UNFINISHED
        return UNDONE

    def _left(self, steps: tuple[str, ...]) -> tuple[str, ...]:
        wanted = [step for step in steps if self._wanted(step)]
        first = next((step for step in wanted if not self.journal.done(step)), None)
        if first is None:
            return ()
        first = AGAIN_FROM.get(first, first)
        return tuple(wanted[wanted.index(first) :])

    def _wanted(self, step: str) -> bool:
        begun = self.journal.begun
        if step == DRAIN:
            return not self.order.keep_pods
        if step == CLEAR:
            return bool(self.order.moved)
        if step == UNCORDON:
            return not self.order.was_cordoned
        if step == UNDO_UNCORDON:
            return begun(CORDON) and self.was_closed and not self.order.was_cordoned
        if step in (UNDO_STOP, UNDO_FILES):
            return begun(CLEAR) or begun(WRITE)
        if step in (UNDO_START, UNDO_READY):
            return begun(STOP)
        return True

    async def _do(self, step: str) -> None:
        self.say(self.journal.write(step, BEGUN))
        text = await self._deeds()[step]()
        self.say(self.journal.write(step, DONE, text))

    def _failed(self, step: str, error: Exception) -> None:
        text = str(error) if isinstance(error, NumafitError | OSError) else f"{type(error).__name__}: {error}"
        self.say(self.journal.write(step, FAILED, text))

    def _deeds(self) -> dict[str, Callable[[], Awaitable[str]]]:
        return {
            CORDON: self._cordon,
            DRAIN: self._drain,
            STOP: self._stop,
            KEEP: _at_once(self.files.keep),
            CLEAR: _at_once(self.files.clear),
            WRITE: _at_once(self.files.write),
            START: self.kubelet.start,
            READY: lambda: self._ready(START),
            VERIFY: _at_once(self.files.verify),
            UNCORDON: self._uncordon,
            UNDO_STOP: self._stop,
            UNDO_FILES: _at_once(self.files.restore),
            UNDO_START: self._start_again,
            UNDO_READY: lambda: self._ready(UNDO_START),
            UNDO_UNCORDON: self._uncordon,
        }

    # --- what they do -------------------------------------------------------------------------------------------------

    async def _cordon(self) -> str:
        await self.server.cordon(True)
        return "it was closed before, and stays so" if self.order.was_cordoned else ""

    async def _uncordon(self) -> str:
        await self.server.cordon(False)
        return ""

    async def _stop(self) -> str:
        return await self.kubelet.stop(watched=self.order.process is not None)

    async def _start_again(self) -> str:
        """A command that could not stop the kubelet may not be able to start it either."""
        if self.order.process is not None and self.kubelet.number() == self.order.process:
            return "it was never stopped"
        return await self.kubelet.start()

    async def _drain(self) -> str:
        """Chosen anew: others may have come since the plan was made."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.order.drain_seconds
        evicted: set[str] = set()
        next_try = 0.0
        held_back = said = ""
        while True:
            try:
                drain = drain_of(await self.server.pods(), self.order.choice)
                if drain.blocked:
                    one = drain.blocked[0]
                    raise InputError(f"{one.pod.name} {one.why}", source="drain", cure=f"{one.cure} lets it go")
                if loop.time() >= next_try:
                    held_back = await self._evict(drain.evicted, evicted)
                    next_try = loop.time() + BUDGET_PAUSE
                if not drain.evicted:
                    return f"{len(evicted)} pods are gone" if len(evicted) != 1 else "1 pod is gone"
                names = some_of([pod.name for pod in drain.evicted], MOST_NAMES)
                why = held_back or f"{names} have not ended yet"
            except ApiServerError as error:
                if not passes_by(error):
                    raise
                why = str(error)
            if why != said:
                self.tell(f"waiting: {why}")
                said = why
            if loop.time() > end:
                cure = "--drain-timeout waits longer"
                raise InputError(f"after {self.order.drain_seconds:g} s: {why}", source="drain", cure=cure)
            await asyncio.sleep(GONE_PAUSE)

    async def _evict(self, pods: tuple[PodOnNode, ...], evicted: set[str]) -> str:
        """Those that are not on their way yet; why one may not go now."""
        why = ""
        for pod in pods:
            if pod.uid in evicted:
                continue
            try:
                if not pod.metadata.deletionTimestamp:
                    await self.server.evict(pod)
                evicted.add(pod.uid)
            except DisruptionBudgetError as error:
                why = why or f"{pod.name} may not go: {error.message}"
        return why

    async def _ready(self, started: str) -> str:
        """Since the kubelet was started, and for some seconds on end with one and the same process."""
        loop = asyncio.get_running_loop()
        begin, end = self.journal.time_of(started), loop.time() + self.order.ready_seconds
        watch = _ProcessWatch(self.kubelet, self.order.process, loop.time())
        steady: float | None = None
        said = ""
        while True:
            now = loop.time()
            number = watch.look(now)
            # One that was never stopped need not tell again what has not changed, for minutes.
            why = await self._unready("" if number is not None and number == self.order.process else begin)
            why = why or watch.problem
            if why:
                steady = None
            elif steady is None:
                steady = now
            elif now - steady >= self.order.settle_seconds:
                return f"for {self.order.settle_seconds:g} s" + (f", process {number}" if number is not None else "")
            if why and why != said:
                self.tell(f"waiting: {why}")
                said = why
            if why and now > end:
                cure = "its log tells more; --ready-timeout waits longer"
                what = f"not ready after {self.order.ready_seconds:g} s: {why}"
                raise InputError(what, source=f"node {self.order.node}", cure=cure)
            await asyncio.sleep(READY_PAUSE)

    async def _unready(self, begin: str) -> str:
        try:
            return await self.server.ready_since(begin)
        except ApiServerError as error:
            if not passes_by(error):
                raise
            return str(error)


class _ProcessWatch:
    """A kubelet that its service manager starts again and again. `before`: the process that it had; None where nobody
    could find one, and it is not looked for."""

    def __init__(self, kubelet: ProcessSide, before: int | None, now: float) -> None:
        self.kubelet, self.before = kubelet, before
        self.seen, self.numbers = now, list[int]()
        self.problem = ""

    def look(self, now: float) -> int | None:
        """Raises InputError where it does not stay up."""
        if self.before is None:
            return None
        number = self.kubelet.number()
        self.problem = "" if number is not None else "its process is not there"
        if number is not None:
            self.seen = now
            if number not in self.numbers:
                self.numbers.append(number)
                self.problem = "its process is new"
        if now - self.seen > ABSENT_SECONDS or len(self.numbers) >= MOST_STARTS:
            many = len(self.numbers) >= MOST_STARTS
            how = f"it was started {len(self.numbers)} times" if many else f"gone for {now - self.seen:.0f} s"
            raise InputError(f"the kubelet does not stay up: {how}", source="start", cure="its log tells why")
        return number


def _at_once(deed: Callable[[], str]) -> Callable[[], Awaitable[str]]:
    async def done() -> str:
        return deed()

    return done
