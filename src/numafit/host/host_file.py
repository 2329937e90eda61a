"""`host.yaml` beside the ledger: what the administrator keeps back, devices that are not found by themselves, and how
much each user may hold.

    reservedCPUs: 0,64            # never given exclusively
    reservedMemory: {0: 2Gi}      # bytes of a NUMA node that no job may hold
    devices:                      # they take the place of those of the same resource
    - {resource: example.com/fpga, id: fpga0, numa: 1}
    quotas:
      users:
        "*": {cpus: 16, jobs: 20, time: 2d}
        ann: {cpus: 64, priority: 10}
      groups:
        students: {cpus: 32, memory: 128Gi, devices: {nvidia.com/gpu: 2}}

All of it may be left away, and so may the file.
"""

from collections.abc import Iterator
from pathlib import Path

from numafit.amounts import parse_seconds
from numafit.bits import cpuset_text, mask_of
from numafit.document import read_document
from numafit.errors import InputError
from numafit.host.host import HostFile, Quota, Quotas
from numafit.machine.file.fields import Fields
from numafit.machine.model import Device, Machine

DEVICE_FIELDS = ("resource", "id", "numa", "name")
GROUP_FIELDS = ("cpus", "memory", "devices", "jobs")
QUOTA_FIELDS = (*GROUP_FIELDS, "time", "priority")


def parse_host_file(data: bytes, path: Path, machine: Machine) -> HostFile:
    document = read_document(data, str(path))
    fields = Fields(document, (), document.value, ("reservedCPUs", "reservedMemory", "devices", "quotas"))
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
    kept = {node: size for node, size in memory.items() if size}
    return HostFile(reserved, kept, tuple(devices.values()), _quotas(fields))


def _quotas(fields: Fields) -> Quotas:
    if "quotas" not in fields:
        return Quotas()
    both = fields.within("quotas", ("users", "groups"))
    users, groups = (dict(_each_quota(both, kind)) for kind in ("users", "groups"))
    return Quotas(users, groups)


def _each_quota(both: Fields, kind: str) -> Iterator[tuple[str, Quota]]:
    names = both.mapping(kind)
    # What is asked of a job is asked of its user; a group holds things together.
    known = QUOTA_FIELDS if kind == "users" else GROUP_FIELDS
    for name in names:
        one = both.within(kind, list(names)).within(name, known)
        devices = one.mapping("devices")
        counts = one.within("devices", list(devices)) if devices else None
        yield (
            name,
            Quota(
                cpus=one.integer("cpus"),
                memory=one.amount("memory"),
                devices={resource: counts.integer(resource) or 0 for resource in devices} if counts else {},
                jobs=one.integer("jobs"),
                seconds=_seconds(one),
                priority=one.integer("priority"),
            ),
        )


def _seconds(fields: Fields) -> float | None:
    if "time" not in fields:
        return None
    value = fields.value("time")
    try:
        return parse_seconds(str(value))
    except ValueError as error:
        raise fields.error(str(error), "time", cure="write it like 90s, 5m, 2h or 1d") from None


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
        if path.stat().st_uid not in (0, folder.stat().st_uid):
            # In a folder of many users anybody could have made it.
            return HostFile()
        data = path.read_bytes()
    except FileNotFoundError:
        return HostFile()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None
    if all(line.lstrip()[:1] in (b"", b"#") for line in data.splitlines()):
        return HostFile()
    return parse_host_file(data, path, machine)
