"""How an audit reads: a table of processes, and the findings with their cures."""

import textwrap
from collections.abc import Mapping

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.host.audit.activity import JobUse
from numafit.host.audit.codes import CODES, AuditFinding
from numafit.host.audit.numastat import NodeAllocations
from numafit.host.audit.survey import AuditReport
from numafit.host.process.observation import Observation
from numafit.show.records.alignment import DeviceLabels, counts_text, why_text
from numafit.show.records.time import now_text
from numafit.show.table import PLAIN, SEVERITIES, Screen, aligned
from numafit.show.words import printable

WIDTH = 80
"""Of sentences, where no screen says otherwise."""
HEADER = ("PID", "PROGRAM", "THREADS", "CPUS", "NODES", "MEMORY PER NODE", "GPUS", "FOUND")
JOB_HEADER = ("JOB", "CPUS USED", "WAITING", "SWITCHES/S", "FORCED/S", "MEMORY PER NODE")
NODE_HEADER = ("NODE", "ALLOCATIONS/S", "REMOTE/S", "MISSED/S", "TAKEN IN/S")


def audit_text(report: AuditReport, screen: Screen = PLAIN, labels: DeviceLabels | None = None) -> str:
    parts = []
    if report.processes:
        parts.append(aligned([HEADER, *(_row(process, report) for process in report.processes)], screen=screen))
    parts += _numbers(report, screen)
    parts += _lying(report, labels or {}, screen)
    names = {process.pid: process.name for process in report.processes}
    parts += [_finding(found, names, screen) for found in report.findings]
    if report.unseen:
        unseen = (_wrapped(printable(line), "  - ", "    ", screen) for line in report.unseen)
        parts.append("\n".join(["Not seen:", *unseen]))
    return "\n\n".join([*parts, _summary(report)])


def _lying(report: AuditReport, labels: DeviceLabels, screen: Screen) -> list[str]:
    """How many leases lie how, and why those do not lie together that do not."""
    judged = [(one.name, one.alignment) for one in report.promises if one.alignment is not None]
    if not judged:
        return []
    apart = [
        _wrapped(printable(f"{name}: {found.lying}: {why_text(found, labels)}"), "  ", "    ", screen)
        for name, found in judged
        if found.lying not in ("aligned", "shared")
    ]
    return ["\n".join([f"Leases as they were given: {counts_text(found for _, found in judged)}", *apart])]


def news_text(before: AuditReport, report: AuditReport, screen: Screen = PLAIN) -> str:
    """What the jobs did since the look before, and the findings that came and went."""
    names = {process.pid: process.name for one in (before, report) for process in one.processes}
    old, new = ({_key(found): found for found in one.findings} for one in (before, report))
    parts = [_finding(new[key], names, screen) for key in new if key not in old]
    gone = [f"gone: {old[key].code} {_subject(old[key], names)}" for key in old if key not in new]
    parts += ["\n".join(gone)] if gone else []
    parts += [f"Not seen: {printable(line)}" for line in report.unseen if line not in before.unseen]
    return "\n\n".join([now_text(), *_numbers(report, screen), *parts])


def _key(found: AuditFinding) -> tuple[str, str, int | None]:
    """Numbers in its sentence change from look to look."""
    return found.code, found.subject, found.pid


def _numbers(report: AuditReport, screen: Screen) -> list[str]:
    """Tables of what happened between two looks."""
    if not report.seconds:
        return []
    parts = []
    if report.jobs:
        rows = [_job_row(use) for use in report.jobs]
        parts.append(aligned([JOB_HEADER, *rows], right=range(1, 5), screen=screen))
    if len(report.allocations) > 1:
        rows = [_node_row(node, counts, report.seconds) for node, counts in report.allocations.items()]
        parts.append(aligned([NODE_HEADER, *rows], right=range(5), screen=screen))
    return parts


def _job_row(use: JobUse) -> tuple[str, ...]:
    return (
        printable(use.name),
        f"{use.cpus:.2f}",
        "?" if use.waiting is None else f"{use.waiting:.2f}",
        f"{use.voluntary / use.seconds:.0f}",
        f"{use.involuntary / use.seconds:.0f}",
        "?" if use.memory is None else _memory_text(use.memory),
    )


def _node_row(node: int, counts: NodeAllocations, seconds: float) -> tuple[str, ...]:
    amounts = (counts.hit + counts.miss, counts.remote, counts.foreign, counts.miss)
    return (str(node), *(f"{amount / seconds:.0f}" for amount in amounts))


def _memory_text(nodes: Mapping[int, int]) -> str:
    return " ".join(f"{node}:{size_text(size)}" for node, size in nodes.items()) or "none"


def _row(process: Observation, report: AuditReport) -> tuple[str, ...]:
    pages = process.pages
    memory = "?" if pages is None else _memory_text(pages.nodes)
    return (
        str(process.pid),
        printable(process.name) or "?",
        str(len(process.threads)),
        "?" if process.cpus is None else cpuset_text(process.all_cpus),
        "?" if process.mems is None else cpuset_text(process.mems),
        memory,
        "?" if process.gpus is None else str(len(process.gpus)),
        str(sum(found.pid == process.pid for found in report.findings)),
    )


def _finding(found: AuditFinding, names: dict[int, str], screen: Screen) -> str:
    severity = screen.paint(found.severity, SEVERITIES[found.severity])
    subject = _subject(found, names)
    return "\n".join(
        [
            f"{severity} {found.code}: {CODES[found.code].title}",
            _wrapped(f"{subject}: {printable(found.sentence)}", "  ", "  ", screen),
            _wrapped(f"cure: {printable(found.cure)}", "  ", "        ", screen),
        ]
    )


def _subject(found: AuditFinding, names: dict[int, str]) -> str:
    subject = printable(found.subject)
    if found.pid is not None:
        name = printable(names.get(found.pid, ""))
        subject += f", process {found.pid}" + (f" ({name})" if name and name != found.subject else "")
    return subject


def _wrapped(text: str, first: str, later: str, screen: Screen) -> str:
    width = screen.width or WIDTH
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _summary(report: AuditReport) -> str:
    looked = len(report.processes)
    counts = [
        f"{count} {name}{'s' * (count != 1 and name != 'info')}"
        for name in ("error", "warning", "info")
        if (count := sum(found.severity == name for found in report.findings))
    ]
    processes = f"{looked} process{'es' * (looked != 1)} looked at" if looked else "no process to look at"
    return f"{processes}: {', '.join(counts) or 'nothing found'}"
