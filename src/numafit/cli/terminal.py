"""The screen that answers go to, a bar for long work, and signals that end it tidily."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from numafit.cli.warning import columns
from numafit.show.table import Screen

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


T = TypeVar("T")

LONG_WORK = 500
"""So many items take long enough for a bar."""


def this_screen() -> Screen:
    """That of standard output: no end and no colours where it is a file or a pipe."""
    return Screen(columns(sys.stdout), _shows_colours(sys.stdout.isatty()))


def _shows_colours(terminal: bool) -> bool:
    """As most programs decide it: NO_COLOR forbids, FORCE_COLOR and CLICOLOR_FORCE ask for them even in a pipe."""
    asked = os.environ.get
    if asked("NO_COLOR"):
        return False
    if any(asked(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return terminal and asked("TERM") != "dumb" and asked("CLICOLOR") != "0"


def draws_boxes() -> bool:
    """Whether standard output can carry the characters of the frames."""
    try:
        "┌─│·…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def answer(text: str, screen: Screen) -> None:
    """On standard output, with long lines folded where it is a terminal."""
    click.echo(screen.folded(screen.cleaned(text)), color=screen.coloured)


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

    # Not every system has both.
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    signals = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
