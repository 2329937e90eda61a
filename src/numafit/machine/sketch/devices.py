"""Devices in the words of `--device`: `nvidia.com/gpu=gpu0@0,gpu1@1`."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.errors import InputError
from numafit.machine.model import GPU_RESOURCE, Device, Machine


def with_devices(machine: Machine, specs: Sequence[str]) -> Machine:
    """These devices take the place of all of the same resource."""
    given = parse_devices(specs)
    named = {device.resource for device in given}
    kept = tuple(device for device in machine.devices if device.resource not in named)
    return replace(machine, devices=kept + given, assumed=_assumed(machine, kept, given)) if given else machine


def _assumed(machine: Machine, kept: Sequence[Device], given: Sequence[Device]) -> tuple[str, ...]:
    """Who names a device names its NUMA node, too, but not how it is linked."""
    told = () if any(device.resource for device in kept) else ("device_numa",)
    words = [word for word in machine.assumed if word not in told]
    if sum(device.resource == GPU_RESOURCE for device in given) > 2:
        words.append("links")
    return tuple(dict.fromkeys(words))


def parse_devices(specs: Sequence[str]) -> tuple[Device, ...]:
    """`RESOURCE=ID@NUMA,ID@NUMA+NUMA,!ID`: an id without `@` has no NUMA node, one after `!` is unhealthy."""
    devices: list[Device] = []
    for spec in specs:
        resource, equals, ids = spec.partition("=")
        if not equals or "/" not in resource or not ids:
            raise _bad_device(spec, "is not RESOURCE=ID@NUMA,…")
        for item in map(str.strip, ids.split(",")):
            device_id, at, nodes = item.removeprefix("!").partition("@")
            if not device_id or (at and not all(node.isascii() and node.isdecimal() for node in nodes.split("+"))):
                raise _bad_device(spec, f'"{item}" is not ID or ID@NUMA')
            numa = tuple(int(node) for node in nodes.split("+")) if at else None
            devices.append(Device(resource, device_id, numa, healthy=not item.startswith("!")))
    names = [(device.resource, device.id) for device in devices]
    for name in names:
        if names.count(name) > 1:
            raise _bad_device(name[0], f'"{name[1]}" is named twice')
    return tuple(devices)


def _bad_device(spec: str, message: str) -> InputError:
    return InputError(message, source="--device", field=spec, cure="write it like nvidia.com/gpu=gpu0@0,gpu1@1")
