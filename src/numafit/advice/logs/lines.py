"""The lines of a kubelet log that tell of admissions, each as a message with its fields.

A log may be plain klog output, JSON, or come out of journald, and stand in any other text. Lines are bytes until one of
them is found to matter: most are dropped by one look at their message.
"""

import re
from collections.abc import Iterator

import msgspec

from numafit.advice.logs.styles import PRINTF_STARTS, parse_json_entry, parse_printf
from numafit.advice.logs.wrapping import ByteSource, UnwrappedStream, is_wrapped

CHUNK = 1 << 20
FIRST_LOOK = 1 << 15
LONGEST_LINE = 1 << 24
"""Longer lines are cut; the hints of 16 NUMA nodes take about 3 MB."""

ADMIT_HANDLER = "Topology Admit Handler"
ADMISSION_CHECK = "Topology manager admission check"
HINTS = "TopologyHints"
CONTAINER_HINT = "ContainerTopologyHint"
POD_HINT = "PodTopologyHint"
BEST = "Best TopologyHint"
AFFINITY = "Topology Affinity"
NO_PREFERENCE = "Hint Provider has no preference for NUMA affinity with resource"
ADMIT_RESULT = "Pod Admit Result"
DENIED = "Pod admission denied"
EVENT = "Event occurred"
PATCH = "Patch status for pod"
ALLOCATE = "Static policy: Allocate"
ALLOCATE_START = "Allocate start"
ALLOCATE_CPUS = "AllocateCPUs"
ENTRY = "Updated desired CPUSet"
DEVICES = "Making allocation request for device plugin"
VERSION = "Kubelet version"
CREATED = "Creating topology manager with policy per scope"
CREATED_NONE = "Creating topology manager with none policy"
CPU_TOPOLOGY = "Detected CPU topology"
NEW_POD = "Receiving a new pod"
ADDED = "SyncLoop ADD"
RECREATED = "Pod was deleted and then recreated, skipping status update"
PREDICATE = "Predicate failed on Pod"
REMOVED = "SyncLoop REMOVE"
LIFECYCLE = "SyncLoop (PLEG): event for pod"
STOPPED = "Pod termination stopped all running containers"
CONTAINER_ADDED = "Added Container"
PREEMPTED = "Preempting pod to free up resources"
EVICTED = "Pod evicted successfully"
REGISTERED = "Got registration request from device plugin with resource"
PUSHED = "State pushed for device plugin"
UPDATED = "Processed device updates for resource"
UNHEALTHY = "Endpoint became unhealthy"
ALL_UNHEALTHY = "Mark all resources Unhealthy for resource"
ALLOCATED = "Updated pod resource information"
FAILED = "command failed"
FAILED_START = "Failed to start ContainerManager"
NODE_CONFIG = "Creating Container Manager object based on Node Config"


class WantedLines(msgspec.Struct, frozen=True):
    """Which messages are read; of frequent ones only lines that hold all of these bytes."""

    messages: frozenset[bytes]
    must_hold: dict[bytes, tuple[bytes, ...]] = {}
    must_hold_json: dict[bytes, tuple[bytes, ...]] = {}


ADMISSIONS = WantedLines(
    frozenset(
        text.encode()
        for text in (
            ADMIT_HANDLER,
            ADMISSION_CHECK,
            HINTS,
            CONTAINER_HINT,
            POD_HINT,
            BEST,
            AFFINITY,
            NO_PREFERENCE,
            ADMIT_RESULT,
            DENIED,
            EVENT,
            PATCH,
            ALLOCATE,
            ALLOCATE_START,
            ALLOCATE_CPUS,
            ENTRY,
            DEVICES,
            VERSION,
            CREATED,
            CREATED_NONE,
            CPU_TOPOLOGY,
            NEW_POD,
            ADDED,
            RECREATED,
            PREDICATE,
        )
    ),
    {EVENT.encode(): (b'kind="Pod"', b'type="Warning"'), PATCH.encode(): (b"Failed",)},
    {EVENT.encode(): (b'"kind":"Pod"', b'"type":"Warning"'), PATCH.encode(): (b"Failed",)},
)
"""What tells of admissions."""
HAPPENINGS = WantedLines(
    ADMISSIONS.messages
    | frozenset(
        text.encode()
        for text in (
            REMOVED,
            LIFECYCLE,
            STOPPED,
            CONTAINER_ADDED,
            PREEMPTED,
            EVICTED,
            REGISTERED,
            PUSHED,
            UPDATED,
            UNHEALTHY,
            ALL_UNHEALTHY,
            ALLOCATED,
            FAILED,
            FAILED_START,
            NODE_CONFIG,
        )
    ),
    {PATCH.encode(): (b"Failed",)},
    {PATCH.encode(): (b"Failed",)},
)
"""And what else happens to a node."""
_JSON_MESSAGE = b'","msg":"'
"""Follows the caller's line number."""

_HEADER = re.compile(
    rb"[IWEF](0[1-9]|1[0-2])([0-3]\d) (\d\d):(\d\d):(\d\d)\.(\d{6}) +(\d{1,10}) [^ \]]{1,80}\.go:\d{1,6}$"
)
_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_KEY = re.compile(r' ([^\s="]+)=')
_NEXT_KEY = re.compile(r" [A-Za-z][\w.-]*=")
_SIMPLE = re.compile(rf'({_QUOTED}|[^\s"\[{{(]*+)(?= |$)')
_TOKEN = re.compile(rf"{_QUOTED}|[^\s\[\]{{}}()\"]+|.", re.DOTALL)


class LogLine(msgspec.Struct, frozen=True):
    number: int
    """Counted from 1."""
    time: int
    """Microseconds since the start of a year with 366 days; klog writes no year."""
    stamp: str
    """`Aug 15 22:24:53.410301`, in the time zone of the node."""
    process: int
    message: str
    """As structured logs have it; lines of 1.20 are given the same messages and fields."""
    fields: dict[str, str]
    """Values as text; quotes are taken off, hints and lists stand as they were printed."""
    printf: bool = False
    json: bool = False
    """Of a kubelet that logs as JSON, where the style of values tells nothing of the release."""


class LineCount(msgspec.Struct):
    """What was read so far; a reader learns from it how far the log goes beyond the lines that matter."""

    lines: int = 0
    klog: int = 0
    last: bytes = b""
    """The last line with a klog header."""


def log_lines(
    stream: ByteSource, count: LineCount | None = None, wanted: WantedLines = ADMISSIONS
) -> Iterator[LogLine]:
    """The lines that matter, in order. Memory is bounded whatever the stream holds."""
    count = count or LineCount()
    rest = stream.read(CHUNK)
    if is_wrapped(rest[:FIRST_LOOK]):
        stream, rest = UnwrappedStream(stream, rest), b""
    else:
        *lines, rest = rest.split(b"\n")
        yield from _relevant(lines, count, wanted)
    while chunk := stream.read(CHUNK):
        if len(rest) > LONGEST_LINE and b"\n" not in chunk:
            continue
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        yield from _relevant(lines, count, wanted)
    if rest:
        yield from _relevant([rest], count, wanted)


def _relevant(lines: list[bytes], count: LineCount, wanted: WantedLines) -> Iterator[LogLine]:
    number, klog, last = count.lines, count.klog, count.last
    messages, starts = wanted.messages, PRINTF_STARTS
    must_hold, must_hold_json = wanted.must_hold, wanted.must_hold_json
    for line in lines:
        number += 1
        place = line.find(b".go:")
        if place < 0:
            continue
        caller, place = place, line.find(b"] ", place, place + 12)
        if place < 0:
            start = line.find(_JSON_MESSAGE, caller, caller + 20)
            if start < 0:
                continue
            klog += 1
            last = line
            start += len(_JSON_MESSAGE)
            text = line[start : line.find(b'"', start)]
            if text in messages and all(word in line for word in must_hold_json.get(text, ())):
                count.lines, count.klog, count.last = number, klog, last
                found = parse_line(line, number, wanted)
                if found is not None:
                    yield found
            continue
        klog += 1
        last = line
        start = place + 2
        if line[start : start + 1] == b'"':
            end = line.find(b'"', start + 1)
            if (text := line[start + 1 : end]) not in messages:
                continue
            if text in must_hold and not all(word in line for word in must_hold[text]):
                continue
        elif line[start : start + 5] not in starts:
            continue
        count.lines, count.klog, count.last = number, klog, last
        found = parse_line(line, number, wanted)
        if found is not None:
            yield found
    count.lines, count.klog, count.last = number, klog, last


class LogHeader(msgspec.Struct, frozen=True):
    time: int
    """As of a LogLine."""
    stamp: str
    process: int
    end: int
    """Where the text of the line begins."""


def parse_header(line: bytes) -> LogHeader | None:
    """None for a line without a klog header that is not JSON either."""
    place = line.find(b"] ", max(line.find(b".go:"), 0))
    match = _HEADER.search(line, max(place - 160, 0), max(place, 0))
    if match is None:
        entry = parse_json_entry(line)
        return None if entry is None else LogHeader(entry.time, entry.stamp, entry.process, len(line))
    month, day, hours, minutes, seconds, fraction, process = match.groups()
    days = _DAYS_BEFORE[int(month) - 1] + int(day) - 1
    time = ((days * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    clock = b":".join((hours, minutes, seconds)).decode()
    stamp = f"{_MONTHS[int(month) - 1]} {day.decode()} {clock}.{fraction.decode()}"
    return LogHeader(time * 1_000_000 + int(fraction), stamp, int(process), place + 2)


def parse_line(line: bytes, number: int = 1, wanted: WantedLines = ADMISSIONS) -> LogLine | None:
    """None for a line without a klog header, or with a message that is not wanted."""
    if _JSON_MESSAGE in line and (entry := parse_json_entry(line)) is not None:
        if entry.message.encode() not in wanted.messages:
            return None
        return LogLine(number, entry.time, entry.stamp, entry.process, entry.message, entry.fields, json=True)
    header = parse_header(line)
    if header is None:
        return None
    text = line[header.end :].decode(errors="replace").rstrip("\r\n")
    if text.startswith('"'):
        message, quote, rest = text[1:].partition('"')
        if not quote or message.encode() not in wanted.messages:
            return None
        return LogLine(number, header.time, header.stamp, header.process, message, parse_fields(rest))
    found = parse_printf(text)
    if found is None:
        return None
    return LogLine(number, header.time, header.stamp, header.process, found[0], found[1], printf=True)


def parse_fields(text: str) -> dict[str, str]:
    """` key="text" other={"json":1} third=map[a:[b c]]`; what follows a value that does not end is dropped."""
    fields: dict[str, str] = {}
    place = 0
    while key := _KEY.match(text, place):
        place = key.end()
        simple = _SIMPLE.match(text, place)
        if simple is not None:
            place = simple.end()
            fields[key.group(1)] = unquoted(simple.group(1))
            continue
        end = _balanced_end(text, place)
        if end < 0:
            break
        fields[key.group(1)] = text[place:end]
        place = end
    return fields


def _balanced_end(text: str, place: int) -> int:
    """Where a value with brackets ends: at the first blank outside them. -1: the line was cut inside."""
    following = _NEXT_KEY.search(text, place)
    value = text[place : following.start() if following else len(text)]
    if all(value.count(left) == value.count(right) for left, right in ("{}", "[]", "()")):
        return place + len(value)
    depth = 0
    for token in _TOKEN.finditer(text, place):
        mark = token.group()
        if mark in ("[", "{", "("):
            depth += 1
        elif mark in ("]", "}", ")"):
            depth -= 1
        elif mark == " " and depth <= 0:
            return token.start()
    return len(text) if depth <= 0 else -1


def unquoted(text: str) -> str:
    """Go's quoted text; escapes that JSON does not know stay as they are."""
    if not text.startswith('"'):
        return text
    if "\\" not in text:
        return text[1:-1]
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.MsgspecError, UnicodeError):
        return text[1:-1]
