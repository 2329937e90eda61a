"""The device manager: hints for plugin resources, and which devices a container gets."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of, members
from numafit.errors import KubeletPanic
from numafit.golang.text import NIL_POINTER
from numafit.ledger.ledger import DeviceLedger, Held, Ledger
from numafit.machine.model import Device
from numafit.managers.device.pick import DevicePick
from numafit.managers.device.plugin import Plugin, PluginError
from numafit.managers.protocol import Call, PluginCall, Refusal
from numafit.managers.refused import PluginFailed
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, HintList, ProviderHints, hints_of, smallest_size
from numafit.settings.versions import Behaviour
from numafit.workload.pod import Container

DEVICES = "devices"
ENDPOINT_STOPPED = "endpoint … has been stopped"
"""The kubelet prints its endpoint with times and addresses where the dots are."""
DEVICE_VANISHED = "device-vanished"
"""A crash: a device that a container holds is no longer listed by its plugin."""


class DeviceManager(msgspec.Struct, frozen=True):
    numa_nodes: int
    """All NUMA nodes of the machine, as a mask."""
    behaviour: Behaviour
    plugins: Mapping[str, Plugin] = {}

    # --- hints -------------------------------------------------------------------------------------------------------

    def hints(self, call: Call, container: Container) -> ProviderHints:
        self.remove_stale(call)
        uid = call.ask.pod.uid
        held = call.ledger.device.held.get(uid, {}).get(container.name, {})
        hints: dict[str, HintList] = {}
        for resource, wanted in call.ask.devices[container.name].items():
            if not is_plugin_resource(call.ledger.device, resource):
                continue
            owned = held[resource].ids if resource in held else frozenset()
            reusable = self._reusable(call, resource)
            hints[resource] = self._resource_hints(call.ledger.device, resource, wanted, owned, reusable)
        return hints

    def pod_hints(self, call: Call) -> ProviderHints:
        self.remove_stale(call)
        containers = call.ledger.device.held.get(call.ask.pod.uid, {})
        hints: dict[str, HintList] = {}
        for resource, wanted in call.ask.pod_devices.items():
            if not is_plugin_resource(call.ledger.device, resource):
                continue
            owned: frozenset[str] = frozenset()
            for resources in containers.values():
                if resource in resources:
                    owned |= resources[resource].ids
            hints[resource] = self._resource_hints(call.ledger.device, resource, wanted, owned, frozenset())
        return hints

    def _resource_hints(
        self, ledger: DeviceLedger, resource: str, wanted: int, owned: frozenset[str], reusable: frozenset[str]
    ) -> HintList:
        if not self.has_topology(ledger, resource):
            return None
        if owned:
            return self._generate(ledger, resource, owned, frozenset(), wanted) if len(owned) == wanted else ()
        available = free_devices(ledger, resource)
        if len(available | reusable) < wanted:
            return ()
        return self._generate(ledger, resource, available, reusable, wanted)

    def has_topology(self, ledger: DeviceLedger, resource: str) -> bool:
        for device in ledger.devices.get(resource, {}).values():
            if device.numa or (device.numa is not None and self.behaviour.device_empty_topology):
                return True
        return False

    def _generate(
        self, ledger: DeviceLedger, resource: str, available: frozenset[str], reusable: frozenset[str], wanted: int
    ) -> HintList:
        devices = ledger.devices[resource]
        ground = self.numa_nodes
        if self.behaviour.device_own_nodes:
            own = _nodes((node for device in devices.values() for node in device.numa or ()), ground)
            ground = own or ground
        totals = _demand([device.numa for device in devices.values()], wanted, ground)
        size = smallest_size(ground, (totals,), ground.bit_count())
        must: set[int] = set()
        counted = 0
        for device_id in reusable:
            numa = self._place(ledger, resource, device_id)
            if numa is not None:
                # A reused device that names no node can be in no mask: nothing will do.
                must.add(_nodes(numa, ground))
                counted += 1
        places = [self._place(ledger, resource, device_id) for device_id in available]
        matching = _demand(places, wanted - counted, ground)
        if 0 in must:
            return ()
        return hints_of(HintFamily(ground=ground, demands=(matching,), touch=tuple(sorted(must)), size=size))

    def _place(self, ledger: DeviceLedger, resource: str, device_id: str) -> tuple[int, ...] | None:
        """The NUMA nodes of a device that may no longer be listed."""
        device = ledger.devices[resource].get(device_id)
        if device is not None:
            return device.numa
        if self.behaviour.device_vanished_panics:
            raise KubeletPanic(NIL_POINTER, code=DEVICE_VANISHED, facts={"resource": resource, "device": device_id})
        return None

    # --- allocation --------------------------------------------------------------------------------------------------

    def allocate(self, call: Call, container: Container) -> Refusal | None:
        device = call.ledger.device
        uid = call.ask.pod.uid
        if device.reuse_pod != uid:
            call.ledger = replace(call.ledger, device=replace(device, reuse_pod=uid, reuse={}))
        refusal = self._allocate_all(call, container)
        if refusal is None:
            self._update_reuse(call, container)
        return refusal

    def allocate_pod(self, call: Call) -> Refusal | None:
        """Nothing: the devices of a pod that is managed as a whole are allocated when its containers are created."""
        return None

    def _allocate_all(self, call: Call, container: Container) -> Refusal | None:
        wanted = call.ask.devices[container.name]
        names = [resource for resource in wanted if is_plugin_resource(call.ledger.device, resource)]
        if not names:
            return None
        self.remove_stale(call)
        changed = False
        for resource in call.choices.resources(container.name, names):
            refusal, allocated = self._allocate_resource(call, container, resource, wanted[resource])
            if refusal is not None:
                return refusal
            changed = changed or allocated
        if changed:
            call.ledger = replace(call.ledger, device=written(call.ledger.device))
        return None

    def _allocate_resource(
        self, call: Call, container: Container, resource: str, wanted: int
    ) -> tuple[Refusal | None, bool]:
        pick = DevicePick(self, call, container.name, resource, wanted)
        refusal = pick.run()
        if refusal is not None or not pick.taken:
            return refusal, False
        ids = frozenset(pick.taken)
        try:
            if resource not in call.ledger.device.connected:
                # Reused devices of init containers while the plugin is away; later releases look at its health before.
                raise PluginError(ENDPOINT_STOPPED)
            response = self.plugins[resource].allocate(ids)
        except PluginError as error:
            device = call.ledger.device
            call.ledger = replace(call.ledger, device=replace(device, allocated=allocated_devices(device)))
            return Refusal(str(error), PluginFailed(resource, str(error))), False
        call.plugin_calls.append(PluginCall("allocate", resource, tuple(sorted(ids))))
        self._store(call, container.name, resource, ids, response)
        return None, True

    def _store(self, call: Call, container: str, resource: str, ids: frozenset[str], response: bytes) -> None:
        ledger = call.ledger.device
        uid = call.ask.pod.uid
        by_numa: dict[int, list[str]] = {}
        for device_id in sorted(ids):
            for node in self._place(ledger, resource, device_id) or (self.behaviour.device_unplaced,):
                by_numa.setdefault(node, []).append(device_id)
        held = Held({node: tuple(own) for node, own in sorted(by_numa.items())}, ids, response)
        pod = ledger.held.get(uid, {})
        pod = {**pod, container: {**pod.get(container, {}), resource: held}}
        call.ledger = replace(call.ledger, device=replace(ledger, held={**ledger.held, uid: pod}))

    # --- the ledger --------------------------------------------------------------------------------------------------

    def _reusable(self, call: Call, resource: str) -> frozenset[str]:
        ledger = call.ledger.device
        return ledger.reuse.get(resource, frozenset()) if ledger.reuse_pod == call.ask.pod.uid else frozenset()

    def _update_reuse(self, call: Call, container: Container) -> None:
        ledger = call.ledger.device
        resources = ledger.held.get(call.ask.pod.uid, {}).get(container.name)
        if not resources:
            return
        reuse = dict(ledger.reuse)
        for resource, held in resources.items():
            old = reuse.get(resource, frozenset())
            reuse[resource] = old | held.ids if container.name in call.ask.ordinary_init else old - held.ids
        call.ledger = replace(call.ledger, device=replace(ledger, reuse=reuse))

    def remove_stale(self, call: Call) -> None:
        if DEVICES not in call.swept:
            call.swept.add(DEVICES)
            call.ledger = without_stale(call.ledger)

    def listed(self, ledger: DeviceLedger, resource: str, devices: tuple[Device, ...]) -> DeviceLedger:
        """The plugin sends its list: it replaces the one before, and the state file is written."""
        return written(
            replace(
                ledger,
                devices={**ledger.devices, resource: {device.id: device for device in devices}},
                healthy={**ledger.healthy, resource: frozenset(device.id for device in devices if device.healthy)},
                connected=ledger.connected | {resource},
            )
        )

    def stopped(self, ledger: DeviceLedger, resource: str) -> DeviceLedger:
        """The plugin ends: its devices count as unhealthy, and the state file is left as it was."""
        healthy = {**ledger.healthy, resource: frozenset[str]()} if resource in ledger.healthy else ledger.healthy
        return replace(ledger, healthy=healthy, connected=ledger.connected - {resource})


def is_plugin_resource(ledger: DeviceLedger, resource: str) -> bool:
    return resource in ledger.healthy or resource in ledger.allocated


def free_devices(ledger: DeviceLedger, resource: str) -> frozenset[str]:
    return ledger.healthy.get(resource, frozenset()) - ledger.allocated.get(resource, frozenset())


def written(ledger: DeviceLedger) -> DeviceLedger:
    """The state file is written now; later removals of stale pods do not show in it."""
    return replace(ledger, written=(ledger.held, ledger.healthy), file=None)


def without_stale(ledger: Ledger) -> Ledger:
    """Pods that are gone lose their devices; only then are the allocated sets made anew."""
    if not ledger.ready:
        return ledger
    held = {uid: containers for uid, containers in ledger.device.held.items() if uid in ledger.active}
    if len(held) == len(ledger.device.held):
        return ledger
    device = replace(ledger.device, held=held)
    return replace(ledger, device=replace(device, allocated=allocated_devices(device)))


def allocated_devices(ledger: DeviceLedger) -> dict[str, frozenset[str]]:
    allocated: dict[str, frozenset[str]] = {}
    for containers in ledger.held.values():
        for resources in containers.values():
            for resource, held in resources.items():
                allocated[resource] = allocated.get(resource, frozenset()) | held.ids
    return allocated


def _nodes(ids: Iterable[int], ground: int) -> int:
    """Those that the machine has. A plugin may name any 64-bit number; what is no node of the machine is in no mask."""
    return mask_of(node for node in ids if 0 <= node < ground.bit_length()) & ground


def _demand(places: list[tuple[int, ...] | None], wanted: int, ground: int) -> Demand:
    """Devices per NUMA node; those that sit on several nodes at once are counted apart, once each."""
    free = dict.fromkeys(members(ground), 0)
    shared = []
    for numa in places:
        nodes = _nodes(numa or (), ground)
        if nodes & (nodes - 1):
            shared.append(nodes)
        elif nodes:
            free[nodes.bit_length() - 1] += 1
    return Demand(wanted, free, tuple(shared))
