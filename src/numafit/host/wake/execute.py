"""Becoming a command: exec as a shell does it, with the signals that the caller had."""

from __future__ import annotations

import errno
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOT_FOUND = 127
NOT_EXECUTABLE = 126

_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS, signal.SIGABRT}
"""Raised by the processor or by this process itself: to block them would hide a crash."""


def passed_on() -> set[signal.Signals]:
    """The signals that who watches over a command takes for it."""
    return signal.valid_signals() - _FAULTS - {signal.SIGKILL, signal.SIGSTOP}


def execute(command: Sequence[str], environment: Mapping[str, str]) -> OSError:
    """Returns only if it failed."""
    if not command[0]:
        return OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        os.execvpe(command[0], list(command), dict(environment))
    except OSError as error:
        if error.errno == errno.EACCES and not _is_found(command[0], environment):
            return OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if error.errno != errno.ENOEXEC or not error.filename:
            return error
        # A script without `#!`: shells run it themselves.
        try:
            os.execve("/bin/sh", ["sh", os.fsdecode(error.filename), *command[1:]], dict(environment))
        except OSError as second:
            return second
    except ValueError:
        # A NUL byte inside a word.
        return OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _is_found(name: str, environment: Mapping[str, str]) -> bool:
    """A folder of PATH that may not be entered makes exec say "permission denied" of a command that is nowhere."""
    return "/" in name or any(os.path.exists(f"{folder}/{name}") for folder in os.get_exec_path(dict(environment)))


def restore_signals() -> None:
    """Before exec, while signals are blocked. A handler of Python's would only note a signal that is then lost with the
    program; and Python ignores two signals. What the caller had for these cannot be known any more: as in the
    subprocess module they get their default."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)) or number in _PYTHON_IGNORES:
            signal.signal(number, signal.SIG_DFL)


def failure(command: str, code: int) -> tuple[int, str]:
    """Exit status and sentence, as shells give them."""
    if code in (errno.ENOENT, errno.ENOTDIR):
        return NOT_FOUND, f"{command}: {'no such file' if '/' in command else 'command not found'}"
    return NOT_EXECUTABLE, f"{command}: {os.strerror(code)}"
