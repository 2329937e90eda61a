"""What is wrong with nodes: equal findings on several nodes are one."""

from collections.abc import Iterable
from typing import Literal

import msgspec

FindingSeverity = Literal["error", "warning", "info"]
SEVERITIES: tuple[FindingSeverity, ...] = ("error", "warning", "info")


class NodeFinding(msgspec.Struct, frozen=True):
    code: str
    severity: FindingSeverity
    text: str
    """A sentence that holds for each node it is found on: it names none."""
    cure: str = ""


class FleetFinding(msgspec.Struct, frozen=True):
    finding: NodeFinding
    nodes: tuple[str, ...]


def grouped(found: Iterable[tuple[str, NodeFinding]]) -> tuple[FleetFinding, ...]:
    """Of (node, finding): errors first, then what most nodes have, then by code and text."""
    nodes: dict[NodeFinding, set[str]] = {}
    for name, finding in found:
        nodes.setdefault(finding, set()).add(name)
    groups = [FleetFinding(finding, tuple(sorted(names))) for finding, names in nodes.items()]
    return tuple(sorted(groups, key=_order))


def _order(group: FleetFinding) -> tuple[int, int, str, str]:
    own = group.finding
    return SEVERITIES.index(own.severity), -len(group.nodes), own.code, own.text
