"""One line of a log in the two styles that are not structured text: JSON, and the sentences of kubelet 1.20.

Of a kubelet with `--logging-format=json`:

    {"ts":1723731893410.301,"caller":"topologymanager/scope.go:75","msg":"TopologyHints","v":0,"pod":{"name":…},…}

Values look the same in all releases there: hints are JSON with decimal masks, a pod is an object with name and
namespace. Sentences of 1.20 become the messages and fields that later releases write instead.
"""

import re

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
    days, second = divmod(micros // 1_000_000, 86_400)
    month, day = _date(days)
    clock = (_DAYS_BEFORE[month] + day - 1) * 86_400 + second
    hour, minute = second // 3600, second // 60 % 60
    stamp = f"{_MONTHS[month]} {day:02} {hour:02}:{minute:02}:{second % 60:02}.{micros % 1_000_000:06}"
    process = int(prefix.group(1)) if prefix is not None else 0
    return JsonEntry(clock * 1_000_000 + micros % 1_000_000, stamp, process, message, fields)


def _date(days: int) -> tuple[int, int]:
    """Month from 0 and day from 1 of the day that many days after the first of 1970, in UTC.

    Years are counted from March, so that a leap day is the last of its year; 400 years have 146,097 days.
    """
    day = (days + 719_468) % 146_097
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    return (month + 2) % 12, day - (153 * month + 2) // 5 + 1


def _text(value: bytes) -> str:
    if value.startswith(b'"'):
        return _TEXT.decode(value)
    if value.startswith(b'{"name":'):
        return str(_REFERENCE.decode(value))
    if value.startswith(b'[{"name":'):
        return msgspec.json.encode([str(each) for each in _REFERENCES.decode(value)]).decode()
    return value.decode()


PrintfLine = tuple[str, dict[str, str]]

_POD = r"(?P<name>[^\s_'\"(]+)_(?P<namespace>[^\s_'\"(]+)\((?P<podUID>[^()\s]*)\)"
_TOPOLOGY = r"\[topologymanager\] "
_CPU = r"\[cpumanager\] "

_CONTAINER = r"(?P<containerName>[^)']*)"

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (message, re.compile("".join(parts)))
    for message, *parts in (
        ("Topology Admit Handler", _TOPOLOGY, r"Topology Admit Handler"),
        (
            "TopologyHints",
            _TOPOLOGY,
            rf"TopologyHints for pod '{_POD}'(?:, container '{_CONTAINER}')?: (?P<hints>.*)",
        ),
        ("ContainerTopologyHint", _TOPOLOGY, r"ContainerTopologyHint: (?P<bestHint>.*)"),
        ("PodTopologyHint", _TOPOLOGY, r"PodTopologyHint: (?P<bestHint>.*)"),
        (
            "Best TopologyHint",
            _TOPOLOGY,
            rf"Best TopologyHint for \(pod: {_POD}(?: container: {_CONTAINER})?\): (?P<bestHint>.*)",
        ),
        (
            "Topology Affinity",
            _TOPOLOGY,
            rf"Topology Affinity for \(pod: {_POD} container: {_CONTAINER}\): (?P<bestHint>.*)",
        ),
        (
            "Hint Provider has no preference for NUMA affinity with resource",
            _TOPOLOGY,
            r"Hint Provider has no preference for NUMA affinity with resource '(?P<resource>[^']*)'",
        ),
        (
            "Creating topology manager with policy per scope",
            _TOPOLOGY,
            r"Creating topology manager with (?P<topologyPolicyName>\S+) policy per (?P<topologyScopeName>\S+) scope",
        ),
        ("Static policy: Allocate", _CPU, rf"static policy: Allocate \(pod: {_POD}, container: {_CONTAINER}\)"),
        ("AllocateCPUs", _CPU, r"allocateCpus: \(numCPUs: (?P<numCPUs>\d+), socket: (?P<socket>[^)]*)\)"),
        ("AllocateCPUs", _CPU, r'allocateCPUs: returning "(?P<result>[^"]*)"'),
        (
            "Updated desired CPUSet",
            _CPU,
            r"updated desired cpuset \(pod: (?P<podUID>[^,]*), container: (?P<containerName>[^,]*), ",
            r'cpuset: "(?P<cpuSet>[^"]*)"\)',
        ),
        ("Detected CPU topology", _CPU, r"detected CPU topology: (?P<topology>.*)"),
        ("SyncLoop ADD", r'SyncLoop \(ADD, "(?P<source>[^"]*)"\): "(?P<pods>[^"]*)"'),
        ("SyncLoop REMOVE", r'SyncLoop \(REMOVE, "(?P<source>[^"]*)"\): "(?P<pods>[^"]*)"'),
        ("SyncLoop (PLEG): event for pod", rf'SyncLoop \(PLEG\): "{_POD}", event: (?P<event>.*)'),
        ("Pod evicted successfully", rf"preemption: pod {_POD} evicted successfully"),
        (
            "Got registration request from device plugin with resource",
            r'Got registration request from device plugin with resource name "(?P<resourceName>[^"]*)"',
        ),
        (
            "Mark all resources Unhealthy for resource",
            r"Mark all resources Unhealthy for resource (?P<resourceName>\S+)",
        ),
        (
            "Making allocation request for device plugin",
            r"Making allocation request for devices (?P<devices>\[[^\]]*\]) for device plugin (?P<resourceName>\S+)",
        ),
        (
            "Pod was deleted and then recreated, skipping status update",
            rf'Pod "{_POD}" was deleted and then recreated, skipping status update; ',
            r'old UID "(?P<oldPodUID>[^"]*)", new UID "(?P<newUID>[^"]*)"',
        ),
        ("Patch status for pod", rf'Patch status for pod "{_POD}" with "(?P<patch>.*)"'),
        ("Predicate failed on Pod", rf"Predicate failed on Pod: {_POD}, for reason: (?P<err>.*)"),
        ("Kubelet version", r"Version: (?P<kubeletVersion>v1\.\S+)"),
    )
)

PRINTF_STARTS = frozenset(
    (b"[topo", b"[cpum", b"SyncL", b"Makin", b'Pod "', b"Patch", b"Predi", b"Versi", b"Got r", b"Mark ", b"preem")
)
"""How those lines begin, cheap to look up."""


def parse_printf(text: str) -> PrintfLine | None:
    for message, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is not None:
            fields = {key: value for key, value in match.groupdict().items() if value is not None}
            if "name" in fields:
                fields["pod"] = f"{fields.pop('namespace')}/{fields.pop('name')}"
            if "patch" in fields:
                fields["patch"] = fields["patch"].replace('\\"', '"').replace("\\\\", "\\")
            return message, fields
    return None
