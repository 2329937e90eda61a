"""One thing that is wrong with a node, why, the safe way out, and what that costs."""

from typing import Literal

import msgspec

CONFIG_REFUSED = "config-refused"
TOPOLOGY_REFUSED = "topology-refused"
CPU_REFUSED = "cpu-refused"
MEMORY_REFUSED = "memory-refused"
CPU_STATE_REFUSED = "cpu-state-refused"
MEMORY_STATE_REFUSED = "memory-state-refused"
CAPACITY_EXCEEDED = "capacity-exceeded"
DEVICE_STATE_IGNORED = "device-state-ignored"
UNKNOWN_FIELD = "unknown-field"
NO_EFFECT = "no-effect"
RESERVATION_WRAPS = "reservation-wraps"
NOTHING_LEFT = "nothing-left"
CORES_SPLIT = "cores-split"
HELD_TWICE = "held-twice"
DEVICE_GONE = "device-gone"
NO_OWNER = "no-owner"
REJECTED_AT_START = "rejected-at-start"
CRASH_AT_START = "crash-at-start"

Gravity = Literal["error", "warning"]
"""`error`: the kubelet does not start, or crashes as it does. `warning`: it starts, but not as somebody expects."""


class Remedy(msgspec.Struct, frozen=True):
    why: str = ""
    cure: tuple[str, ...] = ()
    """Steps in order; a step that is a command can be typed."""
    cost: str = ""


class Diagnosis(msgspec.Struct, frozen=True):
    code: str
    severity: Gravity
    place: str
    """A file, or what of the configuration."""
    text: str
    """One sentence. For an error the kubelet's own words."""
    stage: str = ""
    """The kubelet's constructor or start call that fails."""
    details: tuple[str, ...] = ()
    why: str = ""
    cure: tuple[str, ...] = ()
    cost: str = ""
    line: int | None = None
    """Where the value stands in the file, if it is there; counted from 1, as the column."""
    column: int | None = None
