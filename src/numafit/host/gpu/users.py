"""Which process uses which GPU, asked of NVIDIA's management library (NVML).

The library counts processes in the pid namespace of the host; inside a container it names none or others.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from numafit.host.gpu.nvml import MIG_ENABLED, Handle, Nvml, opened_nvml
from numafit.machine.read.text import pci_address


class GpuUse(msgspec.Struct, frozen=True):
    id: str
    """The UUID of the GPU or MIG slice."""
    bus: str = ""
    """PCI address of the GPU."""
    memory: int | None = None
    """Bytes of its memory that the process holds; None when the driver does not tell."""


def gpu_users(library: Nvml | None = None) -> dict[int, tuple[GpuUse, ...]]:
    """Process id -> GPUs, by id. Raises `InputError` when library or driver are missing: on many machines they are."""
    with opened_nvml(library) as nvml:
        return _users(nvml)


def _users(nvml: Nvml) -> dict[int, tuple[GpuUse, ...]]:
    found: dict[int, dict[str, GpuUse]] = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        gpu = nvml.nvmlDeviceGetHandleByIndex(index)
        bus = pci_address(_text(nvml.nvmlDeviceGetPciInfo(gpu).busId)) or ""
        # The processes of a slice stand also in the list of its GPU; the slice says more.
        slices = list(_slices(nvml, gpu))
        for handle in slices or [gpu]:
            uuid = _text(nvml.nvmlDeviceGetUUID(handle))
            for process in _running(nvml, handle):
                held = process.usedGpuMemory
                found.setdefault(process.pid, {})[uuid] = GpuUse(uuid, bus, held if isinstance(held, int) else None)
    return {pid: tuple(sorted(uses.values(), key=lambda use: use.id)) for pid, uses in sorted(found.items())}


def _slices(nvml: Nvml, gpu: Handle) -> Iterator[Handle]:
    try:
        if next(iter(nvml.nvmlDeviceGetMigMode(gpu))) != MIG_ENABLED:
            return
        places = nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)
    except nvml.NVMLError:
        return
    for place in range(places):
        try:
            yield nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, place)
        except nvml.NVMLError:
            continue


def _running(nvml: Nvml, handle: Handle) -> list[Any]:
    """Compute last: a process that stands in both lists is told with what it holds there."""
    processes: list[Any] = []
    for question in (nvml.nvmlDeviceGetGraphicsRunningProcesses, nvml.nvmlDeviceGetComputeRunningProcesses):
        try:
            processes += question(handle)
        except nvml.NVMLError:
            continue
    return processes


def _text(answer: str | bytes) -> str:
    return answer if isinstance(answer, str) else answer.decode("utf-8", "replace")
