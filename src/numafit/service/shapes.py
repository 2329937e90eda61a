"""The shapes of what GET operations answer, where no other room has them."""

from typing import Any

import msgspec

from numafit.service.history import Summary
from numafit.service.shown import Kind


class CatalogueEntry(msgspec.Struct, frozen=True):
    name: str
    title: str


class MachineAnswer(msgspec.Struct, frozen=True):
    """`machine` is a machine file, as `numafit machine show -o json` prints it."""

    machine: dict[str, Any]
    name: str
    source: Kind
    catalogue: tuple[CatalogueEntry, ...]


class CatalogueMachine(msgspec.Struct, frozen=True):
    machine: dict[str, Any]


class OneDecision(Summary, frozen=True, kw_only=True):
    story: msgspec.Raw
    """As `numafit explain -o json` tells it; null where nothing was decided, as at a release."""
    ledger: msgspec.Raw
    """How things stood after it."""


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    status: str
    """`ok`, or `waiting` while the node has not been read yet."""
    problem: str = ""
    """Why the node cannot be read at the moment (shown is the last that could be), or what is doubtful about it."""
