"""Programs that end with the process that started them, also when that one is killed."""

import ctypes
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

Told = TypeVar("Told")


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command: Sequence[str], log: Path, *, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    """Its output is added to `log`. The kernel kills it when the thread that calls this ends."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            preexec_fn=_end_with_parent,
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


def until(what: str, seconds: float, found: Callable[[], Told | None], pause: float = 0.05) -> Told:
    """What `found` returns as soon as that is something."""
    end = time.monotonic() + seconds
    while True:
        told = found()
        if told:
            return told
        if time.monotonic() > end:
            raise TimeoutError(f"after {seconds} seconds still not: {what}")
        time.sleep(pause)


def free_ports(count: int) -> list[int]:
    """On loopback. They are free now; whoever takes one before its program does makes that fail."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for own in sockets:
            own.bind(("127.0.0.1", 0))
        return [own.getsockname()[1] for own in sockets]
    finally:
        for own in sockets:
            own.close()
