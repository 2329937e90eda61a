"""Who uses which GPU, with a library that plays NVML."""

from types import SimpleNamespace
from typing import Any

import pytest

from numafit.errors import InputError
from numafit.host.gpu.users import GpuUse, gpu_users


class NVMLError(Exception):
    pass


class Library:
    """Two GPUs; the second is cut into one slice, in the third of four places."""

    NVMLError = NVMLError
    nvmlInitError: Exception | None = None
    closed = False

    def nvmlInit(self) -> None:
        if self.nvmlInitError:
            raise self.nvmlInitError

    def nvmlShutdown(self) -> None:
        self.closed = True

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> Any:
        return f"GPU-{index}"

    def nvmlDeviceGetUUID(self, handle: Any, /) -> str | bytes:
        return bytes(handle, "ascii")

    def nvmlDeviceGetPciInfo(self, handle: Any, /) -> Any:
        return SimpleNamespace(busId=f"00000000:{handle[-1]}1:00.0")

    def nvmlDeviceGetMigMode(self, handle: Any, /) -> list[int]:
        if handle == "GPU-0":
            raise NVMLError("Not Supported")
        return [1, 1]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, /) -> int:
        return 4

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int, /) -> Any:
        if index != 2:
            raise NVMLError("Not Found")
        return "MIG-1"

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any, /) -> list[Any]:
        lists = {"GPU-0": [(7, 1 << 30), (8, None)], "MIG-1": [(7, 512)]}
        return [SimpleNamespace(pid=pid, usedGpuMemory=memory) for pid, memory in lists[handle]]

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Any, /) -> list[Any]:
        if handle == "MIG-1":
            raise NVMLError("Not Supported")
        return [SimpleNamespace(pid=7, usedGpuMemory=4096)]


def test_each_process_is_told_with_its_gpus_and_slices() -> None:
    """What it computes with counts; memory that the driver keeps to itself is unknown, not 0."""
    library = Library()
    assert gpu_users(library) == {
        7: (GpuUse("GPU-0", "0000:01:00.0", 1 << 30), GpuUse("MIG-1", "0000:11:00.0", 512)),
        8: (GpuUse("GPU-0", "0000:01:00.0", None),),
    }
    assert library.closed


def test_a_missing_driver_is_one_sentence() -> None:
    library = Library()
    library.nvmlInitError = NVMLError("Driver Not Loaded")
    with pytest.raises(InputError, match="NVML does not start: Driver Not Loaded"):
        gpu_users(library)
