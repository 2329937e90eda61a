"""How a checkup reads: findings with their way out."""

from collections.abc import Sequence
from pathlib import Path

from numafit.advice.doctor.checkup import Checkup
from numafit.advice.doctor.diagnosis import Diagnosis
from numafit.advice.doctor.repair import Repair
from numafit.advice.doctor.state import holders
from numafit.settings.versions import KubeVersion
from numafit.show.records.checkup import WrittenRepairs
from numafit.show.table import BAD, GOOD, PLAIN, SEVERITIES, Screen
from numafit.show.text.unchecked import unchecked_lines


def checkup_text(
    checkup: Checkup,
    version: KubeVersion,
    written: WrittenRepairs = (),
    files: Sequence[str] = (),
    screen: Screen = PLAIN,
) -> str:
    bad = "would start and crash" if checkup.crashes else "would not start"
    starts = screen.paint("would start", GOOD) if checkup.starts else screen.paint(bad, BAD)
    parts = [f"The kubelet {version} {starts}."]
    if not checkup.findings:
        parts[0] += f" {_healthy(checkup, files)}"
    errors = [finding for finding in checkup.findings if finding.severity == "error"]
    if len(errors) > 1 and not checkup.crashes:
        parts[0] += f" It stops at the first of {len(errors)} errors; the others would come after its cure."
    parts += [_finding(number, finding, screen) for number, finding in enumerate(checkup.findings, 1)]
    if checkup.unchecked:
        parts.append("\n".join(unchecked_lines(checkup.unchecked)))
    parts += [_repair(made, path) for made, path in written]
    return "\n\n".join(parts)


def _healthy(checkup: Checkup, files: Sequence[str]) -> str:
    if not files:
        return "Its configuration fits the machine; no state files were looked at."
    pods = len(holders(checkup.ledger)) if checkup.ledger is not None else 0
    owners = (
        "no pod holds anything" if not pods else "1 pod stands in them" if pods == 1 else f"{pods} pods stand in them"
    )
    return f"Its configuration fits the machine, and so does its state ({', '.join(files)}): {owners}."


def _finding(number: int, finding: Diagnosis, screen: Screen) -> str:
    severity = screen.paint(finding.severity, SEVERITIES[finding.severity])
    lines = [f"{number}. {severity} {finding.code}: {_place(finding)}", f"   {finding.text}"]
    lines += [f"   - {detail}" for detail in finding.details]
    if finding.why:
        lines.append(f"   Why: {finding.why}")
    if len(finding.cure) == 1:
        lines.append(f"   Way out: {finding.cure[0]}")
    elif finding.cure:
        lines += ["   Way out:", *(f"     {i}. {step}" for i, step in enumerate(finding.cure, 1))]
    if finding.cost:
        lines.append(f"   Cost: {finding.cost}")
    return "\n".join(lines)


def _place(finding: Diagnosis) -> str:
    return ":".join(str(part) for part in (finding.place, finding.line, finding.column) if part is not None)


def _repair(made: Repair, path: Path | None) -> str:
    if path is None:
        return f"{made.name}: {made.problem}"
    lines = [f"Written: {path}", *(f"  - {change}" for change in made.changes)]
    if made.problem:
        lines.append(f"  but {made.problem}")
    if path.suffix == ".repaired":
        old = path.with_suffix("")
        lines += ["  With the kubelet stopped:", f"    $ cp {old} {old}.old && mv {path} {old}"]
    else:
        lines.append("  The old file is kept beside it. The kubelet must not run while files change under it.")
    return "\n".join(lines)
