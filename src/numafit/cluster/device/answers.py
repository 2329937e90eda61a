"""Answers of a device plugin as messages, made of what it offers."""

from collections.abc import Iterable, Mapping, Sequence

from numafit.cluster.device.offer import ResourceOffer
from numafit.cluster.device.preferred import preferred_units
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.errors import InputError

VERSION = "v1beta1"
HEALTHY, UNHEALTHY = "Healthy", "Unhealthy"


def options(offer: ResourceOffer) -> wire.DevicePluginOptions:
    return wire.DevicePluginOptions(pre_start_required=bool(offer.pre_start), get_preferred_allocation_available=True)


def device_list(offer: ResourceOffer) -> wire.ListAndWatchResponse:
    """A device whose NUMA nodes are not known has no topology at all, which the kubelet takes for anywhere."""
    devices = []
    for unit, offered in offer.units().items():
        device = wire.Device(ID=unit, health=HEALTHY if offered.device.healthy else UNHEALTHY)
        if offered.device.numa is not None:
            device.topology.CopyFrom(wire.TopologyInfo(nodes=[wire.NUMANode(ID=node) for node in offered.device.numa]))
        devices.append(device)
    return wire.ListAndWatchResponse(devices=devices)


def allocated(offer: ResourceOffer, request: wire.AllocateRequest) -> wire.AllocateResponse:
    """Raises InputError for devices that are not there, or sick."""
    each = [_container(offer, asked.devices_ids) for asked in request.container_requests]
    return wire.AllocateResponse(container_responses=each)


def preferred(offer: ResourceOffer, request: wire.PreferredAllocationRequest) -> wire.PreferredAllocationResponse:
    """Raises InputError for what cannot be chosen."""
    each = [
        wire.ContainerPreferredAllocationResponse(
            deviceIDs=preferred_units(
                offer, asked.available_deviceIDs, asked.must_include_deviceIDs, asked.allocation_size
            )
        )
        for asked in request.container_requests
    ]
    return wire.PreferredAllocationResponse(container_responses=each)


def require_units(offer: ResourceOffer, ids: Iterable[str]) -> list[str]:
    """Those of the offer, in its order."""
    asked = set(ids)
    units = offer.units()
    for unit in sorted(asked - units.keys()):
        raise InputError(f"{offer.resource} has no device {unit[:80]}")
    return [unit for unit in units if unit in asked]


def _container(offer: ResourceOffer, ids: Sequence[str]) -> wire.ContainerAllocateResponse:
    units = offer.units()
    # Several shares of one device bring it in once.
    chosen = {units[unit].device.id: units[unit] for unit in require_units(offer, ids)}
    for offered in chosen.values():
        if not offered.device.healthy:
            raise InputError(f"device {offered.device.id} of {offer.resource} is not healthy any more")
    given = [offered.given for offered in chosen.values()]
    mounts = dict.fromkeys(mount for one in given for mount in one.mounts)
    nodes = dict.fromkeys(node for one in given for node in one.nodes)
    return wire.ContainerAllocateResponse(
        envs=_listed([one.envs for one in given]),
        annotations=_listed([one.annotations for one in given]),
        mounts=[
            wire.Mount(container_path=mount.container_path, host_path=mount.host_path, read_only=mount.read_only)
            for mount in mounts
        ],
        devices=[
            wire.DeviceSpec(container_path=node.container_path, host_path=node.host_path, permissions=node.permissions)
            for node in nodes
        ],
        cdi_devices=[wire.CDIDevice(name=name) for name in dict.fromkeys(name for one in given for name in one.cdi)],
    )


def _listed(each: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Equal values once, others with commas between them."""
    values: dict[str, dict[str, None]] = {}
    for one in each:
        for name, value in one.items():
            values.setdefault(name, {})[value] = None
    return {name: ",".join(found) for name, found in values.items()}
