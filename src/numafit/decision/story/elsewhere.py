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
from numafit.decision.story.supply import Supply, supply_of
from numafit.ledger.ledger import Hint
from numafit.managers.ask import Ask, ask_of, is_memory
from numafit.managers.cpu.manager import CPU
from numafit.managers.topology.hint import HintFamily, HintList
from numafit.managers.topology.hint_order import distance_sum

MergeStanding = Literal["taken", "refused", "among", "open", "short", "not-preferred", "other-number", "farther"]
"""How a merge stands to the node.

`taken`: it ends with just this node. `refused`: it does, and the policy refuses it. `among`: it ends with several nodes
of which this is one. `open`: no manager cares where. `short`: a resource cannot be had of this node alone.
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
    bound: Literal["", "held", "reused"] = ""
    """Why it is not offered here whatever is free: it is held elsewhere from before, or some that init containers of
    the pod leave lies elsewhere and has to be used again."""

    @property
    def lacking(self) -> bool:
        """A manager that finds memory nowhere gives no hints, and a merge takes that for "anywhere". That CPUs are
        whole cores is looked at after the merge. Devices that nobody has hints for lie on no node."""
        return not self.offered or (not self.fits and (self.resource == CPU or is_memory(self.resource)))


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
        # What memory can be had is what its hints say: init containers leave some.
        fits = offered and (cell.fits or is_memory(resource))
        bound = "" if offered else _bound(supply, resource, numa)
        amounts = (resource, row.needed, cell.free, cell.allocatable)
        here.append(Here(*amounts, offered, preferred, fits, grouped, cell.held, bound))
    for row in rows.values():
        cell = _cell(row, numa)
        fits = cell.fits or supply.holds(row.resource)
        grouped = bool(supply.grouped({row.resource: row.needed}) >> numa & 1)
        amounts = (row.resource, row.needed, cell.free, cell.allocatable)
        here.append(Here(*amounts, True, True, fits, grouped, cell.held))
    return MergeHere(step.container, _standing(node, step, here, numa), step.best, step.admit, tuple(here))


def _bound(supply: Supply, resource: str, numa: int) -> Literal["", "held", "reused"]:
    if supply.holds(resource):
        return "held"
    cpu = supply.ledger.cpu
    if resource == CPU and supply.container and cpu.reuse_pod == supply.ask.pod.uid:
        elsewhere = cpu.reuse & ~supply.node.cpu.topology.numa_nodes.get(numa, 0)
        return "reused" if elsewhere else ""
    device = supply.ledger.device
    if resource != CPU and not is_memory(resource) and supply.container and device.reuse_pod == supply.ask.pod.uid:
        known = device.devices.get(resource, {})
        left = [known[name].numa or () for name in device.reuse.get(resource, ()) if name in known]
        return "reused" if any(numa not in own for own in left) else ""
    return ""


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
    lacking = any(each.lacking for each in here)
    if _is_open(step):
        return "short" if lacking else "open"
    if mask == 1 << numa or (mask is None and step.admit):
        # single-numa-node keeps no mask where the machine has one NUMA node only.
        return "taken" if step.admit else "refused"
    if lacking:
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
