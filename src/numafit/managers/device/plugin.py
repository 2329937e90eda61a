"""A device plugin as the device manager meets it: which devices it prefers, and what its Allocate answers.

A plugin that is really there is a `Plugin` whose answers come from it.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.errors import KubeletError
from numafit.ledger.files.allocate_response import nvidia_response
from numafit.machine.gpu_sets import GpuPairs, pairs_of, preferred_sets
from numafit.machine.model import Machine

NVIDIA_GPU = "nvidia.com/gpu"

Preference = Literal["none", "first", "last", "short", "error", "near"]
"""`none`: GetPreferredAllocation is not offered. `first` and `last`: the lexicographically smallest or largest of what
is available. `short`: as `first`, with one device too few. `error`: the call fails. `near`: what NVIDIA's plugin
prefers."""

ResponseKind = Literal["nvidia", "empty"]


class PluginError(KubeletError):
    """The plugin's own error text."""


class Plugin(msgspec.Struct, frozen=True):
    preference: Preference = "none"
    response: ResponseKind = "empty"
    allocate_error: str = ""
    """Allocate fails with this text."""
    minors: Mapping[str, int] = {}
    """Device id -> the number of its device node; for the response of NVIDIA's plugin."""
    pairs: GpuPairs | None = None
    """How near the GPUs are to each other; for `near`."""

    def answers(self, available: frozenset[str], must_include: frozenset[str], size: int) -> Iterator[tuple[str, ...]]:
        """What it may answer to GetPreferredAllocation, as the devices are offered in any order."""
        if self.preference == "error":
            raise PluginError("preferred allocation refused")
        if self.preference == "near":
            yield from self._near(available, must_include, size)
            return
        rest = sorted(available - must_include, reverse=self.preference == "last")
        answer = (sorted(must_include) + rest)[:size]
        if self.preference == "short" and len(answer) > 1:
            answer.pop()
        yield tuple(answer)

    def _near(self, available: frozenset[str], must_include: frozenset[str], size: int) -> Iterator[tuple[str, ...]]:
        """The first answer is that for GPUs in the order in which the machine lists them."""
        if self.pairs is None:
            yield ()
            return
        gpus = [gpu.id for gpu in self.pairs.gpus]
        offered = [i for i, gpu in enumerate(gpus) if gpu in available]
        required = [i for i, gpu in enumerate(gpus) if gpu in must_include]
        for chosen in preferred_sets(self.pairs, size, offered, required):
            yield tuple(gpus[i] for i in chosen)

    def allocate(self, ids: frozenset[str]) -> bytes:
        """The ContainerAllocateResponse as protobuf."""
        if self.allocate_error:
            raise PluginError(self.allocate_error)
        if self.response == "empty":
            return b""
        return nvidia_response(ids, self.minors)

    def pre_start(self, ids: frozenset[str]) -> None:
        """PreStartContainer, where the plugin wants that call; raises PluginError where it fails."""


def plugins_of(machine: Machine) -> dict[str, Plugin]:
    """One plugin for each resource of the machine: NVIDIA's for its GPUs, for others one that prefers nothing."""
    plugins: dict[str, Plugin] = {}
    for device in machine.devices:
        if device.resource and device.resource not in plugins:
            plugins[device.resource] = _plugin_for(device.resource, machine)
    return plugins


def _plugin_for(resource: str, machine: Machine) -> Plugin:
    if resource != NVIDIA_GPU:
        return Plugin()
    own = tuple(replace(device, kind="gpu") for device in machine.devices if device.resource == resource)
    minors = {device.id: i for i, device in enumerate(own)}
    return Plugin("near", "nvidia", minors=minors, pairs=pairs_of(replace(machine, devices=own)))
