"""What tells two states of a node apart: a digest of everything that decides, whatever the order of keys."""

import hashlib
from typing import Any

import msgspec

from numafit.cluster.topology.model import TopologyStatus

LENGTH = 32
"""Hexadecimal digits: 128 bits."""
APART = ("digest", "notes", "numafit", "summary")
"""What decides nothing, or follows from the rest."""


def machine_digest(machine: dict[str, Any]) -> str:
    """Of a machine file. `Any`: its values."""
    return _digest(machine)


def state_digest(status: TopologyStatus) -> str:
    fields = msgspec.to_builtins(status)
    # The description of the machine is long and stands here by its own digest.
    return _digest({name: value for name, value in fields.items() if name not in (*APART, "machine")})


def _digest(value: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:LENGTH]
