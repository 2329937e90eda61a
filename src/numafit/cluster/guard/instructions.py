"""What is to be done about the pods of an owner: what the rules say, and others do."""

from typing import Literal

import msgspec

from numafit.cluster.guard.record import LoopRecord
from numafit.cluster.live.pods import ClusterPod


class Explanation(msgspec.Struct, frozen=True):
    """To be told of a pod that was rejected."""

    pod: ClusterPod
    record: LoopRecord | None = None
    """Of its owner, where that can be held."""


class HoldBegun(msgspec.Struct, frozen=True):
    owner: str
    record: LoopRecord


class HoldEnded(msgspec.Struct, frozen=True):
    owner: str
    record: LoopRecord
    why: str


LetGoCause = Literal["engine", "patience", "running", "doubt", "end"]
"""Why a pod is let go: a node can take it; it waited long enough; another one of its owner runs; there is no loop yet;
nobody holds it any more."""


class NotHeld(msgspec.Struct, frozen=True):
    """A pod of an owner that is held was made without the gate."""

    pod: ClusterPod


class LetGo(msgspec.Struct, frozen=True):
    """The pod loses our gate."""

    pod: ClusterPod
    cause: LetGoCause
    why: str
    nodes: tuple[str, ...] = ()
    """Where the engine found a place for it, the best first."""


class Remember(msgspec.Struct, frozen=True):
    owner: str
    record: LoopRecord | None
    """None: nothing is known of it any more."""
    armed: bool = False


Instruction = Explanation | HoldBegun | HoldEnded | LetGo | NotHeld | Remember
