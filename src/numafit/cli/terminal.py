"""Words on standard error, a bar for long work, and signals that end it tidily."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

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
