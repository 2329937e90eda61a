"""Starts a command in a process of its own and stays with it until it ends.

The new process binds itself, tells how far that went, and waits for leave to go on. It gets leave only after the
caller wrote down that it exists. So whenever this process is killed, there is either no command or one that is
written down.

The command stays in the process group and session of the caller: the terminal's own signals (Ctrl-C, Ctrl-Z) reach it
without our help, and those that somebody sends to this process are passed on. What the command leaves behind in the
background is not waited for, and no subreaper gathers it: its cgroup still knows it.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from numafit.errors import NumafitError
from numafit.host.bind.target import BindError, Bound, decode_bound, encode_bound
from numafit.host.process.identity import read_stat
from numafit.host.run.resumed import RunningChild
from numafit.host.wake.execute import NOT_EXECUTABLE, execute, failure, passed_on, restore_signals

_STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""Job control. A plain SIGSTOP is not followed: who sends it to the command alone will also continue it alone."""


LONGEST_WAIT = 60.0
"""Seconds until the clock is looked at again."""


class _Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the new process says: how it is bound, or why not, or why the command did not start."""

    bound: msgspec.Raw = msgspec.Raw(b"")
    error: str = ""
    bug: str = ""
    exec_errno: int = 0


def supervise(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    prepare: Callable[[], Bound],
    started: Callable[[int, Bound], None],
    tick: Callable[[], None] | None = None,
    every: float = 1.0,
    alarms: Sequence[tuple[float, Callable[[], None]]] = (),
    running: RunningChild | None = None,
) -> int:
    """The exit status of the command; negative, the number of the signal that ended it. `tick` is called about each
    `every` seconds, each of `alarms` once, so many seconds after the start. Signals that arrive before the command runs
    are passed on once it does. `running` is a child of this process that is the command already: it is stayed
    with, and what was heard of it before comes first."""
    handled = passed_on()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, handled)
    # With SIGCHLD ignored the kernel would throw the exit status away.
    child_signal = signal.getsignal(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if running is None:
            child = _Child(command, environment, prepare, before, child_signal is signal.SIG_IGN)
            child.release(started)
        else:
            child = _Child.running(command[0], running)
        watch = _Watch(child, handled, _Timers(tick, every, alarms))
        if running is not None and running.signal:
            watch.take(Heard(running.signal, running.code, running.sender))
        return watch.until_end()
    finally:
        signal.signal(signal.SIGCHLD, child_signal if child_signal is not None else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def finish(status: int) -> int:
    """The exit status for this process; when a signal ended the command, the same signal ends this process, so that its
    caller sees what it would have seen."""
    if status >= 0:
        return status
    with suppress(OSError, ValueError):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    with suppress(OSError, ValueError):
        # One core file is enough, and it is the command's.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError, ValueError):
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
    return 128 - status


class Heard(msgspec.Struct, frozen=True):
    """A signal, as the kernel tells of it."""

    number: int
    code: int
    sender: int


class _Child:
    """The new process, from fork to exec, with a pipe in each direction."""

    @classmethod
    def running(cls, name: str, found: RunningChild) -> "_Child":
        """One that is the command already, begun by what this process was before."""
        child = cls.__new__(cls)
        os.set_inheritable(found.said, False)
        child.name, child.pid, child.said = name, found.pid, found.said
        return child

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        prepare: Callable[[], Bound],
        mask: set[int],
        ignore_children: bool,
    ) -> None:
        self.name = command[0]
        said, say = os.pipe()
        leave, give = os.pipe()
        # What is buffered now would otherwise be there twice.
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            # Nothing of the caller may run in here: no handler of an exception, no flush at the end.
            try:
                os.close(said)
                os.close(give)
                if _ready(say, leave, prepare):
                    if ignore_children:
                        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                    restore_signals()
                    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                    error = execute(command, environment)
                    _say(say, _Message(exec_errno=error.errno or 0))
            finally:
                os._exit(NOT_EXECUTABLE)
        os.close(say)
        os.close(leave)
        self.said, self.give = said, give

    def release(self, started: Callable[[int, Bound], None]) -> None:
        """Lets the process go on once it is written down; if anything goes wrong, it ends instead."""
        try:
            started(self.pid, self._bound())
            # Killed meanwhile, it cannot listen; its end is seen in a moment.
            with suppress(BrokenPipeError):
                os.write(self.give, b"go")
        except BaseException:
            os.close(self.give)
            os.close(self.said)
            os.waitpid(self.pid, 0)
            raise
        os.close(self.give)

    def _bound(self) -> Bound:
        line = b""
        while not line.endswith(b"\n") and (more := os.read(self.said, 1 << 16)):
            line += more
        if not line:
            raise BindError("the new process ended before it was bound (it was killed, or memory ran out)")
        message = msgspec.json.decode(line, type=_Message)
        if message.bug:
            raise RuntimeError(message.bug)
        if message.error:
            raise BindError(message.error)
        return decode_bound(bytes(message.bound))

    def failed_to_start(self) -> int:
        """The errno of exec; only to be asked when the process has ended."""
        with os.fdopen(self.said, "rb") as pipe:
            line = pipe.read()
        return msgspec.json.decode(line, type=_Message).exec_errno if line else 0


def _ready(say: int, leave: int, prepare: Callable[[], Bound]) -> bool:
    """Binds, tells, and waits. False: something failed, or the parent is gone (the pipe ends without a word)."""
    try:
        message = _Message(bound=msgspec.Raw(encode_bound(prepare())))
    except NumafitError as error:
        message = _Message(error=str(error))
    except Exception as error:
        message = _Message(bug=f"{type(error).__name__}: {error}")
    _say(say, message)
    return bool(os.read(leave, 2))


def _say(pipe: int, message: _Message) -> None:
    data = msgspec.json.encode(message) + b"\n"
    # The parent may be gone: SIGPIPE is ignored or blocked until exec.
    with suppress(OSError):
        while data:
            data = data[os.write(pipe, data) :]


def _is_hangup_for_leader(heard: Heard) -> bool:
    """That a terminal was closed is told to the leader of its session alone: the others hear of it when he ends.
    `ssh -t` and tmux make this process the leader."""
    return heard.number == signal.SIGHUP and os.getsid(0) == os.getpid()


class _Timers:
    """What is to be done and when, by the clock that goes on while the machine sleeps."""

    def __init__(
        self, tick: Callable[[], None] | None, every: float, alarms: Sequence[tuple[float, Callable[[], None]]]
    ) -> None:
        start = self._now()
        self.tick, self.every = tick, every
        self.due = [(start + seconds, action) for seconds, action in alarms]
        if tick is not None:
            self.due.append((start + every, tick))

    def _now(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def left(self) -> float | None:
        """Seconds until the next; None: there is none."""
        return min(when for when, _ in self.due) - self._now() if self.due else None

    def next(self) -> Callable[[], None]:
        first = min(self.due, key=lambda one: one[0])
        self.due.remove(first)
        if first[1] is self.tick:
            self.due.append((self._now() + self.every, first[1]))
        return first[1]


class _Watch:
    """Waits for signals, passes them on, and sees the command stop, go on and end."""

    def __init__(self, child: _Child, handled: set[signal.Signals], timers: _Timers):
        self.child, self.handled, self.timers = child, handled, timers
        self.troubled = False

    def until_end(self) -> int:
        while (status := self._look()) is None:
            left = self.timers.left()
            if left is None:
                self._took(signal.sigwaitinfo(self.handled))
            elif left > 0:
                # While the machine sleeps this wait does not go on.
                self._took(signal.sigtimedwait(self.handled, min(left, LONGEST_WAIT)))
            else:
                self._tick(self.timers.next())
        code = self.child.failed_to_start()
        if code:
            status, sentence = failure(self.child.name, code)
            print(f"numafit: {sentence}", file=sys.stderr)
        return status

    def _look(self) -> int | None:
        """The exit status, once there is one."""
        # As the first process of a container this one inherits all orphans.
        whom = -1 if os.getpid() == 1 else self.child.pid
        while True:
            pid, status = os.waitpid(whom, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return None
            if pid != self.child.pid:
                continue
            if not os.WIFSTOPPED(status):
                return os.waitstatus_to_exitcode(status)
            if os.WSTOPSIG(status) in _STOPS and self._is_stopped():
                # So that the shell that waits for this process takes the terminal back.
                os.kill(os.getpid(), signal.SIGSTOP)

    def _is_stopped(self) -> bool:
        """It may have been continued already; to stop then would mean to sleep on."""
        stat = read_stat(Path(f"/proc/{self.child.pid}/stat"))
        return stat is not None and stat.state == "T"

    def _took(self, found: signal.struct_siginfo | None) -> None:
        if found is not None:
            self.take(Heard(found.si_signo, found.si_code, found.si_pid))

    def take(self, heard: Heard) -> None:
        if heard.number == signal.SIGCHLD:
            return
        # The kernel's own (a positive code) come from the terminal and go to the whole process group. Those of the
        # command itself went to its group, in which it is, too.
        theirs = heard.code <= 0 and heard.sender != self.child.pid
        if theirs or _is_hangup_for_leader(heard):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.child.pid, heard.number)

    def _tick(self, tick: Callable[[], None]) -> None:
        """What goes wrong in it must not cost the command its supervisor; it is told once."""
        try:
            tick()
        except Exception as error:
            if not self.troubled:
                print(f"numafit: {error}", file=sys.stderr)
            self.troubled = True
