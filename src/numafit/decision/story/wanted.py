"""What a refusal wanted that no merge made: on each NUMA node what is free, and what of it the refusal was for.

Without a merge nobody asks a NUMA node for all of it: what counts is the sum, or is no amount at all.
"""

import msgspec
from msgspec.structs import replace

from numafit.decision.decision import Decision, ManagerRefused, MergeStep, NodeShort, NothingToEvict, Unsuited
from numafit.decision.node import Node
from numafit.decision.story.grid import Namer, Row, grid_of
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import Ask
from numafit.managers.cpu.manager import CPU
from numafit.managers.device.manager import without_stale
from numafit.managers.protocol import Choices
from numafit.managers.refused import (
    AllocationRefused,
    BudgetUsedUp,
    CpusNotPicked,
    CpusShort,
    MemoryGroups,
    MemoryNotPreferred,
    NoMemoryPlace,
    NoMemoryRequest,
    NotInt64,
    NoWiderMemory,
    OddCpus,
    WholeCoresShort,
)

MEMORY = "memory"


class Wanted(msgspec.Struct, frozen=True):
    rows: tuple[Row, ...]
    """`fits` says nothing here: no NUMA node is asked for all of it."""
    stops: tuple[str, ...]
    """The resources for which the pod was refused, with or without a row; empty where it was for none."""


def wanted_of(node: Node, decision: Decision, ask: Ask, named: Namer | None = None) -> Wanted | None:
    """None where it was not refused, or a merge tells all of it."""
    cause = decision.cause
    if decision.admitted or decision.resize:
        return None
    if isinstance(cause, ManagerRefused):
        names = _resources_of(cause.cause)
        step = _step(decision, cause.container, decision.ledger)
        rows = tuple(row for row in grid_of(node, ask, step, named) if row.resource in names)
        return Wanted(rows, names)
    if not isinstance(cause, NodeShort | NothingToEvict | Unsuited):
        return None
    short = () if isinstance(cause, Unsuited) else decision.short
    asked = {each.resource: each.asked for each in short}
    if CPU in asked:
        asked[CPU] = -(-asked[CPU] // 1000)
    first = decision.merges[0].ledger if decision.merges else _without_own(node, decision.ledger)
    rows = grid_of(node, ask, MergeStep("", (), (None, True), False, first), named)
    return Wanted(tuple(replace(row, needed=asked.get(row.resource, row.needed)) for row in rows), tuple(asked))


def _step(decision: Decision, container: str, ledger: Ledger) -> MergeStep:
    """The last merge is that of the container; without one the manager met what its earlier containers left."""
    return decision.merges[-1] if decision.merges else MergeStep(container, (), (None, True), False, ledger)


def _without_own(node: Node, ledger: Ledger) -> Ledger:
    """The pod was let in by the managers, and is not active any more."""
    ledger = without_stale(node.cpu.without_stale(ledger))
    return ledger if node.memory is None else node.memory.without_stale(ledger, Choices())


def _resources_of(cause: AllocationRefused) -> tuple[str, ...]:
    if isinstance(cause, OddCpus | WholeCoresShort | CpusShort | CpusNotPicked):
        return (CPU,)
    if isinstance(cause, NotInt64):
        return (MEMORY,)
    if isinstance(cause, BudgetUsedUp):
        return (cause.resource,)
    if isinstance(cause, NoMemoryPlace | NoMemoryRequest | MemoryNotPreferred | NoWiderMemory | MemoryGroups):
        return tuple(sorted(cause.needs))
    return (cause.resource,)
