"""`--machine SPEC`: from what a person types to a machine, together with what its sources disagree about."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from numafit.cli.files import read_bytes
from numafit.errors import InputError, near_words
from numafit.machine import source
from numafit.machine.combine.machine import CombinedMachine, combine
from numafit.machine.model import Machine
from numafit.machine.notes import disagreement_text
from numafit.machine.source import Disagreement, Source

if TYPE_CHECKING:
    from numafit.machine.read.sysfs.tree import Tree


F = TypeVar("F", bound=Callable[..., Any])

LIVE = "live"
SKETCH = "sketch:"


def complete_machine(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for the start of a SPEC: names of the catalogue, and files where none begins like it."""
    from numafit.machine.catalogue.names import catalogue

    named = [CompletionItem(name, help=line) for name, line in catalogue().items() if name.startswith(incomplete)]
    return named or [CompletionItem(incomplete, type="file")]


def machine_option(command: F) -> F:
    """Adds `--machine`, and hands it to the command as `specs`."""
    return click.option(
        "--machine",
        "specs",
        multiple=True,
        metavar="SPEC",
        shell_complete=complete_machine,
        help="A file, folder, .tgz, catalogue name, or sketch:…; default this machine. Repeat to combine sources.",
    )(command)


def resolve_machine(specs: Sequence[str | Source]) -> CombinedMachine:
    """All of `specs` combined, with what is a source already; the live machine when there is none."""
    unreadable: list[Disagreement] = []
    sources = [found for spec in specs or (LIVE,) for found in _sources(spec, unreadable)]
    combined = combine(sources)
    return CombinedMachine(combined.machine, (*combined.disagreements, *unreadable)) if unreadable else combined


def _sources(spec: str | Source, unreadable: list[Disagreement]) -> Iterator[Source]:
    """The modules of one kind of source are loaded only when it is asked for."""
    if isinstance(spec, Source):
        yield spec
        return
    path = Path(spec)
    if spec.startswith(SKETCH):
        from numafit.machine.sketch.line import read_sketch

        yield Source("sketch", read_sketch(spec.removeprefix(SKETCH)), source.SKETCH)
    elif spec == LIVE:
        from numafit.host.this_machine import live_sources

        yield from live_sources()
    elif spec == "-":
        yield _text_source(read_bytes(path), "standard input")
    elif path.is_dir():
        from numafit.machine.read.sysfs.tree import open_tree

        yield from _tree_sources(open_tree(path), spec, unreadable)
    elif path.exists():
        yield from _file_sources(path, unreadable)
    else:
        yield Source(spec, _catalogue_machine(spec), source.CATALOGUE)


def _file_sources(path: Path, unreadable: list[Disagreement]) -> Iterator[Source]:
    from numafit.machine.read.sysfs.archive import archive_tree, is_archive

    data = read_bytes(path)
    if is_archive(data):
        yield from _tree_sources(archive_tree(data, str(path)), str(path), unreadable)
    else:
        yield _text_source(data, str(path))


def _tree_sources(tree: "Tree", name: str, unreadable: list[Disagreement]) -> Iterator[Source]:
    """A tree of /sys, and the outputs of other tools that a capture carries along."""
    from numafit.machine.read.sysfs.capture import COMMANDS, captured_outputs
    from numafit.machine.read.sysfs.machine import read_sysfs

    yield Source(name, read_sysfs(tree, name), source.SYSFS)
    for file, text in captured_outputs(tree).items():
        output = f"{name}:{COMMANDS}/{file}"
        try:
            yield _text_source(text.encode(), output)
        except InputError as error:
            # A tool that complained instead of answering is no reason to refuse the capture.
            what = f"what {file} says"
            why = "that output cannot be read"
            unreadable.append(Disagreement(what, ((output, error.message),), "the other sources", why))


def _text_source(data: bytes, name: str) -> Source:
    from numafit.machine.read.recognise import source_of

    return source_of(data, name)


def _catalogue_machine(name: str) -> Machine:
    from numafit.machine.catalogue.names import catalogue, machine_named

    known = list(catalogue())
    if name in known:
        return machine_named(name)
    if any(sign in name for sign in "/\\."):
        raise InputError("no such file", source=name, cure="`numafit machine list` shows the machines known by name")
    meant = near_words(name, known)
    hint = f"did you mean {' or '.join(meant)}?" if meant else "`numafit machine list` shows the known names"
    if name[:1].isdigit() and " " in name:
        hint = f"a sketch begins with {SKETCH}"
    raise InputError("is neither a file nor a machine of the catalogue", source=name, cure=hint)


def disagreement_lines(disagreements: Sequence[Disagreement], width: int) -> Iterator[str]:
    from numafit.show.draw.blocks import wrap

    if disagreements:
        yield ""
        yield "The sources disagree:"
    for found in disagreements:
        yield from wrap(f"- {disagreement_text(found)}", width)
