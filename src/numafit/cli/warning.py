"""A line on standard error, in the manner of all complaints."""

import os
import sys
from typing import TextIO

USUAL_WIDTH = 80


def warn(message: str) -> None:
    """A terminal gets it in as many lines as it needs."""
    line = "numafit: " + message.replace("\n", " ").replace("\t", " ")
    width = columns(sys.stderr)
    if line.isascii() and line.isprintable() and (not width or len(line) <= width):
        # There is nothing to clean, to fold or to encode.
        print(line, file=sys.stderr, flush=True)
        return
    import click

    from numafit.show.table import Screen

    screen = Screen(width)
    click.echo(screen.folded(screen.cleaned(line)), err=True)


def columns(stream: TextIO) -> int:
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
