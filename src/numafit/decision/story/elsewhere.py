"""Why not here? What each merge of a decision says of one NUMA node that somebody has in mind.

Read off the hints that the merge saw: which resources offer this node alone, and what the merge took instead. `words`
of it are in `elsewhere_words`.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.bits import members
from numafit.decision.decision import Decision, MergeStep
from numafit.decision.node import Node
from numafit.decision.story.cause import cause_of
from numafit.decision.story.claims import Admitted
from numafit.decision.story.grid import Cell, Row, grid_of
from numafit.decision.story.supply import supply_of
from numafit.ledger.ledger import Hint
from numafit.managers.ask import Ask, ask_of
from numafit.managers.topology.hint import HintFamily, HintList
from numafit.managers.topology.hint_order import distance_sum

MergeStanding = Literal["taken", "refused", "among", "open", "short", "not-preferred", "other-number", "farther"]
"""How a merge stands to the node.

`taken`: it ends with just this node. `refused`: it does, and the policy refuses it. `among`: it ends with several nodes
of which this is one. `open`: no manager cares where. `short`: a resource does not offer this node alone.
`not-preferred`: all offer it, and not all prefer it, while the merge found what all prefer. `other-number`: all prefer
it as much as the one that is taken, which has the lower number. `farther`: the same, and the other has the shorter
distance, which prefer-closest-numa-nodes asks for first.
"""


class Here(msgspec.Struct, frozen=True):
    """One resource on this node, in base units."""

    resource: str
    needed: int
    free: int
    allocatable: int
    """What the node could give to containers with nobody on it."""
    offered: bool
    """Its manager has a hint of this node alone, or does not care where."""
    preferred: bool
    fits: bool
    """It could be had here alone, by all rules of its manager."""
    grouped: bool = False
    """Enough bytes are free, but memory of this node is given only across a group of nodes."""
    held: Mapping[str, int] = {}
    """Who holds some of it here, by namespace/name."""


class MergeHere(msgspec.Struct, frozen=True):
    container: str
    """Empty in the pod scope."""
    standing: MergeStanding
    best: Hint
    """What the merge ends with."""
    admit: bool
    resources: tuple[Here, ...]


class Elsewhere(msgspec.Struct, frozen=True):
    numa: int
    policy: str
    admitted: bool
    nodes: tuple[int, ...]
    """Where the pod lies; empty where it holds nothing of a NUMA node, or is refused."""
    merges: tuple[MergeHere, ...]
    """Empty where none was made: the policy is none, or the pod was refused before."""


def elsewhere_of(node: Node, decision: Decision, numa: int) -> Elsewhere:
    ask = ask_of(decision.pod, node.settings)
    cause = cause_of(node, decision, ask)
    nodes = tuple(members(cause.nodes)) if isinstance(cause, Admitted) else ()
    merges = tuple(_merge(node, ask, step, numa) for step in decision.merges or ())
    return Elsewhere(numa, node.topology.policy, decision.admitted, nodes, merges)


def _merge(node: Node, ask: Ask, step: MergeStep, numa: int) -> MergeHere:
    hints = {name: found for own in step.providers for name, found in (own or {}).items()}
    supply = supply_of(node, ask, step)
    rows = {row.resource: row for row in grid_of(node, ask, step)}
    here = []
    for resource, listed in hints.items():
        if listed is None:
            continue
        offered, preferred = _stand(listed, 1 << numa)
        row = rows.pop(resource, Row(resource, 0, ()))
        cell = _cell(row, numa)
        grouped = bool(supply.grouped({resource: row.needed}) >> numa & 1)
        fits = cell.fits and offered
        told = Here(resource, row.needed, cell.free, cell.allocatable, offered, preferred, fits, grouped, cell.held)
        here.append(told)
    for row in rows.values():
        cell = _cell(row, numa)
        here.append(Here(row.resource, row.needed, cell.free, cell.allocatable, True, True, cell.fits, held=cell.held))
    return MergeHere(step.container, _standing(node, step, here, numa), step.best, step.admit, tuple(here))


def _cell(row: Row, numa: int) -> Cell:
    return next((cell for cell in row.cells if cell.numa == numa), Cell(numa, 0, 0))


def _stand(hints: tuple[Hint, ...] | HintFamily, mask: int) -> tuple[bool, bool]:
    """Whether the node alone is offered, and whether it is preferred."""
    if isinstance(hints, HintFamily):
        return hints.holds(mask), hints.holds(mask) and hints.preferred(mask)
    own = [preferred for offered, preferred in hints if offered is None or offered == mask]
    return bool(own), any(own)


def _standing(node: Node, step: MergeStep, here: list[Here], numa: int) -> MergeStanding:
    mask, preferred = step.best
    if _is_open(step):
        return "open"
    if mask == 1 << numa or (mask is None and step.admit):
        # single-numa-node keeps no mask where the machine has one NUMA node only.
        return "taken" if step.admit else "refused"
    if any(not each.offered for each in here):
        return "among" if mask and mask >> numa & 1 and step.admit else "short"
    if any(not each.preferred for each in here) and (preferred or mask is None):
        return "not-preferred"
    # A node that all offer has competitors of one node only, whether preferred or not.
    distances = node.topology.distances
    near = mask is None or distances is None or distance_sum(1 << numa, distances) == distance_sum(mask, distances)
    return "other-number" if near else "farther"


def _is_open(step: MergeStep) -> bool:
    lists: list[HintList] = [hints for own in step.providers for hints in (own or {}).values()]
    return all(hints is None or (not isinstance(hints, HintFamily) and (None, True) in hints) for hints in lists)
