"""How one pod stands: where it sits, why its kubelet rejected it, or why it waits; a value for text and JSON."""

from typing import Literal

import msgspec

from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.fleet.look.seats import PodSeat
from numafit.fleet.waiting.why import WhyWaiting

PodStanding = Literal["runs", "coming", "rejected", "waits", "ended"]
"""`coming`: it is bound, and its node's report does not have it yet."""


class PodAccount(msgspec.Struct, frozen=True):
    name: str
    """namespace/name"""
    standing: PodStanding
    node: str = ""
    reason: str = ""
    """The kubelet's, of a pod that was rejected; its phase, of one that has ended."""
    message: str = ""
    """What the kubelet said, or the scheduler of a pod that waits."""
    policy: str = ""
    """The topology policy of its node, with the scope."""
    seat: PodSeat | None = None
    unknown: str = ""
    """Why it cannot be told where it sits, or what the engine would say."""
    decision: Decision | None = None
    """What its kubelet would decide as the node stands now, of a pod that was rejected."""
    engine: Node | None = None
    """The node of that decision."""
    since: str = ""
    """When it was made, as the API server writes it."""
    gates: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    """The nodes that the placer gave it to choose from."""
    best: tuple[str, ...] = ()
    """Nodes that would take it now, the best first."""
    why: WhyWaiting | None = None
    """Of a pod that waits."""
