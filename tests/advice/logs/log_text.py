"""Kubelet log lines for tests, in the styles of the releases."""

import io

from numafit.advice.logs.admission import Admission, LogEvent
from numafit.advice.logs.lines import log_lines
from numafit.advice.logs.reader import LogReader
from numafit.advice.logs.report import LogReport, read_log

Hints = list[tuple[int | None, bool]]


def numa_mask_text(mask: int) -> str:
    """A NUMA mask as kubelet logs print it: binary, padded in steps of two, powers of four short."""
    for shift in range(62, 0, -2):
        if mask > 1 << shift:
            return f"{mask:0{shift + 2}b}"
    return f"{mask:02b}"


def klog(text: str, seconds: float = 0.0, process: int = 7) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"I0815 22:{int(minutes):02}:{rest:09.6f}{process:8} scope.go:1] {text}"


def json_hint(mask: int | None, preferred: bool) -> str:
    return f'{{"NUMANodeAffinity":{"null" if mask is None else mask},"Preferred":{str(preferred).lower()}}}'


def go_hint(mask: int | None, preferred: bool, *, named: bool = True) -> str:
    """With field names 1.21 to 1.27, without them 1.20."""
    text = "<nil>" if mask is None else numa_mask_text(mask)
    word = str(preferred).lower()
    return f"{{NUMANodeAffinity:{text} Preferred:{word}}}" if named else f"{{{text} {word}}}"


def json_hints(hints: Hints) -> str:
    return "[" + ",".join(json_hint(*hint) for hint in hints) + "]"


def json_map(resource: str, hints: Hints) -> str:
    return f'{{"{resource}":{json_hints(hints)}}}'


def merge_lines(
    pod: str, container: str, maps: list[str], best: str, *, stored: bool, at: float = 0.0, process: int = 7
) -> list[str]:
    """The lines of one merge as 1.31 writes them; without a container those of the pod scope."""
    named = f' pod="{pod}"' + (f' containerName="{container}"' if container else "")
    lines = [f'"TopologyHints" hints={hints}{named}' for hints in maps]
    lines.append(f'"{"Container" if container else "Pod"}TopologyHint" bestHint={best}')
    lines.append(f'"Best TopologyHint" bestHint={best}{named}')
    if stored:
        lines.append(f'"Topology Affinity" bestHint={best} pod="{pod}" containerName="{container or "c"}"')
    return [klog(line, at, process) for line in lines]


def denied(pod: str, uid: str, reason: str, message: str = "no", at: float = 0.0) -> str:
    return klog(f'"Pod admission denied" podUID="{uid}" pod="{pod}" reason="{reason}" message="{message}"', at)


def events_of(lines: list[str], *, later_lines: bool = False) -> tuple[list[LogEvent], LogReader]:
    reader = LogReader()
    events: list[LogEvent] = []
    for line in log_lines(io.BytesIO("\n".join(lines).encode())):
        events += reader.feed(line)
    return events + reader.finish(later_lines=later_lines), reader


def admissions_of(lines: list[str], *, later_lines: bool = False) -> list[Admission]:
    events, _ = events_of(lines, later_lines=later_lines)
    return [event for event in events if isinstance(event, Admission)]


def report_of(lines: list[str]) -> LogReport:
    return read_log(io.BytesIO("\n".join(lines).encode()), lambda _: True)
