"""Reads what `nvidia-smi -L` prints: GPUs and their MIG devices with UUIDs, in the driver's order.

MIG devices get the resource that the device plugin offers under its `mixed` strategy, where a GPU that is cut into
slices is not offered as a whole.
"""

import re

import msgspec

from numafit.errors import InputError
from numafit.machine.model import Device, Machine
from numafit.machine.reading import text_of

_GPU = re.compile(r"GPU (\d{1,4}): (.{0,200}?) *\(UUID: ([\w-]{1,100})\)", re.ASCII)
_MIG = re.compile(r"MIG (\S{1,40}) +Device +(\d{1,4}): +\(UUID: ([\w/-]{1,120})\)", re.ASCII)
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
        gpu, mig = _GPU.fullmatch(line.strip()), _MIG.fullmatch(line.strip())
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
