"""A device plugin as the device manager meets it: which devices it prefers, and what its Allocate answers."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.errors import KubeletError
from numafit.ledger.device_response import nvidia_response

Preference = Literal["none", "first", "last", "short", "error"]
"""`none`: GetPreferredAllocation is not offered. `first` and `last`: the lexicographically smallest or largest of what
is available. `short`: as `first`, with one device too few. `error`: the call fails."""

Response = Literal["nvidia", "empty"]


class PluginError(KubeletError):
    """The plugin's own error text."""


class Plugin(msgspec.Struct, frozen=True):
    preference: Preference = "none"
    response: Response = "empty"
    allocate_error: str = ""
    """Allocate fails with this text."""
    minors: Mapping[str, int] = {}
    """Device id -> the number of its device node; for the response of NVIDIA's plugin."""

    def prefer(self, available: frozenset[str], must_include: frozenset[str], size: int) -> tuple[str, ...]:
        if self.preference == "error":
            raise PluginError("preferred allocation refused")
        rest = sorted(available - must_include, reverse=self.preference == "last")
        answer = (sorted(must_include) + rest)[:size]
        if self.preference == "short" and len(answer) > 1:
            answer.pop()
        return tuple(answer)

    def allocate(self, ids: frozenset[str]) -> bytes:
        """The ContainerAllocateResponse as protobuf."""
        if self.allocate_error:
            raise PluginError(self.allocate_error)
        return nvidia_response(ids, self.minors) if self.response == "nvidia" else b""
