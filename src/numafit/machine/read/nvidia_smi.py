"""Reads what `nvidia-smi` prints: the list of `-L`, and the matrix of `topo -m` or `-mp`.

The list has GPUs and their MIG devices with UUIDs, in the driver's order. MIG devices get the resource that the device
plugin offers under its `mixed` strategy, where a GPU that is cut into slices is not offered as a whole.

The matrix has GPUs and NICs, how they reach each other, and which CPUs are near. The NUMA node in it is the driver's
opinion and goes to `driver_numa`: the kubelet's device plugin reads /sys instead. The tool cuts long CPU lists short
(`0,2,4,6,8,10` on a machine of 96 CPUs), so `cpus` may be too small a set.
"""

import re

import msgspec

from numafit.bits import members
from numafit.errors import InputError
from numafit.machine.model import Device, Link, Machine, NumaNode
from numafit.machine.order import in_kubelet_order
from numafit.machine.read.text import id_mask, text_of

_LISTED_GPU = re.compile(r"GPU (\d{1,4}): (.{0,200}?) *\(UUID: ([\w-]{1,100})\)", re.ASCII)
_LISTED_MIG = re.compile(r"MIG (\S{1,40}) +Device +(\d{1,4}): +\(UUID: ([\w/-]{1,120})\)", re.ASCII)
_NO_GPU = ("No devices found", "couldn't communicate with the NVIDIA driver")


def mig_resource(profile: str) -> str:
    """`1g.10gb+me` is offered as `nvidia.com/mig-1g.10gb.me`."""
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def read_nvidia_list(data: str | bytes, source: str = "nvidia-smi -L") -> Machine:
    text = text_of(data, source)
    devices: list[Device] = []
    seen: set[str] = set()
    whole: int | None = None
    """Where in `devices` the GPU of the slices to come stands."""
    for number, line in enumerate(text.splitlines(), 1):
        gpu, mig = _LISTED_GPU.fullmatch(line.strip()), _LISTED_MIG.fullmatch(line.strip())
        uuid = gpu[3] if gpu is not None else mig[3] if mig is not None else ""
        if uuid in seen:
            raise InputError(f"the UUID {uuid} stands here a second time", source=source, line=number)
        if gpu is not None:
            whole = len(devices)
            device = Device(resource="nvidia.com/gpu", id=uuid, kind="gpu", name=gpu[2], label=f"GPU{int(gpu[1])}")
        elif mig is not None:
            if whole is None:
                message = "a MIG device without its GPU"
                cure = "paste the whole output of nvidia-smi -L"
                raise InputError(message, source=source, line=number, cure=cure)
            parent = devices[whole] = msgspec.structs.replace(devices[whole], resource="")
            device = Device(
                resource=mig_resource(mig[1]),
                id=uuid,
                kind="mig",
                name=f"{parent.name} MIG {mig[1]}",
                label=f"{parent.label}:{int(mig[2])}",
                parent=parent.id,
            )
        else:
            continue
        seen.add(uuid)
        devices.append(device)
    if devices:
        return Machine(devices=tuple(devices))
    if any(words in text for words in _NO_GPU):
        return Machine()
    message = 'no line such as "GPU 0: Tesla P100 (UUID: GPU-…)" in it'
    raise InputError(message, source=source, cure="paste the whole output of nvidia-smi -L")


_PASTED_CODE = re.compile(r"\[[0-9]m", re.ASCII)
"""The underline of the head line, without the escape character that is lost in pasting."""
_COLUMN = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID|[A-Za-z][\w.-]*")
_EXTRA = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_GPU_LABEL = re.compile(r"GPU(\d{1,4})", re.ASCII)
_NIC_NAME = re.compile(r"(NIC\d{1,4}): +(\S+)", re.ASCII)
_LINK = re.compile(r"X|N/A|SYS|NODE|PHB|PXB|PIX|NV[0-9]{1,3}|SOC|PSB")
_LINKS = re.compile(f"(?:{_LINK.pattern})+")
_OLD_KINDS = {"SOC": "SYS", "PSB": "PIX"}
"""Drivers before 390 say SOC for the way between sockets, and PSB for one switch on a board."""
_MOST_DEVICES = 4096
_CURE = "paste the whole output of nvidia-smi topo -m"


class _Row:
    def __init__(self, line: int, links: list[str], extra: dict[str, str]) -> None:
        self.line = line
        self.links = links
        self.extra = extra


def read_nvidia_topo(data: str | bytes, source: str = "nvidia-smi topo -m") -> Machine:
    lines = _PASTED_CODE.sub("", text_of(data, source)).splitlines()
    head = next((index for index, line in enumerate(lines) if _is_head(line)), None)
    if head is None:
        raise InputError("no line with the column names GPU0, GPU1, … in it", source=source, cure=_CURE)
    columns = _COLUMN.findall(lines[head])
    labels = [column for column in columns if column not in _EXTRA]
    extra = [column for column in columns if column in _EXTRA]
    if len(set(labels)) != len(labels) or len(labels) > _MOST_DEVICES:
        raise InputError("a device has two columns", source=source, line=head + 1, cure=_CURE)
    places = {label: place for place, label in enumerate(labels)}
    rows: dict[str, _Row] = {}
    names: dict[str, str] = {}
    for number, line in enumerate(lines[head + 1 :], head + 2):
        label = line.split(maxsplit=1)[0] if line.strip() else ""
        if label in places and label not in rows:
            rows[label] = _row(line, number, len(labels), extra, source)
        else:
            match = _NIC_NAME.fullmatch(line.strip())
            if match is not None:
                names[match[1]] = match[2]
    missing = next((label for label in labels if label not in rows), None)
    if missing is not None:
        raise InputError(f"the row of {missing[:40]} is missing", source=source, cure=_CURE)
    return _machine(labels, rows, names, source)


def _is_head(line: str) -> bool:
    """The only line that names GPU0 and starts with a blank column or names no link."""
    words = line.split()
    return bool(words) and _GPU_LABEL.fullmatch(words[0]) is not None and "X" not in words


def _row(line: str, number: int, devices: int, extra: list[str], source: str) -> _Row:
    """Cells are padded with one or more blanks or tabs, or with none (`NODENODE`): only their order counts."""
    cells = line.split()[1:]
    links: list[str] = []
    used = 0
    while len(links) < devices and used < len(cells):
        if _LINKS.fullmatch(cells[used]) is None:
            message = f'"{cells[used][:40]}" is not a kind of link'
            raise InputError(message, source=source, line=number, cure=_CURE)
        links += (_OLD_KINDS.get(kind, kind) for kind in _LINK.findall(cells[used]))
        used += 1
    if len(links) != devices:
        message = f"{len(links)} links in a row for {devices} devices"
        raise InputError(message, source=source, line=number, cure=_CURE)
    return _Row(number, links, dict(zip(extra, cells[used:], strict=False)))


def _machine(labels: list[str], rows: dict[str, _Row], names: dict[str, str], source: str) -> Machine:
    devices: list[Device] = []
    nodes: dict[int, NumaNode] = {}
    nics = 0
    for label in labels:
        if _GPU_LABEL.fullmatch(label) is None:
            devices.append(Device(resource="", id=names.get(label, label), kind="nic", label=f"NIC{nics}"))
            nics += 1
            continue
        cpus, near, own = (_ids(rows[label], column, source) for column in _EXTRA)
        devices.append(
            Device(
                resource="nvidia.com/gpu",
                id=label,
                kind="gpu",
                label=label,
                cpus=cpus,
                driver_numa=near.bit_length() - 1 if near.bit_count() == 1 else None,
            )
        )
        for node in members(own):
            nodes.setdefault(node, NumaNode(id=node, device=label))
    ids = [device.id for device in devices]
    if len(set(ids)) != len(ids):
        raise InputError("two devices have the same name", source=source, cure=_CURE)
    links = tuple(
        Link(a=ids[place], b=ids[place + 1 + offset], kind=kind)
        for place, label in enumerate(labels)
        for offset, kind in enumerate(rows[label].links[place + 1 :])
        if kind not in ("X", "N/A")
    )
    return Machine(devices=tuple(devices), links=links, numa_nodes=in_kubelet_order(nodes.values()))


def _ids(row: _Row, column: str, source: str) -> int:
    text = row.extra.get(column, "N/A")
    return 0 if text == "N/A" else id_mask(text, source, row.line)
