"""Writing for people: files that appear whole or not at all, and a bar for long work."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import click

from numafit.errors import InputError

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


T = TypeVar("T")

LONG_WORK = 500
"""So many items take long enough for a bar."""


def warn(message: str) -> None:
    """One line on standard error, in the manner of all complaints."""
    click.echo("numafit: " + " ".join(message.split("\n")), err=True)


def progress_bar(length: int) -> "ProgressBar[int]":
    """On standard error, and only when that is a terminal."""
    return click.progressbar(length=length, file=sys.stderr, hidden=not sys.stderr.isatty(), show_pos=False)


def progress_over(items: Sequence[T]) -> "ProgressBar[T]":
    """Like `progress_bar`, for a loop over items; short work shows nothing."""
    hidden = len(items) < LONG_WORK or not sys.stderr.isatty()
    return click.progressbar(items, file=sys.stderr, hidden=hidden, show_pos=True)


@contextmanager
def tidy_end() -> Iterator[None]:
    """For long work in the main thread: SIGTERM and SIGHUP unwind it as Ctrl-C does, so that temporary files and
    processes go away. A signal that the caller ignores (`nohup`) stays ignored."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    signals = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


class WholeFile:
    """A file that takes its place only when it is complete: what was there before stays until `commit`.

    A link is followed. What is no plain file (`/dev/null`, a pipe) cannot be replaced, and is written to directly.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary: Path | None = None

    def __enter__(self) -> "WholeFile":
        import tempfile

        try:
            if self.path.exists() and not self.path.is_file():
                self.file: IO[bytes] = self.path.open("wb")
                return self
            self.target = self.path.resolve()
            handle, name = tempfile.mkstemp(prefix=".numafit-", dir=self.target.parent)
        except (OSError, RuntimeError) as error:
            raise self._refused(error) from error
        self.file = os.fdopen(handle, "wb")
        self.temporary = Path(name)
        return self

    def write(self, data: bytes) -> None:
        try:
            self.file.write(data)
        except OSError as error:
            raise self._refused(error) from error

    def commit(self) -> None:
        mask = os.umask(0)
        os.umask(mask)
        try:
            self.file.flush()
            if self.temporary is None:
                return
            os.fsync(self.file.fileno())
            # mkstemp makes files private; this one is an ordinary result.
            os.fchmod(self.file.fileno(), 0o666 & ~mask)
            self.temporary.replace(self.target)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError | RuntimeError) -> InputError:
        """A RuntimeError is what Python 3.11 and 3.12 make of links in a circle."""
        reason = getattr(error, "strerror", None) or error
        return InputError(f"cannot be written: {reason}", source=str(self.path))

    def __exit__(self, *_: object) -> None:
        # A full disk fails the last flush too; it was reported when it was met first.
        with suppress(OSError):
            self.file.close()
        if self.temporary is not None:
            self.temporary.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Writes the file, and makes the folders it lies in."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}", source=str(path.parent)) from error
    with WholeFile(path) as file:
        file.write(data)
        file.commit()
