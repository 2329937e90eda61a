"""Finding the lines that matter."""

import io

from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.logs import lines as lines_module
from numafit.advice.logs.lines import LineCount, LogLine, log_lines, parse_fields, parse_header, parse_line
from numafit.advice.logs.report import read_log

HEADER = "I1229 15:13:13.740680  117175 topology_manager.go:187] "
UID = "9388acc6-a396-4f03-a353-ce153da46aaf"


def only(text: str) -> LogLine:
    (line,) = log_lines(io.BytesIO(text.encode()))
    return line


def test_a_structured_line_gives_message_and_fields() -> None:
    """Quotes are taken off, hints stay as they were printed (1.28 on)."""
    line = only(HEADER + '"TopologyHints" hints={"cpu":[]} pod="default/a" containerName="c"')
    fields = {"hints": '{"cpu":[]}', "pod": "default/a", "containerName": "c"}
    assert line == LogLine(1, line.time, "Dec 29 15:13:13.740680", 117175, "TopologyHints", fields)


def test_values_with_blanks_inside_brackets_are_one_value() -> None:
    """Go values (1.21 to 1.27)."""
    hints = "map[cpu:[{NUMANodeAffinity:01 Preferred:true} {NUMANodeAffinity:11 Preferred:false}]]"
    assert parse_fields(f' hints={hints} pod="a/b"') == {"hints": hints, "pod": "a/b"}


def test_a_value_may_hold_quotes_brackets_and_equal_signs() -> None:
    text = r' patch="{\"a\":\"b c=d\"}" status={"m":"x y=[","n":1} last="1"'
    assert parse_fields(text) == {"patch": '{"a":"b c=d"}', "status": '{"m":"x y=[","n":1}', "last": "1"}


def test_a_sentence_of_1_20_gives_the_same_message_and_fields() -> None:
    """`name_namespace(uid)` becomes the pod and its UID."""
    text = f"[topologymanager] TopologyHints for pod 'p_default({UID})', container 'app': map[cpu:[{{11 true}}]]"
    line = only(HEADER + text)
    fields = {"podUID": UID, "containerName": "app", "hints": "map[cpu:[{11 true}]]", "pod": "default/p"}
    assert (line.message, line.fields, line.printf) == ("TopologyHints", fields, True)


def test_a_journald_prefix_changes_nothing() -> None:
    text = HEADER + '"Topology Admit Handler"'
    assert only("Dec 29 15:13:13 node2 kubelet[117175]: " + text) == only(text)


def test_the_time_counts_from_the_start_of_a_leap_year() -> None:
    """klog writes no year; a day later is a day more, also behind February."""
    day = 86400 * 1_000_000
    headers = [
        parse_header(f"I{date} 00:00:00.000001 1 a.go:1] x".encode()) for date in ("0101", "0229", "0301", "1231")
    ]
    assert [header.time if header else None for header in headers] == [1, 59 * day + 1, 60 * day + 1, 365 * day + 1]


def test_lines_are_counted_from_1_with_those_that_do_not_matter() -> None:
    count = LineCount()
    text = "noise\n" + HEADER + '"Something else"\n' + HEADER + '"Topology Admit Handler"\nend'
    assert [line.number for line in log_lines(io.BytesIO(text.encode()), count)] == [3]
    assert (count.lines, count.klog) == (4, 2)


def test_events_that_are_no_warnings_of_pods_are_dropped_early() -> None:
    """They are frequent: every node status is one."""
    event = '"Event occurred" object="n" kind="{}" apiVersion="v1" type="{}" reason="r" message="m"'
    found = [
        kind
        for kind in ("Node", "Pod")
        for word in ("Normal", "Warning")
        for _ in log_lines(io.BytesIO((HEADER + event.format(kind, word)).encode()))
    ]
    assert found == ["Pod"]


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_without_complaint(data: bytes) -> None:
    """Also right behind a header, and as the whole log."""
    assert parse_line(data) is None or b".go:" in data
    read_log(io.BytesIO(data), lambda _: True)
    for start in ('"TopologyHints" ', '"Event occurred" kind="Pod" type="Warning" ', "[topologymanager] ", '"'):
        read_log(io.BytesIO((HEADER + start).encode() + data), lambda _: True)


def test_a_line_without_end_is_not_kept_in_memory() -> None:
    """A stream of zeros must not fill the memory: what lies beyond the longest line is dropped."""

    class Endless(io.RawIOBase):
        left = 300

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return b"\0" * lines_module.CHUNK if self.left > 0 else b""

    count = LineCount()
    assert list(log_lines(Endless(), count)) == []  # type: ignore[arg-type]
    assert count.lines == 1
