"""What lines of a kubelet's log tell of a node beside admissions: pods, containers, plugins, starts."""

import re
from collections.abc import Mapping
from typing import BinaryIO, Literal

import msgspec

from numafit.advice.logs import lines
from numafit.advice.logs.admission import Admission, LogEvent
from numafit.advice.logs.lines import HAPPENINGS, LineCount, LogLine, log_lines, parse_header
from numafit.advice.logs.reader import LogReader, named_pods
from numafit.advice.logs.report import AFTERWARDS, UpToBreak, unpacked
from numafit.errors import InputError

SignKind = Literal[
    "start",
    "config",
    "come",
    "go",
    "run",
    "pleg",
    "register",
    "list",
    "end",
    "evict",
    "allocate",
    "denied",
    "reboot",
    "fail",
]


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    kind: SignKind
    line: int
    time: int
    """As of a line of a log."""
    stamp: str
    pods: tuple[tuple[str, str], ...] = ()
    """Name and UID, which may be empty."""
    source: str = ""
    """Of pods that come or go: `api`, `file`, `http`."""
    text: str = ""
    """The container that runs, the resource of a plugin, the reason of a refusal or failure, the configuration."""
    container_id: str = ""
    """Of a container, where it is told."""
    total: int | None = None
    healthy: int | None = None
    amounts: Mapping[str, object] = {}
    """Container -> its requests and limits."""

    @property
    def pod(self) -> str:
        return self.pods[0][0] if self.pods else ""

    @property
    def uid(self) -> str:
        return self.pods[0][1] if self.pods else ""


class _PodAmounts(msgspec.Struct):
    containers: dict[str, dict[str, dict[str, str]]] = msgspec.field(default_factory=dict, name="ContainerResources")


API_SOURCE = "api"
"""The source of pods that an API server tells of; the others are files and addresses of static pods."""

_FIELD_PATH = re.compile(r"spec\.\w*[cC]ontainers\{([^}]*)\}$")
_LIFECYCLE = re.compile(r'Type"?:\s*"?(\w+)"?,?\s+"?Data"?:\s*"?([^"\s})]*)|"Type":"(\w+)","Data":"([^"]*)"')
_NODE = re.compile(r'"?NodeName"?:"?([^",\s}]+)')
_NORMAL_STARTED = "Started"
_REBOOTED = "Rebooted"


def sign_of(line: LogLine) -> Sign | None:
    """None for a line that tells of an admission only."""
    fields = line.fields
    pod = ((fields["pod"], fields.get("podUID", "")),) if fields.get("pod") else ()
    match line.message:
        case lines.VERSION:
            return _sign("start", line)
        case lines.NODE_CONFIG:
            return _sign("config", line, text=fields.get("nodeConfig", ""))
        case lines.FAILED | lines.FAILED_START:
            return _sign("fail", line, text=fields.get("err", ""))
        case lines.ADDED | lines.REMOVED:
            kind: SignKind = "come" if line.message == lines.ADDED else "go"
            pods = tuple(named_pods(fields.get("pods", "")))
            return _sign(kind, line, pods=pods, source=fields.get("source", ""))
        case lines.STOPPED if pod:
            return _sign("go", line, pods=pod)
        case lines.CONTAINER_ADDED if pod:
            name, own_id = fields.get("containerName", ""), fields.get("containerID", "")
            return _sign("run", line, pods=pod, text=name, container_id=own_id)
        case lines.EVENT:
            return _of_event(line)
        case lines.LIFECYCLE if pod:
            found = _LIFECYCLE.search(fields.get("event", ""))
            if found is None:
                return None
            kind_text, identity = found.group(1) or found.group(3), found.group(2) or found.group(4)
            return _sign("pleg", line, pods=pod, text=kind_text, container_id=identity or "")
        case lines.PREEMPTED | lines.EVICTED if pod:
            return _sign("evict", line, pods=pod)
        case lines.DENIED if pod and fields.get("operation", "add") != "add":
            return _sign("denied", line, pods=pod, text=fields.get("reason", ""))
        case lines.REGISTERED:
            return _sign("register", line, text=fields.get("resourceName", ""))
        case lines.UPDATED:
            counts = _number(fields.get("totalCount")), _number(fields.get("healthyCount"))
            return _sign("list", line, text=fields.get("resourceName", ""), total=counts[0], healthy=counts[1])
        case lines.PUSHED:
            # The line on what came of it, with both numbers, follows in later releases only.
            resource = fields.get("resourceName") or fields.get("resource", "")
            return _sign("list", line, text=resource, total=_number(fields.get("resourceCapacity")))
        case lines.UNHEALTHY | lines.ALL_UNHEALTHY:
            return _sign("end", line, text=fields.get("resourceName", ""))
        case lines.ALLOCATED:
            return _allocated(line)
    return None


def node_name(config: str) -> str:
    found = _NODE.search(config)
    return found.group(1) if found else ""


def _of_event(line: LogLine) -> Sign | None:
    fields = line.fields
    if fields.get("kind") == "Node":
        return _sign("reboot", line) if fields.get("reason") == _REBOOTED else None
    path = _FIELD_PATH.search(fields.get("fieldPath", ""))
    if fields.get("reason") != _NORMAL_STARTED or path is None:
        return None
    return _sign("run", line, pods=((fields.get("object", ""), ""),), text=path.group(1))


def _allocated(line: LogLine) -> Sign | None:
    try:
        found = msgspec.json.decode(line.fields.get("information", ""), type=_PodAmounts)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return _sign("allocate", line, pods=(("", line.fields.get("podUID", "")),), amounts=found.containers)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _sign(
    kind: SignKind,
    line: LogLine,
    *,
    pods: tuple[tuple[str, str], ...] = (),
    source: str = "",
    text: str = "",
    container_id: str = "",
    total: int | None = None,
    healthy: int | None = None,
    amounts: Mapping[str, object] | None = None,
) -> Sign:
    return Sign(
        kind=kind,
        line=line.number,
        time=line.time,
        stamp=line.stamp,
        pods=pods,
        source=source,
        text=text,
        container_id=container_id,
        total=total,
        healthy=healthy,
        amounts=amounts or {},
    )


class LogSigns(msgspec.Struct, frozen=True):
    """A whole log."""

    name: str
    kubelets: tuple[tuple[Sign, ...], ...]
    """The signs of one process after the other; none of them is empty."""
    admissions: tuple[Admission, ...]
    release: str = ""
    """Of the first kubelet that says it."""
    broken: str = ""
    """How gzip breaks off."""
    listed: bool = True
    """Lines tell of pods that come. Where none does, those of one kubelet come as it admits them."""


def read_signs(stream: BinaryIO, name: str) -> LogSigns:
    """Gzip is known by its content. `stream` stays open."""
    count, reader = LineCount(), LogReader()
    signs: list[Sign] = []
    cuts: set[int] = set()
    """The first lines of processes."""
    logged: list[LogEvent] = []
    processes: set[int] = set()
    release, fresh = "", True
    with unpacked(stream) as source:
        whole = UpToBreak(source)
        for line in log_lines(whole, count, HAPPENINGS):
            logged += reader.feed(line)
            if line.message == lines.VERSION:
                release = release or line.fields.get("kubeletVersion", "")
            # Lines of others may stand between; who wrote before is not new.
            fresh = fresh or line.process not in processes or line.message == lines.VERSION
            processes.add(line.process)
            sign = sign_of(line)
            if sign is not None:
                if fresh:
                    cuts.add(sign.line)
                fresh = False
                signs.append(sign)
    if not count.klog:
        cure = "give it the output of journalctl -u kubelet, or a folder of API objects"
        raise InputError(f"no line of a kubelet in {count.lines} lines", source=name, cure=cure)
    end, decided = parse_header(count.last), reader.decided_at()
    logged += reader.finish(later_lines=end is not None and decided > 0 and end.time > decided + AFTERWARDS)
    admissions = tuple(event for event in logged if isinstance(event, Admission))
    listed = any(sign.kind == "come" for sign in signs)
    if not listed and len(processes) == 1:
        signs = sorted([*signs, *map(_admitted, admissions)], key=lambda sign: sign.line)
        cuts = {*cuts, *(sign.line for sign in signs[:1])}
    kubelets: list[list[Sign]] = []
    for sign in signs:
        if sign.line in cuts:
            kubelets.append([])
        kubelets[-1].append(sign)
    clear = [tuple(own) for own in map(_cleared, kubelets)]
    return LogSigns(name, tuple(own for own in clear if own), admissions, release, whole.broken, listed)


def _admitted(admission: Admission) -> Sign:
    pods = ((admission.pod, admission.uid),)
    return Sign(
        kind="come", line=admission.line, time=admission.time, stamp=admission.stamp, pods=pods, source=API_SOURCE
    )


def _cleared(signs: list[Sign]) -> list[Sign]:
    """Where two kinds of lines tell the same, only those that tell more."""
    counted = any(sign.kind == "list" and sign.healthy is not None for sign in signs)
    identified = any(sign.kind == "run" and sign.container_id for sign in signs)
    return [
        sign
        for sign in signs
        if not (sign.kind == "list" and counted and sign.healthy is None)
        and not (sign.kind == "run" and identified and not sign.container_id)
    ]
