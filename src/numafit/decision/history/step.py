"""A decision in a run: at what the kubelet made it, from what, and how the node stood after it."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.protocol import Draw

StepEvent = Literal["add", "restart", "evict", "resize"]
"""At what the kubelet decides: a pod that comes, its own start, a critical pod that needs the place, a resize."""


class Step(msgspec.Struct, frozen=True):
    decision: Decision
    ledger: Ledger
    """After the decision, and after the containers of an admitted pod have started."""
    before: Ledger | None = None
    """What the decision was made from; None while the kubelet restarts."""
    draws: tuple[Draw, ...] = ()
    """What was left to chance in it."""
    event: StepEvent = "add"
    node: Node | None = None
    """The node that decided, where it is another than at the beginning of the run."""


def with_evictions(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Those who went for a critical pod stand before it, each with a decision of its own."""
    found: list[Step] = []
    for step in steps:
        for victim in step.decision.evicted:
            found.append(Step(victim, victim.ledger, step.before, (), "evict", step.node))
        found.append(step)
    return tuple(found)
