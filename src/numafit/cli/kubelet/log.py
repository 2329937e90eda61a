"""`numafit explain --log`: the file or stream that the log is read from."""

import sys
from collections.abc import Callable
from pathlib import Path

from numafit.advice.logs.admission import Admission
from numafit.advice.logs.report import LogReport, report_of
from numafit.errors import InputError


def load_report(path: Path, keep: Callable[[Admission], bool]) -> LogReport:
    """`-` is standard input."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        source = sys.stdin.buffer if name == "standard input" else path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=name) from error
    try:
        return report_of(source, name, keep)
    finally:
        if source is not sys.stdin.buffer:
            source.close()
