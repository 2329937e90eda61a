"""How an audit reads: a table of processes, and the findings with their cures."""

import textwrap
from collections.abc import Iterator

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.host.audit.codes import CODES, AuditFinding
from numafit.host.audit.survey import AuditReport
from numafit.host.process.observation import Observation
from numafit.show.words import printable

WIDTH = 80
HEADER = ("PID", "PROGRAM", "THREADS", "CPUS", "NODES", "MEMORY PER NODE", "GPUS", "FOUND")
_WIDEST = (10, 14, 7, 12, 7, 22, 4, 5)
"""The widths come to 80 at most; longer text is cut."""


def audit_text(report: AuditReport) -> str:
    parts = []
    if report.processes:
        parts.append("\n".join(_table(report)))
    names = {process.pid: process.name for process in report.processes}
    parts += [_finding(found, names) for found in report.findings]
    if report.unseen:
        parts.append("\n".join(["Not seen:", *(_wrapped(printable(line), "  - ", "    ") for line in report.unseen)]))
    return "\n\n".join([*parts, _summary(report)])


def _table(report: AuditReport) -> Iterator[str]:
    rows = [HEADER, *(_row(process, report) for process in report.processes)]
    widths = [min(max(len(row[place]) for row in rows), widest) for place, widest in enumerate(_WIDEST)]
    for row in rows:
        cells = [_cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True)]
        yield _cut(" ".join(cells).rstrip(), WIDTH)


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


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _finding(found: AuditFinding, names: dict[int, str]) -> str:
    subject = printable(found.subject)
    if found.pid is not None:
        name = printable(names.get(found.pid, ""))
        subject += f", process {found.pid}" + (f" ({name})" if name and name != found.subject else "")
    return "\n".join(
        [
            _wrapped(f"{found.severity} {found.code}: {CODES[found.code].title}", "", "  "),
            _wrapped(f"{subject}: {printable(found.sentence)}", "  ", "  "),
            _wrapped(f"cure: {printable(found.cure)}", "  ", "        "),
        ]
    )


def _wrapped(text: str, first: str, later: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _summary(report: AuditReport) -> str:
    looked = len(report.processes)
    counts = [
        f"{count} {name}{'s' * (count != 1 and name != 'info')}"
        for name in ("error", "warning", "info")
        if (count := sum(found.severity == name for found in report.findings))
    ]
    return f"{looked} process{'es' * (looked != 1)} looked at: {', '.join(counts) or 'nothing found'}"
