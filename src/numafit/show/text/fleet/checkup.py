"""How the checkup of all nodes reads."""

from collections.abc import Sequence

from numafit.amounts import count_text
from numafit.errors import some_of
from numafit.fleet.look.findings import FleetCheckup, FleetFinding
from numafit.show.table import GOOD, PLAIN, SEVERITIES, Screen, aligned
from numafit.show.words import printable

MOST_NODES = 5


def fleet_checkup_text(checkup: FleetCheckup, screen: Screen = PLAIN) -> str:
    known = "all tell how they stand"
    if checkup.known != checkup.nodes:
        known = f"{checkup.known} tell{'s how it stands' if checkup.known == 1 else ' how they stand'}"
    parts = [f"{count_text(checkup.nodes, 'node')}, of which {known}."]
    if checkup.kubelets:
        rows: list[Sequence[str]] = [("NODES", "RELEASE", "CPU", "MEMORY", "TOPOLOGY", "SCOPE", "")]
        rows += [
            (str(len(own.nodes)), own.release, own.cpu, own.memory, own.topology, own.scope, some_of(own.nodes, 2))
            for own in checkup.kubelets
        ]
        parts.append(aligned(rows, {0}, screen))
    if not checkup.findings:
        parts.append(screen.paint("Nothing is wrong.", GOOD))
    parts += [_finding(number, own, screen) for number, own in enumerate(checkup.findings, 1)]
    return "\n\n".join(parts)


def _finding(number: int, own: FleetFinding, screen: Screen) -> str:
    finding = own.finding
    severity = screen.paint(finding.severity, SEVERITIES[finding.severity])
    where = f"{count_text(len(own.nodes), 'node')}: {some_of(own.nodes, MOST_NODES)}"
    lines = [f"{number}. {severity} {finding.code}: {where}", f"   {printable(finding.text)}"]
    if finding.cure:
        lines.append(f"   Way out: {finding.cure}")
    return "\n".join(lines)
