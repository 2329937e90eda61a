"""What one who is about to wait finds out for his start: how he will be bound, by a look or, where that does not tell,
by doing it once, and what his command needs. It travels with him (`wake.kept`), and the one who watches over the
queue is told the part that he writes down.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from numafit.bits import cpuset_text
from numafit.errors import NumafitError
from numafit.host.bind import kernel
from numafit.host.bind.cgroup import group_masks
from numafit.host.bind.ladder import bind_self, expected_group, fence, remove_group
from numafit.host.bind.slices import let_out
from numafit.host.bind.target import CGROUP_V1, CPUSET_RUNGS, SCOPE, Bound, Target, decode_bound, encode_bound
from numafit.host.book.bell import BELL
from numafit.host.book.book import Book
from numafit.host.book.folder import VARIABLE
from numafit.host.environment import CUDA, HOST, NVIDIA, OF_LEASE, THREADS
from numafit.host.grant import Owner
from numafit.host.request import JobRequest
from numafit.host.run.asked import StartAsked
from numafit.host.wake.foreseen import Foreseen


class Prepared(msgspec.Struct, frozen=True):
    foreseen: Foreseen
    plan: dict[str, Any]
    """As `wake.job` reads it; `Any`: plain values of several kinds."""
    commands: int
    """The descriptor among them; -1: none."""


def prepared(
    book: Book, request: JobRequest, owner: Owner, asked: StartAsked, environment: Mapping[str, str]
) -> Prepared | None:
    """None: his start is not the usual one, and numafit begins anew as a whole. So it is with limits that somebody has
    to watch, and inside of another job, whose variables are not the user's."""
    if request.limit_memory or request.seconds or not asked.command:
        return None
    if environment.keys() & (OF_LEASE - {HOST}) and not asked.no_env:
        return None
    own = {name: environment[name] for name in (CUDA, NVIDIA, THREADS) if name in environment and not asked.no_env}
    if not all(map(str.isascii, own.values())):
        return None
    allowed = let_out(kernel.allowed_by_cpuset())
    bound = expected_group()
    probe = f"probe-{os.getpid()}"
    folder = bound.cgroup if bound is not None else ""
    if bound is None:
        bound = _tried(Target(allowed.cpus), probe)
        folder = os.path.dirname(bound.cgroup) if bound is not None else ""
    if bound is None or bound.rung == SCOPE or (asked.strict and bound.rung not in CPUSET_RUNGS):
        return None
    notes = tuple(note.replace(probe, "LEASE") for note in bound.skipped)
    file, line = book.opened_command(owner)
    plan = {
        "folder": folder,
        "migrate": bound.rung == CGROUP_V1,
        "default_mems": cpuset_text(group_masks(Path(folder)).mems) if bound.rung == CGROUP_V1 else "",
        "within": cpuset_text(fence(allowed.mems, kernel.memory_nodes())),
        "command": list(asked.command),
        "no_env": asked.no_env,
        "quiet": asked.quiet,
        "names": frozenset(os.fsencode(name) for name in {*OF_LEASE, CUDA, NVIDIA, THREADS}),
        "variables": {
            VARIABLE.encode(): os.fsencode(book.folder.absolute()),
            HOST.encode(): os.fsencode(os.uname().nodename),
        },
        "bell": str(book.folder.absolute() / BELL),
        "commands": file,
        "line": line,
    }
    return Prepared(Foreseen(bound.rung, folder, notes, own), plan, file)


def _tried(target: Target, probe: str) -> Bound | None:
    """As the lease of this name, in a new process, which ends then; its cgroup goes with it."""
    said, say = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(say, encode_bound(bind_self(probe, target, strict=False)))
        except NumafitError:
            pass
        finally:
            os._exit(0)
    os.close(say)
    with os.fdopen(said, "rb") as pipe:
        data = pipe.read()
    # Where the caller ignores SIGCHLD there is no status, but it has ended as well.
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    if not data:
        return None
    bound = decode_bound(data)
    remove_group(bound.cgroup)
    return bound
