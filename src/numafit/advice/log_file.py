"""A kubelet log as a stream of bytes, plain or gzip, read to a report."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from numafit.advice.log_admission import Admission
from numafit.advice.log_lines import CHUNK
from numafit.advice.log_report import LogReport, read_log
from numafit.errors import InputError

GZIP = b"\x1f\x8b"


def report_of(source: BinaryIO, name: str, keep: Callable[[Admission], bool]) -> LogReport:
    """Gzip is known by its content. `source` stays open."""
    try:
        with _unpacked(source) as stream:
            report = read_log(stream, keep)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"is not whole gzip: {error}", source=name) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=name) from error
    if not report.klog_lines:
        raise InputError(
            f"no line of a kubelet in {report.lines} lines",
            source=name,
            cure="give it the output of journalctl -u kubelet",
        )
    return report


@contextmanager
def _unpacked(source: BinaryIO) -> Iterator[BinaryIO]:
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
