"""Logs of kubelets with `--logging-format=json`."""

import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.logs.lines import LogLine, log_lines, parse_header, parse_line
from numafit.advice.logs.report import LogReport, read_log
from numafit.advice.logs.styles import parse_json_entry

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "small-node" / "recreate-loop.log"
TIME = 1723760693410.301
"""15 August 2024, 22:24:53.410301 UTC, in milliseconds."""
POD = {"name": "store-0", "namespace": "db"}


def entry(msg: str, /, *, at: float = TIME, prefix: str = "", **values: Any) -> str:
    """`Any`: any JSON. Keys in the order of the kubelet's encoder."""
    head = {"ts": at, "caller": "topologymanager/scope.go:75", "msg": msg, "v": 0}
    return prefix + json.dumps({**head, **values}, separators=(",", ":"))


def lines_of(*texts: str) -> list[LogLine]:
    return list(log_lines(io.BytesIO("\n".join(texts).encode())))


def report_of(text: str) -> LogReport:
    return read_log(io.BytesIO(text.encode()), lambda _: True)


def as_json(text: str) -> str:
    """The same log as a kubelet would have written it with the other format; lines that do not matter are left out."""
    found = []
    start = parse_header(text.splitlines()[0].encode())
    assert start is not None
    for line in text.splitlines():
        parsed = parse_line(line.encode())
        if parsed is None:
            found.append(entry("GenericPLEG: Relisting"))
            continue
        values: dict[str, Any] = {}
        for key, value in parsed.fields.items():
            namespace, slash, name = value.partition("/")
            if key in ("pod", "object") and slash:
                values[key] = {"name": name, "namespace": namespace}
            else:
                values[key] = json.loads(value) if value.startswith("{") and key != "patch" else value
        at = TIME + (parsed.time - start.time) / 1000
        found.append(entry(parsed.message, at=at, prefix=f"Aug 15 node kubelet[{parsed.process}]: ", **values))
    return "\n".join(found)


def test_an_entry_gives_the_fields_of_the_text_format() -> None:
    """A pod is `namespace/name`, hints stay JSON; the time is UTC."""
    hints = {"cpu": [{"NUMANodeAffinity": 2, "Preferred": True}]}
    (line,) = lines_of(entry("TopologyHints", hints=hints, pod=POD, containerName="store", prefix="kubelet[1021]: "))
    assert (line.stamp, line.process, line.message, line.json) == (
        "Aug 15 22:24:53.410301",
        1021,
        "TopologyHints",
        True,
    )
    assert line.fields == {
        "caller": "topologymanager/scope.go:75",
        "v": "0",
        "hints": '{"cpu":[{"NUMANodeAffinity":2,"Preferred":true}]}',
        "pod": "db/store-0",
        "containerName": "store",
    }


def test_a_list_of_pods_is_a_list_of_names() -> None:
    (line,) = lines_of(entry("SyncLoop ADD", source="api", pods=[POD, {"name": "alone"}]))
    assert line.fields["pods"] == '["db/store-0","alone"]'


def test_a_time_may_be_in_seconds_too() -> None:
    (milliseconds,) = lines_of(entry("TopologyHints"))
    (seconds,) = lines_of(entry("TopologyHints", at=TIME / 1000))
    assert seconds.time == milliseconds.time


def test_entries_that_tell_nothing_are_counted_and_passed_over() -> None:
    """An event of a node, or a warning that is none, matters no more than in the text format."""
    event = entry("Event occurred", object={"name": "node1"}, kind="Node", type="Warning", reason="Rebooted")
    report = report_of("\n".join((event, entry("GenericPLEG: Relisting"), "other.go: text")))
    assert (report.lines, report.klog_lines, report.rejected) == (3, 2, 0)


def test_the_same_log_in_both_formats_tells_the_same() -> None:
    """But for the release, of which the style of JSON entries says nothing."""
    text = EXAMPLE.read_text()
    plain, other = report_of(text), report_of(as_json(text))
    told = [
        [(each.admission.pod, each.admission.uid, each.admission.merges, each.admission.reason, each.times)
         for each in report.kept]
        for report in (plain, other)
    ]  # fmt: skip
    assert told[0] == told[1]
    assert told[0]
    assert [(loop.pod, loop.rejections) for loop in plain.loops] == [
        (loop.pod, loop.rejections) for loop in other.loops
    ]
    assert (plain.kubelets[1021].first_minor, other.kubelets[1021].first_minor) == (28, 25)


@given(st.binary(max_size=120), st.integers(0, 200))
def test_no_bytes_and_no_cut_make_it_crash(data: bytes, cut: int) -> None:
    line = entry("TopologyHints", hints={}, pod=POD).encode()
    parse_json_entry(b'{"ts":' + data)
    found = parse_json_entry(line[:cut])
    assert found is None or cut >= len(line)
