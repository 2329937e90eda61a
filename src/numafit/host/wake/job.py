"""The job itself: bound, told to the one who watches over the queue, started once that is written down.

As in `run.supervise` the new process binds itself and waits for leave, so whenever this one is killed there is no
command or one that is in the ledger. Signals are blocked from the beginning, and passed on by who comes next.
"""

from __future__ import annotations

import os
import select
import signal
import stat

from numafit.host.bind.marking import mark_number, mark_self
from numafit.host.wake.binding import Unforeseen, bind, numbers
from numafit.host.wake.execute import NOT_EXECUTABLE, execute, passed_on, restore_signals
from numafit.host.wake.kept import kept
from numafit.host.wake.words import GO, LOST, NOTHING, REPORT, RUNNING, VARIABLE, WRITTEN, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PATIENCE = 10.0
"""Seconds for the one who watches to write it down; then this process does that itself."""
POOL_SECONDS = 3.0
"""After so many a job in the shared pool looks for the first time whether that has changed."""
INTERRUPTED = 130
_LONGEST_LINE = 1 << 16


def main(arguments: list[str]) -> NoReturn:
    """`arguments`: the pipe on which the watcher speaks, and the words that begin numafit."""
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, passed_on())
        pipe, words = int(arguments[0]), arguments[1:]
        ticket, file, _, *start = os.environ[VARIABLE].split()
        environment, plan = kept(int(file))
        lease = start.pop(0) if start else ""
        if plan is None or not lease:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _become(words, f"{ticket} {file} {GO} {lease}" if lease else f"{ticket} {file} {LOST}")
        job = _Job(ticket, lease, plan, pipe)
        # They are not the command's.
        for handle in (pipe, int(file), plan["commands"]):
            if handle >= 0:
                os.set_inheritable(handle, False)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    try:
        job.start(start, environment, before)
    except (Unforeseen, OSError, ValueError):
        job.take_back()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.set_inheritable(int(file), True)
        _become(words, f"{ticket} {file} {GO} {lease}")
    heard = job.wait()
    for handle in (job.said, int(file)):
        os.set_inheritable(handle, True)
    _become(words, f"{ticket} {file} {RUNNING} {lease} {job.pid} {job.said} {heard}")


def _become(words: list[str], told: str) -> NoReturn:
    """numafit, in this process."""
    os.execve(words[0], words, {**os.environ, VARIABLE: told})


class _Job:
    def __init__(self, ticket: str, lease: str, plan: dict[str, Any], pipe: int) -> None:
        self.ticket, self.lease, self.plan, self.pipe = ticket, lease, plan, pipe
        self.pid, self.said, self.give = 0, -1, -1
        self.pooled = self.ignored = False
        """`ignored`: SIGCHLD is, by whoever began this."""

    def start(self, words: list[str], environment: dict[bytes, bytes], mask: set[int | signal.Signals]) -> None:
        """Until the command runs. What comes through the pipe may come from any user of the ledger: it names CPUs,
        nodes and variables of leases, and nothing else is taken from it. Raises `Unforeseen` and the like."""
        if mark_number(self.lease) is None or not self.lease.isalnum():
            raise Unforeseen
        cpus, mems, way, shared, variables = (word if word != NOTHING else "" for word in words)
        numbers(cpus)
        self.pooled = bool(shared)
        if not self.plan["no_env"]:
            ours = {name: value for name, value in unpacked(variables).items() if name in self.plan["names"]}
            environment = {**ours, **environment, **self.plan["variables"]}
        self._fork(cpus, mems, way, environment, mask)
        line = _line(self.said)
        if not line:
            raise Unforeseen
        self._report(line)
        word, _, rest = _line(self.pipe, PATIENCE).partition(" ")
        if word != WRITTEN:
            raise Unforeseen
        notes, sentences = (bytes.fromhex(told if told != NOTHING else "") for told in rest.split())
        try:
            os.write(self.give, b"go")
        except BrokenPipeError:
            # Killed meanwhile, it cannot listen; its end is seen in a moment.
            self.pooled = False
        os.close(self.give)
        self.give = -1
        self._tell(notes if self.plan["quiet"] else notes + sentences)

    def _fork(
        self, cpus: str, mems: str, way: str, environment: dict[bytes, bytes], mask: set[int | signal.Signals]
    ) -> None:
        self.said, say = os.pipe()
        leave, self.give = os.pipe()
        # With SIGCHLD ignored the kernel would throw the exit status away.
        self.ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.pid = os.fork()
        if not self.pid:
            # Nothing of this process may go on in here.
            try:
                os.close(self.give)
                marked = mark_self(self.lease)
                found, policy = bind(self.plan, self.lease, cpus, mems, way)
                told = f"{found or NOTHING} {policy.encode().hex() or NOTHING} {int(marked)}\n"
                os.write(say, told.encode())
                if os.read(leave, 2):
                    if self.ignored:
                        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                    restore_signals()
                    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                    plain = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
                    error = execute(self.plan["command"], plain)
                    os.write(say, b'{"exec_errno":%d}\n' % (error.errno or 0))
            finally:
                os._exit(NOT_EXECUTABLE)
        os.close(say)
        os.close(leave)

    def _report(self, line: str) -> None:
        handle = os.open(self.plan["bell"], os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISFIFO(os.fstat(handle).st_mode):
                raise Unforeseen
            os.write(handle, REPORT + f"{self.ticket} {self.lease} {self.pid} {line}\n".encode())
        finally:
            os.close(handle)

    def _tell(self, sentences: bytes) -> None:
        """To the user, and to the file in which his command lines are kept from others."""
        try:
            if self.plan["commands"] >= 0:
                os.write(self.plan["commands"], b'["%s",%s]\n' % (self.lease.encode(), self.plan["line"]))
            os.write(2, _printable(sentences))
        except OSError:
            # A command does not fail because nobody listens to what is said about it.
            signal.sigtimedwait([signal.SIGPIPE], 0)

    def wait(self) -> str:
        """Until something happens. What it was: signal, its code and who sent it; zeros: it is time to look."""
        seconds = POOL_SECONDS if self.pooled else None
        handled = passed_on()
        heard = signal.sigwaitinfo(handled) if seconds is None else signal.sigtimedwait(handled, seconds)
        return "0 0 0" if heard is None else f"{heard.si_signo} {heard.si_code} {heard.si_pid}"

    def take_back(self) -> None:
        """What was begun: the new process ends since nobody will give it leave."""
        for handle in (self.give, self.said):
            if handle >= 0:
                os.close(handle)
        if self.pid:
            os.waitpid(self.pid, 0)
        if self.ignored:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if self.pid and self.plan["folder"]:
            _remove(f"{self.plan['folder']}/{self.lease}")


def _remove(group: str) -> bool:
    """No: there is none, or something else runs in it."""
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def _printable(text: bytes) -> bytes:
    """Whoever wrote it: a terminal obeys what is not."""
    shown = text.decode("utf-8", "replace")
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in shown).encode("utf-8", "replace")


def _line(handle: int, seconds: float = -1.0) -> str:
    """The next one, without its end; empty: it did not come."""
    line = b""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    while not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
        if not poll.poll(seconds * 1000 if seconds >= 0 else None):
            return ""
        try:
            more = os.read(handle, 1)
        except BlockingIOError:
            continue
        if not more:
            return ""
        line += more
    return line.decode("ascii", "replace").strip()
