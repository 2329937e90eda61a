"""Trying things in a process of its own, as a new process does before it becomes a command."""

import os
import pickle
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

NOBODY = 65534


def in_child(work: Callable[[], T], *, user: int | None = None) -> T:
    """What `work` returns in a forked process; what goes wrong there fails here."""
    # An ordinary user may be unable to read the interpreter's own folder.
    import ctypes  # noqa: F401

    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            os.write(writing, pickle.dumps((True, work())))
        except BaseException:
            os.write(writing, pickle.dumps((False, traceback.format_exc())))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    good, result = pickle.loads(data)
    if not good:
        pytest.fail(str(result))
    answer: T = result
    return answer


def needs_root() -> None:
    if os.geteuid():
        pytest.skip("only root can do this")


def needs_cpus(count: int) -> list[int]:
    """Their ids, ascending."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < count:
        pytest.skip(f"{len(cpus)} CPUs are allowed here, {count} are needed")
    return cpus


PYTHON = sys.executable


def opened_up(folder: Path) -> Path:
    """Other users may look into it: pytest makes the folders above it private, more of them for its workers."""
    for path in (folder, *folder.parents):
        if path == Path(tempfile.gettempdir()) or path == path.parent:
            break
        path.chmod(0o755)
    return folder
