"""Programs that end with the process that started them, also when that one is killed."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

Awaited = TypeVar("Awaited")


def ends_with_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """For a new process before it becomes its program: the kernel sends that signal when the thread that made it ends.

    Not later than here, and not from a wrapper: nothing stands between the two processes.
    """
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            # it was killed before the kernel was asked
            os._exit(1)

    return prepare


def start(
    command: Sequence[str], log: Path, *, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Its output is added to `log`. The kernel kills it when the thread that calls this ends; Ctrl-C does not reach
    it."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            preexec_fn=ends_with_parent(),
            start_new_session=True,
        )


def stop(process: subprocess.Popen[bytes], seconds: float = 5) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def until(what: str, seconds: float, found: Callable[[], Awaited | None], pause: float = 0.05) -> Awaited:
    """What `found` returns as soon as that is something."""
    end = time.monotonic() + seconds
    while True:
        told = found()
        if told:
            return told
        if time.monotonic() > end:
            raise TimeoutError(f"after {seconds} seconds still not: {what}")
        time.sleep(pause)
