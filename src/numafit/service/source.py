"""Where the node that is shown comes from: a place, and what happens there."""

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

import msgspec

from numafit.advice.stage import Stage
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.service.shown import Place
from numafit.service.view import Known


class Happened(msgspec.Struct, frozen=True):
    """Something to tell: a decision of the engine, or what could be seen of one from outside."""

    kind: Literal["pod", "lease", "release"]
    name: str
    sentence: str
    decision: Decision | None = None
    uid: str = ""
    refused: bool = False
    reason: str = ""
    """Of a refusal that is known without its decision."""


class Seen(msgspec.Struct, frozen=True):
    """What the view is made from, where that is not the node that questions are asked."""

    node: Node
    ledger: Ledger


class Change(msgspec.Struct, frozen=True):
    stage: Stage
    """With the ledger after it."""
    known: Mapping[str, Known]
    happened: Happened | None = None
    seen: Seen | None = None
    warning: str = ""
    """What is doubtful about what was read."""
    findings: Mapping[str, int] | None = None
    """Of an audit: code -> how many; None: there was none."""


class Source(Protocol):
    place: Place

    def changes(self) -> AsyncIterator[Change]:
        """The first one says how things stand. It waits for what happens, and ends only when it is closed."""
        ...
