"""Watching over the queue: sleeps until something ends or somebody rings, looks once, and tells those who may start.

One process does it for all that wait: whoever has the lock. Ends of processes and the bell are events of the kernel.
What has none (a container, a process of another pid namespace, one that was stopped and goes on) is looked for every
few seconds. Whatever the watcher told is in the ledger before: one that is killed loses nothing, and is missed at once,
since it holds the other end of everybody's pipe.
"""

import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from numafit.host.book.bell import BELL, open_pipe, pipe_path, pipes, try_watch
from numafit.host.book.book import Book
from numafit.host.book.opening import open_fifo
from numafit.host.book.serve import HostNow, QueueLook, serve
from numafit.host.book.starts import Starts, is_offered, start_line
from numafit.host.grant import QueuePlace
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.process.identity import ProcessId
from numafit.host.wake.words import GO, HELLO, LEAD, LOST, OVER

LOOK_SECONDS = 5.0
"""Between two looks for what is no event."""
LONGEST_REST = 0.5
PATIENCE = 2.0
"""Seconds that one who shall watch next has to begin; then the next one is asked."""
MOST_ASKED = 5


class Watcher:
    """Has the lock of the watch, and gives it up when it is closed. With -1 in its place it watches beside one who has
    the lock and does not answer: two do no harm, each look is a transaction."""

    def __init__(
        self, book: Book, folder: Path, lock: int, host: Callable[[], Host], host_now: HostNow | None = None
    ) -> None:
        self._book, self._folder, self._lock, self._host, self._host_now = book, folder, lock, host, host_now
        self._bell = open_pipe(folder / BELL)
        self._pipes: dict[Path, int] = {}
        self._ends: dict[ProcessId, int] = {}
        self._ended: set[ProcessId] = set()
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._state = b""
        self._starts = Starts(book)

    def until_left(self, ticket: int, further: int = 0) -> None:
        """As long as this one waits: what runs for his sake ends with him. So many `further` looks are taken before
        that, while each lets somebody start: to begin a watch takes longer than a look."""
        for path in pipes(self._folder):
            # Some may be of those that are gone; the others are greeted.
            self._pipes.setdefault(path, -1)
        found: list[Host] = []
        while True:
            with suppress(BlockingIOError):
                self._starts.heard(os.read(self._bell, 1 << 16))
            began = time.monotonic()
            served = self._served(found)
            self._state = served.state
            self._tell(served)
            if all(place.ticket != ticket for place in served.waiting) and not self._starts:
                if not served.given or not further:
                    return
                further -= 1
            # Others want to write the ledger, too: a look that took long is followed by as long a rest.
            time.sleep(min(LONGEST_REST, time.monotonic() - began))
            if not served.given:
                self._sleep(served)

    def _served(self, found: list[Host]) -> QueueLook:
        """Those who can start right behind others go by what was `found` for these: to look anew takes longer than to
        let one start."""

        def now(queue: Sequence[QueuePlace]) -> Host:
            assert self._host_now is not None
            found[:] = [self._host_now(queue)]
            return found[0]

        if found:
            served = serve(self._book, found[0], self._state)
        else:
            served = serve(self._book, self._host(), self._state, host_now=now if self._host_now else None)
        if not served.given:
            found.clear()
        return served

    def hand_over(self) -> None:
        """Somebody who still waits shall watch; the pipes stay open until he does."""
        self._unlock()
        asleep = [path for path, pipe in sorted(self._pipes.items(), reverse=True) if pipe >= 0]
        for successor in asleep[:MOST_ASKED]:
            self._say(successor, LEAD)
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                lock = try_watch(self._folder)
                if lock is None:
                    # He has the lock, and opens the pipes next.
                    time.sleep(PATIENCE / 2)
                    return
                os.close(lock)
                time.sleep(0.02)

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def close(self) -> None:
        self._starts.close()
        for handle in (self._bell, self._lock, *self._pipes.values(), *self._ends.values()):
            if handle >= 0:
                os.close(handle)

    # Telling

    def _tell(self, served: QueueLook) -> None:
        there = {self._path(place) for place in served.waiting}
        for path in there:
            if self._pipes.get(path, -1) < 0:
                self._open(path)
                self._say(path, HELLO)
        for place, lease, cpus in served.given:
            if is_offered(place):
                self._start(place, lease, cpus)
            else:
                self._dismiss(self._path(place), f"{GO} {lease.id}")
        for place, sentence in served.over:
            self._dismiss(self._path(place), f"{OVER} {sentence}")
        for path in self._pipes.keys() - there:
            self._dismiss(path, LOST)

    def _path(self, place: QueuePlace) -> Path:
        first = place.owner.processes[:1]
        return pipe_path(self._folder, place.ticket, first[0].pid if first else 0)

    def _open(self, path: Path) -> None:
        with suppress(OSError):
            self._pipes[path] = open_fifo(path, os.O_RDWR)

    def _say(self, path: Path, line: str) -> None:
        with suppress(OSError, KeyError):
            os.write(self._pipes[path], f"{line}\n".encode())

    def _dismiss(self, path: Path, line: str) -> None:
        """The last word; it stays in the pipe until it is read, whoever else closes it."""
        if self._pipes.get(path, -1) < 0:
            self._open(path)
        self._say(path, line)
        handle = self._pipes.pop(path, -1)
        if handle >= 0:
            os.close(handle)
        with suppress(OSError):
            path.unlink()

    def _start(self, place: QueuePlace, lease: Lease, cpus: int) -> None:
        """He will report; his pipe stays open, so that he hears of it."""
        path = self._path(place)
        if self._pipes.get(path, -1) < 0:
            self._open(path)
        self._say(path, start_line(lease, cpus))
        handle = self._pipes.pop(path, -1)
        if handle >= 0:
            self._starts.begin(place, lease, cpus, handle)
        with suppress(OSError):
            path.unlink()

    # Sleeping

    def _sleep(self, served: QueueLook) -> None:
        self._watch_ends(served.owners | {process for place in served.waiting for process in place.owner.processes})
        left = served.due - time.clock_gettime(time.CLOCK_BOOTTIME)
        events = {handle for handle, _ in self._poll.poll(max(0.0, min(LOOK_SECONDS, left)) * 1000)}
        for process, handle in list(self._ends.items()):
            if handle in events:
                self._ended.add(process)
                self._forget(process)

    def _watch_ends(self, wanted: frozenset[ProcessId] | set[ProcessId]) -> None:
        for process in [process for process in self._ends if process not in wanted]:
            self._forget(process)
        self._ended &= wanted
        for process in wanted - self._ends.keys() - self._ended:
            # Those of another namespace, or one too many: they are looked for from time to time.
            with suppress(OSError):
                handle = os.pidfd_open(process.pid)
                self._ends[process] = handle
                self._poll.register(handle, select.POLLIN)

    def _forget(self, process: ProcessId) -> None:
        handle = self._ends.pop(process)
        self._poll.unregister(handle)
        os.close(handle)
