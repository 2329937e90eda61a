"""How an audit reads: a table of processes, and the findings with their cures."""

import textwrap

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.host.audit.codes import CODES, AuditFinding
from numafit.host.audit.survey import AuditReport
from numafit.host.process.observation import Observation
from numafit.show.table import PLAIN, SEVERITIES, Screen, aligned
from numafit.show.words import printable

WIDTH = 80
"""Of sentences, where no screen says otherwise."""
HEADER = ("PID", "PROGRAM", "THREADS", "CPUS", "NODES", "MEMORY PER NODE", "GPUS", "FOUND")


def audit_text(report: AuditReport, screen: Screen = PLAIN) -> str:
    parts = []
    if report.processes:
        parts.append(aligned([HEADER, *(_row(process, report) for process in report.processes)], screen=screen))
    names = {process.pid: process.name for process in report.processes}
    parts += [_finding(found, names, screen) for found in report.findings]
    if report.unseen:
        unseen = (_wrapped(printable(line), "  - ", "    ", screen) for line in report.unseen)
        parts.append("\n".join(["Not seen:", *unseen]))
    return "\n\n".join([*parts, _summary(report)])


def _row(process: Observation, report: AuditReport) -> tuple[str, ...]:
    pages = process.pages
    memory = "?" if pages is None else " ".join(f"{node}:{size_text(size)}" for node, size in pages.nodes.items())
    return (
        str(process.pid),
        printable(process.name) or "?",
        str(len(process.threads)),
        "?" if process.cpus is None else cpuset_text(process.all_cpus),
        "?" if process.mems is None else cpuset_text(process.mems),
        memory or "none",
        "?" if process.gpus is None else str(len(process.gpus)),
        str(sum(found.pid == process.pid for found in report.findings)),
    )


def _finding(found: AuditFinding, names: dict[int, str], screen: Screen) -> str:
    severity = screen.paint(found.severity, SEVERITIES[found.severity])
    subject = printable(found.subject)
    if found.pid is not None:
        name = printable(names.get(found.pid, ""))
        subject += f", process {found.pid}" + (f" ({name})" if name and name != found.subject else "")
    return "\n".join(
        [
            f"{severity} {found.code}: {CODES[found.code].title}",
            _wrapped(f"{subject}: {printable(found.sentence)}", "  ", "  ", screen),
            _wrapped(f"cure: {printable(found.cure)}", "  ", "        ", screen),
        ]
    )


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
    return f"{looked} process{'es' * (looked != 1)} looked at: {', '.join(counts) or 'nothing found'}"
