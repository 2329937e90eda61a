"""Which devices of one resource a container gets.

Taking an id marks it as allocated at once, and nothing takes that back when a later step of the same pick fails: the
kubelet leaves such ids blocked, owned by nobody, until it makes its sets anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from numafit.managers.device.plugin import PluginError
from numafit.managers.protocol import Call, PluginCall, Refusal
from numafit.managers.refused import (
    DeviceCountChanged,
    DevicesNotPicked,
    DevicesShort,
    HeldDevicesUnhealthy,
    NoHealthyDevices,
    NoPlugin,
    PluginFailed,
)

if TYPE_CHECKING:
    from numafit.managers.device.manager import DeviceManager


DeviceIds = frozenset[str]
NumaIds = tuple[int, ...]
NOWHERE = -1


class DevicePick:
    """One pick. `taken` grows; the ledger of the call follows it."""

    def __init__(self, manager: DeviceManager, call: Call, container: str, resource: str, wanted: int) -> None:
        self.manager = manager
        self.call = call
        self.container = container
        self.resource = resource
        self.wanted = wanted
        self.taken: list[str] = []

    @property
    def missing(self) -> int:
        return self.wanted - len(self.taken)

    def run(self) -> Refusal | None:
        """The taken ids are right only if nothing is refused."""
        ledger = self.call.ledger.device
        resources = ledger.held.get(self.call.ask.pod.uid, {}).get(self.container, {})
        owned = resources[self.resource].ids if self.resource in resources else None
        if owned is not None and len(owned) != self.wanted:
            return Refusal(
                f'pod "{self.call.ask.pod.uid}" container "{self.container}" changed request for resource '
                f'"{self.resource}" from {len(owned)} to {self.wanted}',
                DeviceCountChanged(self.resource, self.wanted, len(owned)),
            )
        needed = 0 if owned is not None else self.wanted
        if self._keeps_running():
            return None
        refusal = self._check_health(owned or frozenset(), needed)
        if refusal is not None or needed == 0:
            return refusal
        return self._take_needed()

    def _keeps_running(self) -> bool:
        """While the kubelet restarts, a container that runs needs nothing."""
        ledger = self.call.ledger
        running = (self.call.ask.pod.uid, self.container) in ledger.running
        return self.manager.behaviour.device_keeps_running and not ledger.ready and running

    def _check_health(self, owned: DeviceIds, needed: int) -> Refusal | None:
        resource = self.resource
        healthy = self.call.ledger.device.healthy.get(resource)
        if not self.manager.behaviour.device_health_checks:
            if needed and healthy is None:
                return Refusal(f"can't allocate unregistered device {resource}", NoPlugin(resource))
            return None
        if healthy is None:
            return Refusal(f"cannot allocate unregistered device {resource}", NoPlugin(resource))
        if not healthy:
            return Refusal(
                f"no healthy devices present; cannot allocate unhealthy devices {resource}", NoHealthyDevices(resource)
            )
        if not owned <= healthy:
            return Refusal(
                f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}",
                HeldDevicesUnhealthy(resource, tuple(sorted(owned - healthy))),
            )
        return None

    def _take_needed(self) -> Refusal | None:
        ledger = self.call.ledger.device
        if self._take(ledger.reuse.get(self.resource, frozenset())):
            return None
        ledger = self.call.ledger.device
        available = ledger.healthy[self.resource] - ledger.allocated.get(self.resource, frozenset())
        if len(available) < self.missing:
            return Refusal(
                f"requested number of devices unavailable for {self.resource}. "
                f"Requested: {self.missing}, Available: {len(available)}",
                DevicesShort(self.resource, self.wanted, len(available) + len(self.taken)),
            )
        aligned, unaligned, unplaced = self._split(available)
        if self.missing < len(aligned):
            return self._take_preferred(aligned, (aligned,))
        if self._take(aligned):
            return None
        return self._take_preferred(available, (unaligned, unplaced))

    def _take_preferred(self, candidates: DeviceIds, rest: tuple[DeviceIds, ...]) -> Refusal | None:
        """What the plugin prefers of the candidates first, then the rest, set by set."""
        plugin = self.manager.plugins.get(self.resource)
        if plugin is not None and plugin.preference != "none" and self.resource in self.call.ledger.device.connected:
            must_include = frozenset(self.taken)
            offered = candidates | must_include
            try:
                answers = plugin.answers(offered, must_include, self.wanted)
                preferred = self.call.choices.preferred(self.container, self.resource, answers)
            except PluginError as error:
                return Refusal(
                    f"device plugin GetPreferredAllocation rpc failed with err: {error}",
                    PluginFailed(self.resource, str(error)),
                )
            self._note_preferred(offered, must_include, preferred)
            if self._take(candidates & frozenset(preferred)):
                return None
        if any(self._take(ids) for ids in rest):
            return None
        return Refusal(
            f"unexpectedly allocated less resources than required. Requested: {self.wanted}, Got: {len(self.taken)}",
            DevicesNotPicked(self.resource, self.wanted),
        )

    def _note_preferred(self, offered: DeviceIds, must_include: DeviceIds, answer: tuple[str, ...]) -> None:
        self.call.plugin_calls.append(
            PluginCall(
                "preferred",
                self.resource,
                answer,
                tuple(sorted(offered)),
                tuple(sorted(must_include)),
                self.wanted,
            )
        )

    def _split(self, available: DeviceIds) -> tuple[DeviceIds, DeviceIds, DeviceIds]:
        """Aligned with the hint, elsewhere, and without a NUMA node."""
        nothing: DeviceIds = frozenset()
        ledger = self.call.ledger.device
        affinity, _ = self.call.ledger.affinity_of(self.call.ask.pod.uid, self.container)
        if affinity is None or not self.manager.has_topology(ledger, self.resource):
            return nothing, nothing, available
        places = {device_id: ledger.devices[self.resource][device_id].numa or () for device_id in available}
        decides = self._deciding_nodes(places)
        # The kubelet's own sign for "no node" is a number that plugins may name, too: many tell what the kernel says.
        placed = {device_id for device_id, numa in places.items() if any(node != NOWHERE for node in numa)}
        aligned = frozenset(
            device_id
            for device_id in placed
            if any(node >= 0 and affinity >> node & 1 for node in decides(places[device_id]))
        )
        return aligned, frozenset(placed) - aligned, available - placed

    def _deciding_nodes(self, places: Mapping[str, NumaIds]) -> Callable[[NumaIds], NumaIds]:
        """Which of a device's nodes say whether it is aligned: any; in 1.20 and 1.21 the one that comes first."""
        if self.manager.behaviour.device_any_node:
            return lambda numa: numa
        shared = {node for numa in places.values() if len(numa) > 1 for node in numa}
        order = self.call.choices.nodes(shared) if shared else ()
        return lambda numa: (min(numa, key=order.index) if len(numa) > 1 else numa[0],)

    def _take(self, ids: DeviceIds) -> bool:
        """Takes until nothing is missing; True when that is so."""
        ids = ids - frozenset(self.taken)
        if not ids:
            return False
        order = self.call.choices.devices(self.container, self.resource, ids, self.missing)
        new = list(order)[: self.missing]
        self.taken += new
        ledger = self.call.ledger.device
        allocated = ledger.allocated.get(self.resource, frozenset()) | frozenset(new)
        device = replace(ledger, allocated={**ledger.allocated, self.resource: allocated})
        self.call.ledger = replace(self.call.ledger, device=device)
        return self.missing == 0
