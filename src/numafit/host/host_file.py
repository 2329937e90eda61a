"""`host.yaml` beside the ledger: what the administrator keeps back, and devices that are not found by themselves.

    reservedCPUs: 0,64            # never given exclusively
    reservedMemory: {0: 2Gi}      # bytes of a NUMA node that no job may hold
    devices:                      # they take the place of those of the same resource
    - {resource: example.com/fpga, id: fpga0, numa: 1}

All of it may be left away, and so may the file.
"""

from pathlib import Path

from numafit.bits import cpuset_text, mask_of
from numafit.document import read_document
from numafit.errors import InputError
from numafit.host.host import HostFile
from numafit.machine.file.fields import Fields
from numafit.machine.model import Device, Machine

DEVICE_FIELDS = ("resource", "id", "numa", "name")


def parse_host_file(data: bytes, path: Path, machine: Machine) -> HostFile:
    document = read_document(data, str(path))
    fields = Fields(document, (), document.value, ("reservedCPUs", "reservedMemory", "devices"))
    known = {node.id for node in machine.numa_nodes}
    reserved = mask_of(fields.numbers("reservedCPUs"))
    missing = reserved & ~mask_of(cpu.id for cpu in machine.cpus if cpu.online)
    if missing:
        cure = "`numafit machine show --table cpus` lists those that are"
        raise fields.error(f"CPU {cpuset_text(missing)} is not online here", "reservedCPUs", cure=cure)
    memory: dict[int, int] = {}
    if "reservedMemory" in fields:
        names = [str(node) for node in sorted(known)]
        nodes = fields.within("reservedMemory", names)
        memory = {int(name): nodes.amount(name) or 0 for name in names}
    devices: dict[tuple[str, str], Device] = {}
    for i, _ in enumerate(fields.items("devices")):
        device = _device(fields.within("devices", DEVICE_FIELDS, i), known)
        if (device.resource, device.id) in devices:
            raise fields.error(f'the device "{device.id}" comes twice', "devices", i)
        devices[device.resource, device.id] = device
    return HostFile(reserved, {node: size for node, size in memory.items() if size}, tuple(devices.values()))


def _device(fields: Fields, known: set[int]) -> Device:
    fields.need("resource")
    fields.need("id")
    resource, device_id = fields.text("resource"), fields.text("id")
    if "/" not in resource:
        raise fields.error("a resource is named like example.com/fpga", "resource")
    if not device_id or any(sign in device_id for sign in ",=;\0\n"):
        raise fields.error("an id without , ; and = is needed here", "id")
    numa = tuple(fields.numbers("numa")) if "numa" in fields else None
    for node in numa or ():
        if node not in known:
            raise fields.error(f"this machine has no NUMA node {node}", "numa")
    return Device(resource, device_id, numa, name=fields.text("name"))


def read_host_file(folder: Path, machine: Machine) -> HostFile:
    path = folder / "host.yaml"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return HostFile()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None
    return parse_host_file(data, path, machine) if data.strip() else HostFile()
