"""The screen that answers go to, words on standard error, a bar for long work, and signals that end it tidily."""

import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from numafit.show.table import Screen

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


T = TypeVar("T")

USUAL_WIDTH = 80

LONG_WORK = 500
"""So many items take long enough for a bar."""


def this_screen() -> Screen:
    """That of standard output: no end and no colours where it is a file or a pipe."""
    return Screen(_columns(sys.stdout), _shows_colours(sys.stdout.isatty()))


def _columns(stream: TextIO) -> int:
    """0: it is no terminal."""
    return _width(stream) if stream.isatty() else 0


def _width(stream: TextIO) -> int:
    """COLUMNS where somebody set it, else what the terminal says; 80 where it does not know."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_WIDTH
    except (OSError, ValueError):
        return USUAL_WIDTH


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


def warn(message: str) -> None:
    """One line on standard error, in the manner of all complaints; a terminal gets it in as many as it needs."""
    screen = Screen(_columns(sys.stderr))
    line = "numafit: " + " ".join(re.split(r"[\n\t]", message))
    click.echo(screen.folded(screen.cleaned(line)), err=True)


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
