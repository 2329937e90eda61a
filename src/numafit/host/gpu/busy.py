"""How busy each GPU is, and how much of its memory is in use, whoever claimed it: asked of NVML."""

from collections.abc import Iterator

import msgspec

from numafit.host.gpu.nvml import Handle, Nvml, opened_nvml
from numafit.machine.read.text import pci_address


class GpuBusy(msgspec.Struct, frozen=True):
    """None: the driver does not tell, as of how busy a GPU is that is cut into MIG slices."""

    busy: float | None = None
    """Part of the last moments in which something ran on it, 0 to 1."""
    memory: int | None = None
    total: int | None = None
    """Bytes of its memory that programs or the driver use, and all of them."""


def gpus_busy(library: Nvml | None = None) -> dict[str, GpuBusy]:
    """By UUID and by PCI address. Raises `InputError` when library or driver are missing: on many machines they are."""
    with opened_nvml(library) as nvml:
        found: dict[str, GpuBusy] = {}
        for index in range(nvml.nvmlDeviceGetCount()):
            gpu = nvml.nvmlDeviceGetHandleByIndex(index)
            busy = _busy(nvml, gpu)
            found.update((name, busy) for name in _names(nvml, gpu))
        return found


def _busy(nvml: Nvml, gpu: Handle) -> GpuBusy:
    try:
        busy: float | None = min(1.0, max(0.0, int(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu) / 100))
    except nvml.NVMLError:
        busy = None
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
    except nvml.NVMLError:
        return GpuBusy(busy)
    return GpuBusy(busy, int(memory.used), int(memory.total))


def _names(nvml: Nvml, gpu: Handle) -> Iterator[str]:
    try:
        uuid = nvml.nvmlDeviceGetUUID(gpu)
        yield uuid if isinstance(uuid, str) else uuid.decode("utf-8", "replace")
        bus = nvml.nvmlDeviceGetPciInfo(gpu).busId
    except nvml.NVMLError:
        return
    address = pci_address(bus if isinstance(bus, str) else bus.decode("utf-8", "replace"))
    if address:
        yield address
