"""How an answer ends: with its notes, and with an exit status that tells an answer from an error."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.decision.simulation import Simulation
from numafit.decision.stage import Stage
from numafit.notes import Note
from numafit.show.table import Screen
from numafit.show.text.notes import notes_text

F = TypeVar("F", bound=Callable[..., Any])

ANSWERED, FAILED, NOT_SURE = 0, 1, 2


def strict_option(command: F) -> F:
    """Adds `--strict`."""
    words = "Exit with 2 if something was assumed, left out or not known: what the notes tell."
    return click.option("--strict", is_flag=True, help=words)(command)


def check_option(words: str) -> Callable[[F], F]:
    """Adds `--check`, for scripts: without it an answer is an answer, good news or bad."""
    return click.option("--check", is_flag=True, help=f"Exit with 1 if {words}.")


def notes_on_run(stage: Stage, simulation: Simulation) -> tuple[Note, ...]:
    """A kubelet that did not start again has its line and its cure in them."""
    notes = stage.notes_on(simulation)
    if not any(happened.refusal for happened in simulation.happened):
        return notes
    # Only such a run needs it, and a command starts quicker without.
    from numafit.advice.refusal import with_cures

    return with_cures(simulation, notes)


def say(said: str | Callable[[Screen], str], notes: Sequence[Note]) -> None:
    """The answer for people, with its notes below. What has tables or colours is made for the screen."""
    screen = this_screen()
    text = said if isinstance(said, str) else said(screen)
    below = notes_text(notes)
    answer(f"{text}\n\n{below}" if below else text, screen)


def tell(notes: Sequence[Note]) -> None:
    """The notes of an answer that is a file, on standard error."""
    if notes:
        click.echo(notes_text(notes), err=True)


def status(notes: Sequence[Note], *, strict: bool, failed: bool = False) -> int:
    if strict and notes:
        number = "a note" if len(notes) == 1 else f"{len(notes)} notes"
        warn(f"--strict: this answer stands on {number}")
        return NOT_SURE
    return FAILED if failed else ANSWERED
