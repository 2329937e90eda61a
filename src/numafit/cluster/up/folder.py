"""The folder of a cluster: one process at a time has it, and what is in it is used again."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from numafit.cluster.up.ports import same_ports_if_free
from numafit.errors import InputError

FORMAT = "numafit/cluster/v1"
ABOUT, LOCK = "cluster.json", "lock"
PREFIX = "numafit-cluster-"


class ClusterFacts(msgspec.Struct, frozen=True):
    """What one start leaves for the next."""

    format: str
    ports: Sequence[int]


class ClusterFolder:
    """`kept`: it was named by somebody, and stays."""

    def __init__(self, path: Path, *, kept: bool) -> None:
        self.path, self.kept = path, kept

    def ports(self, count: int) -> list[int]:
        """Those of the last start, where nobody has taken them."""
        about = self._about()
        found = same_ports_if_free(about.ports if about else (), count)
        new = self.path / f"{ABOUT}.new"
        new.write_bytes(msgspec.json.encode(ClusterFacts(FORMAT, found)))
        new.replace(self.path / ABOUT)
        return found

    def _about(self) -> ClusterFacts | None:
        path = self.path / ABOUT
        try:
            about = msgspec.json.decode(path.read_bytes(), type=ClusterFacts)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise InputError(f"is damaged: {error}", source=str(path), cure="remove it: new ports are chosen") from None
        if about.format != FORMAT:
            cure = "name another folder with --state"
            raise InputError(f'is of the format "{about.format}", and not {FORMAT}', source=str(path), cure=cure)
        return about


@contextmanager
def state_folder(named: Path | None) -> Iterator[ClusterFolder]:
    """A temporary one where none is named; that one is removed in the end."""
    if named is None:
        own = ClusterFolder(Path(tempfile.mkdtemp(prefix=PREFIX)), kept=False)
        try:
            yield own
        finally:
            shutil.rmtree(own.path, ignore_errors=True)
        return
    path = named.absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        strange = [entry for entry in os.listdir(path) if entry not in (LOCK, f"{ABOUT}.new")]
        if strange and ABOUT not in strange:
            cure = "name an empty folder, or a new one"
            raise InputError("has other files in it, and none of a cluster", source=str(path), cure=cure)
        lock = (path / LOCK).open("a+")
    except OSError as error:
        raise InputError(f"cannot be used: {error.strerror}", source=str(path), cure="name another folder") from None
    with lock:
        _hold(lock, path)
        yield ClusterFolder(path, kept=True)


def _hold(lock: IO[str], path: Path) -> None:
    """Until it is closed, by us or by the kernel: programs that we start do not inherit it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        owner = lock.read().strip()
        whose = f" (process {owner})" if owner.isdecimal() else ""
        cure = "end that one, or name another folder with --state"
        raise InputError(f"a cluster of this folder is up already{whose}", source=str(path), cure=cure) from None
    lock.seek(0)
    lock.truncate()
    lock.write(f"{os.getpid()}\n")
    lock.flush()
