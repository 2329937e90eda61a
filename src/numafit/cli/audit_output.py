"""How an audit reads: a table of processes, the findings with their cures, and JSON for programs."""

import textwrap
from collections.abc import Iterator

import msgspec

from numafit.host.audit_codes import CODES, Finding
from numafit.host.observe import Observation
from numafit.host.survey import Report
from numafit.machine.bits import cpuset_text
from numafit.machine.draw.words import printable, size_text

WIDTH = 80
HEADER = ("PID", "PROGRAM", "THREADS", "CPUS", "NODES", "MEMORY PER NODE", "GPUS", "FOUND")
_WIDEST = (10, 14, 7, 12, 7, 22, 4, 5)
"""The widths come to 80 at most; longer text is cut."""


def audit_text(report: Report) -> str:
    parts = []
    if report.processes:
        parts.append("\n".join(_table(report)))
    names = {process.pid: process.name for process in report.processes}
    parts += [_finding(found, names) for found in report.findings]
    if report.unseen:
        parts.append("\n".join(["Not seen:", *(_wrapped(printable(line), "  - ", "    ") for line in report.unseen)]))
    return "\n\n".join([*parts, _summary(report)])


def audit_json(report: Report) -> str:
    value = {
        "findings": report.findings,
        "processes": [_process(process) for process in report.processes],
        "promises": [
            {
                "name": promise.name,
                "pids": promise.pids,
                "cpus": cpuset_text(promise.cpus),
                "mems": cpuset_text(promise.mems),
                "devices": promise.devices,
                "exclusive": promise.exclusive,
            }
            for promise in report.promises
        ],
        "unseen": report.unseen,
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _process(process: Observation) -> dict[str, object]:
    """Sets as lists of ids, such as `0-3,8`; amounts in bytes; null for what was not seen."""
    pages, cpuset = process.pages, process.cpuset
    return {
        "pid": process.pid,
        "name": process.name,
        "user": process.user,
        "command": process.command,
        "cpus": _set(process.cpus),
        "mems": _set(process.mems),
        "threads": [
            {"id": thread.id, "cpus": cpuset_text(thread.cpus), "lastCpu": thread.last_cpu}
            for thread in process.threads
        ],
        "cpuset": None
        if cpuset is None
        else {
            "version": cpuset.version,
            "path": cpuset.path,
            "cpus": cpuset_text(cpuset.cpus),
            "mems": cpuset_text(cpuset.mems),
        },
        "pages": None
        if pages is None
        else {
            "bytes": {str(node): amount for node, amount in pages.nodes.items()},
            "fileBytes": {str(node): amount for node, amount in pages.file_nodes.items()},
            "policies": pages.policies,
            "mappings": pages.mappings,
        },
        "gpus": process.gpus,
        "unseen": process.unseen,
    }


def _set(mask: int | None) -> str | None:
    return None if mask is None else cpuset_text(mask)


def _table(report: Report) -> Iterator[str]:
    rows = [HEADER, *(_row(process, report) for process in report.processes)]
    widths = [min(max(len(row[place]) for row in rows), widest) for place, widest in enumerate(_WIDEST)]
    for row in rows:
        cells = [_cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True)]
        yield _cut(" ".join(cells).rstrip(), WIDTH)


def _row(process: Observation, report: Report) -> tuple[str, ...]:
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


def _finding(found: Finding, names: dict[int, str]) -> str:
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


def _summary(report: Report) -> str:
    looked = len(report.processes)
    counts = [
        f"{count} {name}{'s' * (count != 1 and name != 'info')}"
        for name in ("error", "warning", "info")
        if (count := sum(found.severity == name for found in report.findings))
    ]
    return f"{looked} process{'es' * (looked != 1)} looked at: {', '.join(counts) or 'nothing found'}"
