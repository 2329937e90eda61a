"""`numafit replay`: decide recorded cases again, and compare with what the kubelet did."""

import gzip
import os
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from numafit.cli.files import WholeFile
from numafit.cli.kubelet.run_folder import CASE, RESULT, case_of_folder, is_run, left_out_of
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, progress_bar, this_screen, tidy_end
from numafit.cli.warning import warn
from numafit.errors import InputError, KubeletError, NumafitError
from numafit.replay.replay import FAMILIES
from numafit.replay.replay import replay as replay_case
from numafit.show.json import json_text
from numafit.show.records.replay import CaseComputed, CaseDiffers, FamilyCounted, ReplaySummary
from numafit.show.table import BAD, Screen, aligned

CHUNK = 64
"""Lines that one process computes at a time."""

MOST_ON_WINDOWS = 61
"""Processes: more cannot be waited for there."""

Counts = dict[tuple[str, str], dict[str, int]]
"""(version, family) -> verdict -> cases."""

MATCH, OTHER_ORDER, DIFFERS, COMPUTED = "match", "other order", "differs", "computed"


class Chunk(NamedTuple):
    source: str
    first_line: int
    lines: tuple[bytes, ...]
    keep: bool
    """The results are wanted, not only the verdicts."""


class ReplayedCase(NamedTuple):
    """What became of one case; small enough to travel between processes."""

    version: str
    family: str
    id: str
    verdict: str
    difference: str = ""
    result: bytes = b""


class Case(msgspec.Struct, frozen=True, rename="camel"):
    kube_version: str
    family: str
    input: dict[str, Any]
    id: str = ""
    expect: dict[str, Any] | None = None


@click.command(
    epilog="""\b
Examples:
  numafit replay recordings/v1.36.4/node.jsonl.gz
  numafit replay recordings --jobs 4
  numafit replay cases.jsonl --out results.jsonl"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write every result here, one JSON line a case."
)
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes to compute with.")
@click.option("--show", type=click.IntRange(0), default=3, show_default=True, help="How many differences to print.")
@click.option("-o", "output", type=OneOf(["table", "json"]), default="table", show_default=True, help="Summary.")
def replay(files: Sequence[Path], out: Path | None, jobs: int, show: int, output: str) -> int:
    """Compute recorded cases from their input alone and compare with what the kubelet did.

    FILE is a recording (.jsonl or .jsonl.gz), a folder that holds a run of a whole kubelet, or a folder of both. Cases
    without an expected result are computed all the same. Exit status: 0 all match, 1 some differ, 2 bad input.
    """
    paths = _recordings(files)
    counts: Counts = {}
    differences: list[ReplayedCase] = []
    with ExitStack() as stack:
        stack.enter_context(tidy_end())
        sink = stack.enter_context(WholeFile(out)) if out is not None else None
        reader = _Reader(paths, keep=sink is not None)
        bar = stack.enter_context(progress_bar(reader.total))
        for lines in _computed(reader.chunks(), jobs, stack):
            for line in lines:
                row = counts.setdefault((line.version, line.family), {})
                row[line.verdict] = row.get(line.verdict, 0) + 1
                if line.verdict == DIFFERS and len(differences) < show:
                    differences.append(line)
                if sink is not None:
                    sink.write(line.result)
            bar.update(reader.progress())
        if not counts:
            cure = "; ".join(reader.left_out)
            raise InputError("there is no case in it", source=", ".join(map(str, files)), cure=cure)
        if sink is not None:
            sink.commit()
    differing = sum(row.get(DIFFERS, 0) for row in counts.values())
    if output == "json":
        click.echo(json_text(_summary(counts, differences)))
    else:
        _print_table(counts, differences)
    for text in reader.left_out:
        warn(text)
    return 1 if differing else 0


def _recordings(files: Sequence[Path]) -> list[Path]:
    """Recordings, and folders that hold a run."""
    paths: list[Path] = []
    for path in files:
        if not path.is_dir():
            paths.append(path)
            continue
        runs = [path] if is_run(path) else sorted(case.parent for case in path.rglob(CASE) if is_run(case.parent))
        inside = set(runs)
        own = (p for p in path.rglob("*") if p.name.endswith((".jsonl", ".jsonl.gz")) and inside.isdisjoint(p.parents))
        found = sorted([*runs, *own])
        if not found:
            cure = f"they end in .jsonl or .jsonl.gz; the folder of a run has {CASE}"
            raise InputError("no recordings in this folder", source=str(path), cure=cure)
        paths += found
    for path in paths:
        if not path.exists():
            raise InputError("no such file", source=str(path), cure="give a .jsonl or .jsonl.gz file, or a folder")
    return paths


class _Reader:
    """Reads files in chunks of lines, and knows how many bytes of them it has read."""

    def __init__(self, paths: Sequence[Path], keep: bool) -> None:
        self.paths = paths
        self.keep = keep
        self.total = sum(_size(path) for path in paths)
        self.done = 0
        self.reported = 0
        self.left_out: list[str] = []
        """Of runs that are not compared as a whole: why."""

    def progress(self) -> int:
        """Bytes read since the last call."""
        step, self.reported = self.done - self.reported, self.done
        return step

    def chunks(self) -> Iterator[Chunk]:
        finished = 0
        for path in self.paths:
            if path.is_dir():
                case, left_out = case_of_folder(path), left_out_of(path)
                if left_out:
                    self.left_out.append(f"{path}: {left_out}; the run is compared up to there")
                if case is not None:
                    yield Chunk(str(path), 1, (msgspec.json.encode(case),), self.keep)
                finished += _size(path)
                self.done = finished
                continue
            with path.open("rb") as raw:
                source = gzip.GzipFile(fileobj=raw) if path.name.endswith(".gz") else raw
                try:
                    for chunk in self._chunks_of(source, str(path)):
                        self.done = finished + raw.tell()
                        yield chunk
                except (OSError, EOFError, zlib.error) as error:
                    raise InputError(f"cannot be read: {error}", source=str(path)) from error
            finished += _size(path)
        self.done = finished

    def _chunks_of(self, source: Iterable[bytes], name: str) -> Iterator[Chunk]:
        lines: list[bytes] = []
        number = 0
        for number, line in enumerate(source, 1):
            lines.append(line)
            if len(lines) == CHUNK:
                yield Chunk(name, number - CHUNK + 1, tuple(lines), self.keep)
                lines = []
        if lines:
            yield Chunk(name, number - len(lines) + 1, tuple(lines), self.keep)


def _size(path: Path) -> int:
    return (path / RESULT if path.is_dir() else path).stat().st_size


def _computed(chunks: Iterator[Chunk], jobs: int, stack: ExitStack) -> Iterator[list[ReplayedCase]]:
    """Results in the order of the input; with several processes only a few chunks are under way at a time."""
    if jobs == 1:
        yield from map(_compute, chunks)
        return
    pool = ProcessPoolExecutor(min(jobs, MOST_ON_WINDOWS) if os.name == "nt" else jobs)
    stack.callback(pool.shutdown, wait=True, cancel_futures=True)
    under_way: deque[Future[list[ReplayedCase]]] = deque()
    for chunk in chunks:
        under_way.append(pool.submit(_compute, chunk))
        if len(under_way) >= 4 * jobs:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _compute(chunk: Chunk) -> list[ReplayedCase]:
    lines = []
    for number, text in enumerate(chunk.lines, chunk.first_line):
        if not text.strip():
            continue
        try:
            lines.append(_replay_line(text, chunk.keep))
        except InputError as error:
            raise _placed(error.message, chunk.source, number, error.field, error.cure) from None
        except RecursionError:
            raise _placed("not a recording: nested too deep", chunk.source, number) from None
        except (msgspec.DecodeError, UnicodeError) as error:
            raise _placed(f"not a recording: {error}", chunk.source, number) from None
        except KubeletError as error:
            raise _placed(str(error), chunk.source, number) from None
        except KeyError as error:
            raise _placed(f"the input has no {error}", chunk.source, number) from None
        except (AttributeError, TypeError) as error:
            raise _placed(f"the input is not shaped like a recording: {error}", chunk.source, number) from None
    return lines


def _placed(message: str, source: str, line: int, field: str = "", cure: str = "") -> NumafitError:
    return InputError(message, source=source, line=line, field=field, cure=cure)


def _replay_line(text: bytes, keep: bool) -> ReplayedCase:
    raw = msgspec.json.decode(text)
    case = msgspec.convert(raw, Case)
    if case.family not in FAMILIES:
        known = ", ".join(sorted(FAMILIES))
        raise InputError(f'"{case.family}" is not a family of recordings', field="family", cure=f"known are {known}")
    replayed = replay_case(raw)
    result = b""
    if keep:
        computed = CaseComputed(case.id, case.kube_version, case.family, replayed.actual)
        result = msgspec.json.encode(computed) + b"\n"
    difference = str(replayed.difference) if replayed.verdict == DIFFERS else ""
    return ReplayedCase(case.kube_version, case.family, case.id, replayed.verdict, difference, result)


def _print_table(counts: Counts, differences: Sequence[ReplayedCase]) -> None:
    columns = ("version", "family", "cases", MATCH, OTHER_ORDER, DIFFERS, COMPUTED)
    screen = this_screen()
    totals = [sum(numbers) for numbers in zip(*(_numbers(row) for row in counts.values()), strict=True)]
    rows = [(version, family, *_painted(_numbers(row), screen)) for (version, family), row in sorted(counts.items())]
    rows.append(("total", "", *_painted(totals, screen)))
    answer(aligned([columns, *rows], range(2, len(columns)), screen), screen)
    for line in differences:
        answer(f"\n{line.version} {line.family} {line.id}: {line.difference}", screen)
    if totals[2]:
        answer(
            "\nother order: the kubelet itself left the outcome to chance, and numafit can reach the recorded one.",
            screen,
        )


def _painted(numbers: Sequence[int], screen: Screen) -> list[str]:
    """Those of a row of the table: cases, match, other order, differs, computed."""
    *others, differs, computed = map(str, numbers)
    return [*others, screen.paint(differs, BAD) if int(differs) else differs, computed]


def _numbers(row: dict[str, int]) -> list[int]:
    return [sum(row.values()), *(row.get(verdict, 0) for verdict in (MATCH, OTHER_ORDER, DIFFERS, COMPUTED))]


def _summary(counts: Counts, differences: Sequence[ReplayedCase]) -> ReplaySummary:
    return ReplaySummary(
        tuple(
            FamilyCounted(version, family, sum(row.values()), row) for (version, family), row in sorted(counts.items())
        ),
        tuple(CaseDiffers(line.version, line.family, line.id, line.difference) for line in differences),
    )
