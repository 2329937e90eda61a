"""A line of a kubelet with `--logging-format=json`: time, message, and the fields as the text format has them.

    {"ts":1723731893410.301,"caller":"topologymanager/scope.go:75","msg":"TopologyHints","v":0,"pod":{"name":…},…}

Values look the same in all releases: hints are JSON with decimal masks, a pod is an object with name and namespace.
"""

import re
import time

import msgspec

START = b'{"ts":'
_PROCESS = re.compile(rb"\[(\d{1,10})\]: $")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_SECONDS_END = 1e11
"""Times below are seconds: read as milliseconds they would lie in 1973."""
_LATEST = 253402300800
"""The year 10000, which no calendar of Python reaches."""


class JsonEntry(msgspec.Struct, frozen=True):
    time: int
    """Microseconds since the start of a year with 366 days, as in klog's own format."""
    stamp: str
    """In UTC."""
    process: int
    """From journald's prefix; 0 where there is none."""
    message: str
    fields: dict[str, str]


class _Reference(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


_ENTRY = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TIME = msgspec.json.Decoder(float)
_TEXT = msgspec.json.Decoder(str)
_REFERENCE = msgspec.json.Decoder(_Reference)
_REFERENCES = msgspec.json.Decoder(list[_Reference])


def parse_json_entry(line: bytes) -> JsonEntry | None:
    """None for a line that is cut or is no such object."""
    start = line.find(START)
    if start < 0:
        return None
    prefix = _PROCESS.search(line, max(start - 16, 0), start)
    try:
        values = _ENTRY.decode(line[start:])
        seconds = _TIME.decode(values.pop("ts"))
        message = _TEXT.decode(values.pop("msg"))
        fields = {key: _text(bytes(value)) for key, value in values.items()}
    except (msgspec.MsgspecError, UnicodeError, KeyError, RecursionError):
        return None
    seconds = seconds if seconds < _SECONDS_END else seconds / 1000
    if not 0 <= seconds < _LATEST:
        return None
    micros = round(seconds * 1_000_000)
    day = time.gmtime(micros // 1_000_000)
    days = _DAYS_BEFORE[day.tm_mon - 1] + day.tm_mday - 1
    clock = ((days * 24 + day.tm_hour) * 60 + day.tm_min) * 60 + day.tm_sec
    stamp = (
        f"{_MONTHS[day.tm_mon - 1]} {day.tm_mday:02} {day.tm_hour:02}:{day.tm_min:02}:{day.tm_sec:02}"
        f".{micros % 1_000_000:06}"
    )
    process = int(prefix.group(1)) if prefix is not None else 0
    return JsonEntry(clock * 1_000_000 + micros % 1_000_000, stamp, process, message, fields)


def _text(value: bytes) -> str:
    if value.startswith(b'"'):
        return _TEXT.decode(value)
    if value.startswith(b'{"name":'):
        return str(_REFERENCE.decode(value))
    if value.startswith(b'[{"name":'):
        return msgspec.json.encode([str(each) for each in _REFERENCES.decode(value)]).decode()
    return value.decode()
