"""How pods are played in time, for commands that do so: chance, processes, a file to go on from, and the answer."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from numafit.cli.files import write_whole
from numafit.cli.fleet.kept import read_kept, write_kept
from numafit.cli.fleet.plays import PlayedRule, Playing, cores
from numafit.cli.options.answer import ANSWERED, say
from numafit.cli.options.one_of import OneOf
from numafit.cli.warning import warn
from numafit.fleet.simulation.rules import StockScheduler
from numafit.notes import Note
from numafit.show.json import json_text
from numafit.show.table import Screen

F = TypeVar("F", bound=Callable[..., Any])

STOPPED = 130
"""The exit status after Ctrl-C."""


class RunOptions(NamedTuple):
    sample: int
    seed: int
    jobs: int | None
    kept: Path | None
    page: Path | None
    output: str

    @property
    def stock(self) -> StockScheduler:
        return StockScheduler(self.sample, self.seed)

    @property
    def processes(self) -> int:
        return self.jobs or cores()

    def before(self, playing: Playing, more: object = ()) -> Mapping[str, PlayedRule]:
        """What a run like this left when it was stopped. `more`: what else of it has to be the same."""
        return {} if self.kept is None else read_kept(self.kept, playing, more)

    def stopped(self, playing: Playing, played: Mapping[str, PlayedRule], more: object = ()) -> int:
        """Keeps what there is, where somebody says in which file, and returns the exit status."""
        if self.kept is None:
            warn("stopped; with --continue FILE it could go on later")
        else:
            write_kept(self.kept, playing, played, more)
            warn(f"stopped; the same command goes on from {self.kept}")
        return STOPPED

    def answer(
        self, record: object, said: Callable[[Screen], str], page: Callable[[], str], notes: tuple[Note, ...]
    ) -> int:
        """The whole run is done: what was kept of it is not needed any more."""
        if self.page is not None:
            write_whole(self.page, page().encode())
        if self.kept is not None:
            self.kept.unlink(missing_ok=True)
        if self.output == "json":
            click.echo(json_text(record))
        else:
            say(said, notes)
        return ANSWERED


def run_options(command: F) -> F:
    """Hands its options to the command as `run: RunOptions`."""

    @wraps(command)
    def wrapped(**rest: Any) -> Any:
        own = {name: rest.pop(name) for name in RunOptions._fields}
        return command(run=RunOptions(**own), **rest)

    decorated: Any = wrapped
    for decorator in reversed(_OPTIONS):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]


_OPTIONS = (
    click.option(
        "--sample",
        type=click.IntRange(0, 100),
        default=0,
        metavar="PERCENT",
        help="percentageOfNodesToScore, if blind.",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the choice among equals, if blind."),
    click.option(
        "--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes to play with; default one per core."
    ),
    click.option(
        "--continue",
        "kept",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Kept there when stopped by Ctrl-C; the same command goes on from it.",
    ),
    click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="A page with plots, as well."),
    click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True),
)
