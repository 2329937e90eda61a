"""What a switch wants and how far it is, on disk before and after each step: whoever is killed is followed by one who
knows.

One file of JSON lines: the order first, then an entry for each beginning and each end. A line counts when it is whole;
one that a crash has cut is as if it had never been begun.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit.cluster.switch.drain import DrainChoice
from numafit.errors import InputError

FORMAT = "numafit/switch/v1"
FOLDER = "numafit-switch"
"""In the kubelet's folder, unless somebody names another one."""
JOURNAL = "journal.jsonl"
UNDO = "undo-"
"""How the names of steps begin that bring something back."""
BEGUN, DONE, FAILED, FINISHED = "begun", "done", "failed", "finished"


class SwitchOrder(msgspec.Struct, frozen=True):
    """All that the steps need: they run also when the process that planned them is gone."""

    begun: str
    """A moment in UTC, which names the folder of what is kept."""
    node: str
    release: str
    config: str
    """Path of the kubelet's configuration file."""
    kubelet_dir: str
    new_config: str
    """The text."""
    old_config: str
    stop_command: str
    start_command: str
    keep_pods: bool
    moved: tuple[str, ...]
    """State files that the new kubelet does not get to see."""
    policies: Mapping[str, str]
    was_cordoned: bool
    process: int | None
    """The kubelet's, before anything was done; None where it could not be found."""
    pod_entries: bool = False
    """Its state files tell of pods as a whole, too."""
    choice: DrainChoice = DrainChoice()
    drain_seconds: float = 600.0
    ready_seconds: float = 120.0
    settle_seconds: float = 10.0
    kubeconfig: str = ""
    context: str = ""
    ordered: str = ""
    """The UID of the order that an agent was given for it; empty where somebody did it on the node."""
    format: str = FORMAT


class JournalEntry(msgspec.Struct, frozen=True):
    step: str
    event: str
    """BEGUN, DONE, FAILED or FINISHED."""
    time: str
    text: str = ""


class Journal:
    """Of one switch that is not finished."""

    def __init__(self, folder: Path, order: SwitchOrder, entries: list[JournalEntry]) -> None:
        self.folder, self.order, self.entries = folder, order, entries

    @property
    def path(self) -> Path:
        return self.folder / JOURNAL

    @property
    def kept(self) -> Path:
        """What there was before, and in the end this journal."""
        return self.folder / self.order.begun.replace(":", "").replace("-", "")

    def write(self, step: str, event: str, text: str = "") -> JournalEntry:
        """Nothing goes on that cannot be written down, but whatever can goes back: each step of that can be done
        twice, and a disk that is full must not leave a node without its kubelet."""
        entry = JournalEntry(step, event, moment(), text)
        try:
            self._append(msgspec.json.encode(entry) + b"\n")
        except OSError:
            if event in (BEGUN, DONE) and not step.startswith(UNDO):
                raise
        self.entries.append(entry)
        return entry

    def _append(self, line: bytes) -> None:
        """The whole line or nothing: the next one must not go on with a part of it."""
        length = self.path.stat().st_size
        try:
            with self.path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, length)
            raise

    def use_commands(self, stop: str | None, start: str | None) -> None:
        """Others than those that it began with: they may be what has failed."""
        order = self.order
        self.order = replace(order, stop_command=stop or order.stop_command, start_command=start or order.start_command)

    def begun(self, step: str) -> bool:
        return any(entry.step == step and entry.event == BEGUN for entry in self.entries)

    def done(self, step: str) -> bool:
        """Its last end was a good one, and it was not begun again since."""
        own = [entry.event for entry in self.entries if entry.step == step]
        return bool(own) and own[-1] == DONE

    @property
    def goes_back(self) -> bool:
        """It cannot go on: part of it is undone already."""
        return any(entry.step.startswith(UNDO) for entry in self.entries)

    def time_of(self, step: str) -> str:
        """When it was begun first: what was done by then is not done again by those who go on."""
        return next((one.time for one in self.entries if one.step == step and one.event == BEGUN), "")

    def finish(self, outcome: str) -> None:
        """There is no unfinished switch any more; its journal lies with what it kept."""
        self.write(outcome, FINISHED)
        self.kept.mkdir(parents=True, exist_ok=True)
        self.path.rename(self.kept / JOURNAL)
        sync_folder(self.kept)
        sync_folder(self.folder)


def new_journal(folder: Path, order: SwitchOrder) -> Journal:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / JOURNAL
    # Configurations may hold what is nobody else's business. What lies there by this name, a link too, is not written
    # through.
    fresh = folder / f".{JOURNAL}.new"
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.encode(order) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    sync_folder(folder)
    return Journal(folder, order, [])


def open_journal(folder: Path) -> Journal | None:
    """None where no switch is unfinished."""
    path = folder / JOURNAL
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None
    whole, _, cut = data.rpartition(b"\n")
    lines = whole.split(b"\n")
    try:
        order = msgspec.json.decode(lines[0], type=SwitchOrder)
        entries = [msgspec.json.decode(line, type=JournalEntry) for line in lines[1:]]
    except msgspec.MsgspecError as error:
        cure = f"look at it, bring the node in order by hand, and remove it; {folder} has what was kept"
        raise InputError(f"is no journal of a switch: {error}", source=str(path), cure=cure) from None
    if order.format != FORMAT:
        raise InputError(f"is of another kind ({order.format})", source=str(path), cure="use the numafit that wrote it")
    if cut:
        _cut(path, len(whole) + 1)
    return Journal(folder, order, entries)


def finished_journal(folder: Path, ordered: str) -> Journal | None:
    """Of a switch that is over, by the order that an agent was given for it."""
    for path in sorted(folder.glob(f"*/{JOURNAL}"), reverse=True):
        lines = path.read_bytes().strip().split(b"\n")
        # Those of other releases may say more, or less.
        with suppress(msgspec.MsgspecError):
            order = msgspec.json.decode(lines[0], type=SwitchOrder)
            if order.ordered == ordered:
                return Journal(folder, order, [msgspec.json.decode(line, type=JournalEntry) for line in lines[1:]])
    return None


def _cut(path: Path, length: int) -> None:
    """The next line must not go on with one that was never finished."""
    with path.open("r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())


@contextmanager
def only_one(kubelet_dir: Path) -> Iterator[None]:
    """The lock is on the folder itself: it ends with the process, and nothing is left of it."""
    try:
        handle = os.open(kubelet_dir, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        cure = "name the kubelet's root by --kubelet-dir"
        raise InputError(f"cannot be opened: {error.strerror}", source=str(kubelet_dir), cure=cure) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        cure = "wait for it to end"
        raise InputError("another switch of this node is at work", source=str(kubelet_dir), cure=cure) from None
    try:
        yield
    finally:
        os.close(handle)


def moment() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def sync_folder(folder: Path) -> None:
    """Names that were made or changed in it are on disk; a file system that knows no such thing is left alone."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
