"""A device plugin's ContainerAllocateResponse: the protobuf message that stands in the device manager's state file.

Encoded by hand, as the kubelet's Go code does it: fields in number order, empty ones left out. Go writes maps in random
order; here keys are sorted.
"""

from collections.abc import Iterable, Mapping

import msgspec

from numafit.errors import KubeletError


class AllocateResponseError(KubeletError):
    """The bytes are no ContainerAllocateResponse; the kubelet skips such an entry."""


class Mount(msgspec.Struct, frozen=True):
    container_path: str = ""
    host_path: str = ""
    read_only: bool = False


class DeviceSpec(msgspec.Struct, frozen=True):
    container_path: str = ""
    host_path: str = ""
    permissions: str = ""


class AllocateResponse(msgspec.Struct, frozen=True):
    envs: dict[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceSpec, ...] = ()
    annotations: dict[str, str] = {}
    cdi_devices: tuple[str, ...] = ()


_ENVS, _MOUNTS, _DEVICES, _ANNOTATIONS, _CDI = 1, 2, 3, 4, 5
_VARINT, _EIGHT_BYTES, _LENGTH, _START_GROUP, _END_GROUP, _FOUR_BYTES = range(6)
_LARGEST_FIELD = (1 << 29) - 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _framed(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _LENGTH) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _framed(field, text.encode()) if text else b""


def _pair(field: int, key: str, value: str) -> bytes:
    # both halves of a map entry are written even when empty
    return _framed(field, _framed(1, key.encode()) + _framed(2, value.encode()))


def encode_response(response: AllocateResponse) -> bytes:
    parts = [_pair(_ENVS, key, value) for key, value in sorted(response.envs.items())]
    for mount in response.mounts:
        read_only = _varint(3 << 3 | _VARINT) + b"\x01" if mount.read_only else b""
        parts.append(_framed(_MOUNTS, _text(1, mount.container_path) + _text(2, mount.host_path) + read_only))
    for device in response.devices:
        paths = _text(1, device.container_path) + _text(2, device.host_path)
        parts.append(_framed(_DEVICES, paths + _text(3, device.permissions)))
    parts += [_pair(_ANNOTATIONS, key, value) for key, value in sorted(response.annotations.items())]
    parts += [_framed(_CDI, _text(1, name)) for name in response.cdi_devices]
    return b"".join(parts)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            if self.at >= len(self.data):
                raise AllocateResponseError("unexpected EOF")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF
        raise AllocateResponseError("variable length integer overflow")

    def take(self, length: int) -> bytes:
        if length > len(self.data) - self.at:
            raise AllocateResponseError("unexpected EOF")
        self.at += length
        return self.data[self.at - length : self.at]

    def fields(self) -> Iterable[tuple[int, int | bytes]]:
        """(field number, value) in wire order; groups and fixed-size numbers are passed over."""
        open_groups: list[int] = []
        while self.at < len(self.data):
            tag = self.varint()
            field, wire = tag >> 3, tag & 7
            if not 1 <= field <= _LARGEST_FIELD:
                raise AllocateResponseError(f"invalid field number {field}")
            value: int | bytes | None = None
            if wire == _VARINT:
                value = self.varint()
            elif wire == _LENGTH:
                value = self.take(self.varint())
            elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
                self.take(8 if wire == _EIGHT_BYTES else 4)
            elif wire == _START_GROUP:
                open_groups.append(field)
            elif wire == _END_GROUP and open_groups and open_groups[-1] == field:
                open_groups.pop()
            else:
                raise AllocateResponseError(f"invalid wire type {wire}")
            if value is not None and not open_groups:
                yield field, value
        if open_groups:
            raise AllocateResponseError("unexpected EOF")


def _string(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise AllocateResponseError("string field contains invalid UTF-8") from None


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise AllocateResponseError("wrong wire type")
    return value


def _strings(data: int | bytes, count: int) -> list[str]:
    """The texts in fields 1 to `count` of an inner message; a later one of the same number replaces."""
    found = [""] * count
    for field, value in _Reader(_bytes(data)).fields():
        if field <= count:
            found[field - 1] = _string(value)
    return found


def _mount(data: int | bytes) -> Mount:
    container_path = host_path = ""
    read_only = False
    for field, value in _Reader(_bytes(data)).fields():
        if field == 1:
            container_path = _string(value)
        elif field == 2:
            host_path = _string(value)
        elif field == 3:
            if not isinstance(value, int):
                raise AllocateResponseError("wrong wire type")
            read_only = value != 0
    return Mount(container_path, host_path, read_only)


def decode_response(data: bytes) -> AllocateResponse:
    """Unknown fields are passed over. DecodeError for anything that is not a message."""
    envs: dict[str, str] = {}
    annotations: dict[str, str] = {}
    mounts: list[Mount] = []
    devices: list[DeviceSpec] = []
    cdi_devices: list[str] = []
    for field, value in _Reader(data).fields():
        if field in (_ENVS, _ANNOTATIONS):
            key, content = _strings(value, 2)
            (envs if field == _ENVS else annotations)[key] = content
        elif field == _MOUNTS:
            mounts.append(_mount(value))
        elif field == _DEVICES:
            devices.append(DeviceSpec(*_strings(value, 3)))
        elif field == _CDI:
            cdi_devices.append(_strings(value, 1)[0])
    return AllocateResponse(envs, tuple(mounts), tuple(devices), annotations, tuple(cdi_devices))


_NVIDIA_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


def nvidia_response(ids: Iterable[str], minors: Mapping[str, int]) -> bytes:
    """What NVIDIA's plugin answers with device specs passed: the ids sorted, the control nodes, one node per GPU.

    `minors` gives each GPU's number in `/dev/nvidia<number>`. The real plugin names the GPUs in random order.
    """
    chosen = sorted(ids)
    names = [*_NVIDIA_NODES, *(f"nvidia{minors[gpu]}" for gpu in chosen)]
    specs = tuple(DeviceSpec(f"/dev/{name}", f"/dev/{name}", "rw") for name in names)
    return encode_response(AllocateResponse(envs={"NVIDIA_VISIBLE_DEVICES": ",".join(chosen)}, devices=specs))
