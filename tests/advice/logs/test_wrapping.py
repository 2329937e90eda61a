"""Logs that journalctl and Docker have wrapped, and logs that were cut."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.logs.report import LogReport, report_of
from numafit.advice.logs.wrapping import is_wrapped, unwrapped
from numafit.errors import InputError

LOG = (Path(__file__).parents[3] / "examples" / "small-node" / "recreate-loop.log").read_bytes()
LINES = LOG.decode().splitlines()


def read(data: bytes) -> LogReport:
    return report_of(io.BytesIO(data), "log", lambda _: True)


PLAIN = read(LOG)


def journal(line: str, **more: object) -> dict[str, object]:
    return {"__CURSOR": "s=1", "_PID": "1021", "PRIORITY": "6", "MESSAGE": line, **more}


FORMS: dict[str, Callable[[], str]] = {
    "json": lambda: "".join(json.dumps(journal(line)) + "\n" for line in LINES),
    "json-seq": lambda: "".join("\x1e" + json.dumps(journal(line)) + "\n" for line in LINES),
    "bytes": lambda: "".join(json.dumps(journal(line, MESSAGE=list(line.encode()))) + "\n" for line in LINES),
    "docker": lambda: "".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) + "\n" for line in LINES),
    "cri": lambda: "".join(f"2026-08-15T22:24:53.000000001Z stderr F {line}\n" for line in LINES),
    "export": lambda: "".join(f"__CURSOR=s=1\n_PID=1021\nMESSAGE={line}\n\n" for line in LINES),
    "json-pretty": lambda: "".join(
        "{\n" + ",\n".join(f'\t"{name}" : {json.dumps(value)}' for name, value in journal(line).items()) + "\n}\n"
        for line in LINES
    ),
}


def told(report: LogReport) -> list[object]:
    """All but the lines, which differ where an entry has several."""
    admissions = [
        (kept.admission.pod, kept.admission.reason, kept.admission.merges, kept.times) for kept in report.kept
    ]
    return [report.admitted, report.rejected, report.unknown, admissions, report.loops, list(report.kubelets)]


@pytest.mark.parametrize("form", FORMS)
def test_a_wrapped_log_tells_what_the_plain_one_tells(form: str) -> None:
    """`journalctl -o json`, json-seq, json-pretty and export, a message as bytes, Docker's json-file, CRI."""
    assert told(read(FORMS[form]().encode())) == told(PLAIN)


@pytest.mark.parametrize("form", ["json", "json-seq", "bytes", "docker", "cri"])
def test_an_entry_stands_in_its_own_line(form: str) -> None:
    """So a story names the line of the file that was given."""
    lines = [kept.admission.line for kept in read(FORMS[form]().encode()).kept]
    assert lines == [kept.admission.line for kept in PLAIN.kept]


def test_the_kubelets_own_json_is_not_taken_for_a_wrapped_log() -> None:
    """It has neither MESSAGE nor log."""
    assert not is_wrapped(b'{"ts":1.0,"caller":"x.go:1","msg":"TopologyHints","v":0}\n')
    assert not is_wrapped(LOG[:1000])


@given(st.binary())
def test_any_line_gives_a_line(data: bytes) -> None:
    """Never an error, and never more lines than one."""
    assert b"\n" not in unwrapped(data)


@given(st.integers(0, len(LOG) * 2))
def test_truncated_gzip_is_read_up_to_where_it_breaks(length: int) -> None:
    """With a note, or refused where nothing of a kubelet comes before."""
    packed = gzip.compress(LOG, mtime=0)
    cut = packed[: min(length, len(packed) - 1)]
    try:
        notes = [note.code for note in read(cut).notes]
    except InputError as error:
        notes = ["log-cut"] if "log: is not whole gzip" in str(error) or "no line of a kubelet" in str(error) else []
    assert "log-cut" in notes


def test_the_note_of_truncated_gzip_says_where_it_broke() -> None:
    """What comes before is told."""
    noise = "".join(f"I0815 22:24:53.{number:06} 1021 x.go:1] {number * 7919}\n" for number in range(20000)).encode()
    packed = gzip.compress(LOG + noise, mtime=0)
    report = read(packed[: len(packed) // 2])
    assert report.rejected == PLAIN.rejected
    [note] = report.notes
    assert (note.code, note.about) == ("log-cut", "log")
    assert note.text.startswith(f"gzip breaks off in line {report.lines} (")


def test_a_log_that_ends_in_a_line_says_so() -> None:
    """The last line may be cut; one with an end is not."""
    assert PLAIN.notes == ()
    [note] = read(LOG[:-10]).notes
    assert note.text == f"line {len(LINES)}, the last one, has no end and may be cut"


def test_a_log_without_any_admission_says_what_verbosity_is_needed() -> None:
    """It is a kubelet's log all the same."""
    [note] = read(b'I0815 22:24:53.410301    1021 kubelet.go:1] "Started kubelet"\n').notes
    assert note.code == "log-without-admissions"
    assert "-v=3" in note.text
