"""Reading what people name on the command line: files, folders, standard input, devices."""

import sys
from collections.abc import Sequence
from pathlib import Path

from numafit.errors import InputError
from numafit.machine.model import Device

MANIFESTS = (".yaml", ".yml", ".json")
LARGEST_FILE = 1 << 28
"""Bytes; what never ends (`/dev/zero`) must not fill the memory."""


def read_bytes(path: Path) -> bytes:
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with path.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"more than {LARGEST_FILE >> 20} MiB", source=str(path), cure="is this the right file?")
    return data


def read_text(path: Path) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text: byte {error.start}", source=str(path)) from error


def manifest_paths(given: Sequence[Path]) -> list[Path]:
    """A folder stands for the manifests in it, in the order of their names."""
    paths: list[Path] = []
    for path in given:
        if not path.is_dir():
            paths.append(path)
            continue
        found = sorted(entry for entry in path.iterdir() if entry.suffix in MANIFESTS and entry.is_file())
        if not found:
            raise InputError(
                "no manifests in this folder", source=str(path), cure=f"they end in {', '.join(MANIFESTS)}"
            )
        paths += found
    return paths


def parse_devices(specs: Sequence[str]) -> tuple[Device, ...]:
    """`RESOURCE=ID@NUMA,ID@NUMA+NUMA,ID`: an id without `@` has no NUMA node."""
    devices: list[Device] = []
    for spec in specs:
        resource, equals, ids = spec.partition("=")
        if not equals or "/" not in resource or not ids:
            raise _bad_device(spec, "is not RESOURCE=ID@NUMA,…")
        for item in ids.split(","):
            device_id, at, nodes = item.partition("@")
            if not device_id or (at and not all(node.isascii() and node.isdecimal() for node in nodes.split("+"))):
                raise _bad_device(spec, f'"{item}" is not ID or ID@NUMA')
            numa = tuple(int(node) for node in nodes.split("+")) if at else None
            devices.append(Device(resource, device_id, numa))
    names = [(device.resource, device.id) for device in devices]
    for name in names:
        if names.count(name) > 1:
            raise _bad_device(name[0], f'"{name[1]}" is named twice')
    return tuple(devices)


def _bad_device(spec: str, message: str) -> InputError:
    return InputError(message, source="--device", field=spec, cure="write it like nvidia.com/gpu=gpu0@0,gpu1@1")
