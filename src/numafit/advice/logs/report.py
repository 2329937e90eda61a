"""A whole kubelet log, plain or gzip, read once in bounded memory: admissions to tell, loops, and who wrote it."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import msgspec

from numafit.advice.logs.admission import Admission
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.lines import CHUNK, LineCount, log_lines, parse_header
from numafit.advice.logs.loops import LoopFinder, RecreateLoop, family_of
from numafit.advice.logs.reader import LogReader
from numafit.advice.logs.wrapping import ByteSource
from numafit.errors import InputError
from numafit.notes import Note

MOST_KEPT = 500
"""Different rejections that are kept to be told, and as many others; further ones are counted."""
AFTERWARDS = 100_000
"""Microseconds: a merge that nothing followed for so long was not accepted."""


class Kept(msgspec.Struct, frozen=True):
    """An admission, and how often the same came again: same pod or family, hints, merge and end."""

    admission: Admission
    times: int
    last: str
    """When it came last."""


class LogReport(msgspec.Struct, frozen=True):
    lines: int
    klog_lines: int
    admitted: int
    rejected: int
    unknown: int
    kept: tuple[Kept, ...]
    """In the order of the log."""
    not_kept: int
    loops: tuple[RecreateLoop, ...]
    kubelets: dict[int, LoggedKubelet]
    notes: tuple[Note, ...] = ()
    """What the log does not tell, or where it broke."""

    def kubelet_of(self, admission: Admission) -> LoggedKubelet:
        return self.kubelets.get(admission.kubelet.process, admission.kubelet)


def read_log(stream: ByteSource, keep: Callable[[Admission], bool]) -> LogReport:
    count, reader, finder, tally = LineCount(), LogReader(), LoopFinder(), _Tally(keep)
    for line in log_lines(stream, count):
        for event in reader.feed(line):
            finder.take(event)
            tally.take(event)
    end = parse_header(count.last)
    decided = reader.decided_at()
    for event in reader.finish(later_lines=end is not None and decided > 0 and end.time > decided + AFTERWARDS):
        finder.take(event)
        tally.take(event)
    kept = sorted(tally.kept.values(), key=lambda kept: kept.admission.line)
    return LogReport(
        lines=count.lines,
        klog_lines=count.klog,
        admitted=tally.verdicts[True],
        rejected=tally.verdicts[False],
        unknown=tally.verdicts[None],
        kept=tuple(kept),
        not_kept=tally.not_kept,
        loops=finder.loops(),
        kubelets=reader.kubelets,
    )


class _Tally:
    def __init__(self, keep: Callable[[Admission], bool]) -> None:
        self.keep = keep
        self.verdicts: dict[bool | None, int] = {True: 0, False: 0, None: 0}
        self.kept: dict[bytes, Kept] = {}
        self.room = {False: MOST_KEPT, True: MOST_KEPT}
        """Whether it is a rejection -> how many more are kept: what went well must not crowd out what did not."""
        self.not_kept = 0

    def take(self, event: object) -> None:
        if not isinstance(event, Admission):
            return
        self.verdicts[event.admitted] += 1
        if not self.keep(event):
            return
        same = (family_of(event.pod), event.admitted, event.reason, event.message, event.merges, event.cpus)
        key = msgspec.msgpack.encode(same)
        known = self.kept.get(key)
        rejection = event.admitted is False
        if known is not None:
            self.kept[key] = Kept(known.admission, known.times + 1, event.stamp)
        elif self.room[rejection]:
            self.room[rejection] -= 1
            self.kept[key] = Kept(event, 1, event.stamp)
        else:
            self.not_kept += 1


GZIP = b"\x1f\x8b"


def report_of(source: BinaryIO, name: str, keep: Callable[[Admission], bool]) -> LogReport:
    """Gzip is known by its content. `source` stays open."""
    try:
        with unpacked(source) as stream:
            whole = UpToBreak(stream)
            report = read_log(whole, keep)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=name) from error
    if whole.broken and not report.klog_lines:
        raise InputError(f"is not whole gzip: {whole.broken}", source=name)
    if not report.klog_lines:
        raise InputError(
            f"no line of a kubelet in {report.lines} lines",
            source=name,
            cure="give it the output of journalctl -u kubelet",
        )
    return msgspec.structs.replace(report, notes=tuple(_notes(report, whole, name)))


def _notes(report: LogReport, whole: "UpToBreak", name: str) -> Iterator[Note]:
    if whole.broken:
        text = f"gzip breaks off in line {report.lines} ({whole.broken}); what comes before is told"
        yield Note("log-cut", name, text)
    elif whole.last and whole.last != b"\n":
        yield Note("log-cut", name, f"line {report.lines}, the last one, has no end and may be cut")
    if not (report.admitted or report.rejected or report.unknown):
        text = (
            "no admission stands in it. A kubelet writes hints at every verbosity unless its topology policy is none, "
            "and the end of an admission with -v=3 (from 1.31 on always)"
        )
        yield Note("log-without-admissions", name, text)


class UpToBreak:
    """A stream that ends where gzip breaks off; `broken` says how."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.broken = ""
        self.last = b""

    def read(self, size: int) -> bytes:
        try:
            # A smaller piece loses less: what stands before a break in one piece is not given out.
            chunk = self.stream.read(size) if not isinstance(self.stream, gzip.GzipFile) else self.stream.read1(size)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            self.broken = self.broken or str(error)
            return b""
        self.last = chunk[-1:] or self.last
        return chunk


@contextmanager
def unpacked(source: BinaryIO) -> Iterator[BinaryIO]:
    # The source may be anything that has `read`; only a BufferedReader can look ahead.
    file = io.BufferedReader(cast(io.RawIOBase, source), CHUNK)
    try:
        if file.peek(2)[:2] == GZIP:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield file
    finally:
        file.detach()
