"""What the agent tells, where no other record has it: the machine, its decisions, events, health and metrics."""

from typing import Any, Literal

import msgspec

from numafit.notes import Note
from numafit.show.records.alignment import AlignmentRecord
from numafit.show.records.measure import MeasuredAnswer
from numafit.show.records.node import NodeKind


class Summary(msgspec.Struct, frozen=True):
    """One line of the story. `kind` is `pod`, `lease` or `release`."""

    id: int
    time: str
    pod: str
    kind: str
    admitted: bool
    reason: str
    message: str
    sentence: str
    cpus: str
    nodes: tuple[int, ...]
    guess: bool = False
    """A guess about the machine matters to it, as its notes tell."""
    alignment: AlignmentRecord | None = None
    """How it came to lie; null for who was refused or has gone."""


class Page(msgspec.Struct, frozen=True):
    decisions: tuple[Summary, ...]
    next: int | None
    """Ask with `before` this id for older ones; null: there are none."""


class CatalogueEntry(msgspec.Struct, frozen=True):
    name: str
    title: str


class MachineAnswer(msgspec.Struct, frozen=True):
    """`machine` is a machine file, as `numafit machine show -o json` prints it. `measured` is what `numafit measure`
    kept of this host; it is left out where there is nothing."""

    machine: dict[str, Any]
    name: str
    source: NodeKind
    catalogue: tuple[CatalogueEntry, ...]
    measured: MeasuredAnswer | msgspec.UnsetType = msgspec.UNSET


class CatalogueMachine(msgspec.Struct, frozen=True):
    machine: dict[str, Any]


class OneDecision(Summary, frozen=True, kw_only=True):
    story: msgspec.Raw
    """As `numafit explain -o json` tells it; null where nothing was decided, as at a release."""
    ledger: msgspec.Raw
    """How things stood after it."""
    notes: tuple[Note, ...] = ()
    """What the decision stands on."""
    manifest: str = ""
    """A pod that asks for the same of the kubelet's managers, as YAML; empty where nothing was decided."""


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    status: str
    """`ok`, or `waiting` while the node has not been read yet."""
    problem: str = ""
    """Why the node cannot be read at the moment (shown is the last that could be), or what is doubtful about it."""


class Hello(msgspec.Struct, frozen=True):
    """The first event of a stream: which revision is shown, and what is doubtful about it."""

    revision: int
    problem: str


class Doubt(msgspec.Struct, frozen=True):
    """The event `problem`. Empty: all is well again."""

    problem: str


class Metric(msgspec.Struct, frozen=True):
    name: str
    type: Literal["counter", "gauge", "untyped"]
    labels: tuple[str, ...]
    help: str


class MetricsAnswer(msgspec.Struct, frozen=True):
    """What the agent measures, as `numafit metrics list -o json` prints it."""

    metrics: tuple[Metric, ...]
