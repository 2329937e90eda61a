"""Whole GPUs and their health, with a driver that a fake plays."""

from types import SimpleNamespace
from typing import Any

import pytest

from numafit.errors import InputError
from numafit.host.gpu.watch import GpuWatch, WholeGpu


class WatchedError(Exception):
    """Stands for `NVMLError`."""


class WatchedNvml:
    """Handles are numbers; the minor number of GPU 0 is 5, and so on. `events` wait to be fetched."""

    NVMLError = WatchedError
    nvmlEventTypeXidCriticalError = 8

    def __init__(self, count: int, *, driver: bool = True, listens: bool = True) -> None:
        self.count = count
        self.driver = driver
        self.listens = listens
        self.lost: set[int] = set()
        self.mig = {index: [0, 0] for index in range(count)}
        self.events: list[Any] = []
        self.begun = 0

    def _alive(self) -> None:
        if not self.driver:
            raise WatchedError("Driver Not Loaded")

    def nvmlInit(self) -> None:
        self._alive()
        self.begun += 1

    def nvmlDeviceGetCount(self) -> int:
        self._alive()
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> int:
        if index in self.lost:
            raise WatchedError("GPU is lost")
        return index

    def nvmlDeviceGetUUID(self, handle: int, /) -> bytes:
        return f"GPU-{self.nvmlDeviceGetHandleByIndex(handle)}".encode()

    def nvmlDeviceGetMinorNumber(self, handle: int, /) -> int:
        return handle + 5

    def nvmlDeviceGetMigMode(self, handle: int, /) -> list[int]:
        return self.mig[handle]

    def nvmlEventSetCreate(self) -> str:
        return "events"

    def nvmlDeviceRegisterEvents(self, handle: int, types: int, events: str, /) -> None:
        if not self.listens:
            raise WatchedError("Not Supported")

    def nvmlEventSetWait_v2(self, events: str, milliseconds: int, /) -> Any:
        if not self.events:
            raise WatchedError("Timeout")
        return self.events.pop(0)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def event(xid: int, gpu: int, kind: int = 8) -> SimpleNamespace:
    return SimpleNamespace(eventType=kind, eventData=xid, device=gpu)


def test_gpus_are_told_with_their_files() -> None:
    nvml = WatchedNvml(2)
    nvml.mig[1] = [0, 1]
    whole = (WholeGpu("GPU-0", 0, 5, False), WholeGpu("GPU-1", 1, 6, True))
    assert GpuWatch(nvml).look() == (whole, {})  # type: ignore[arg-type]


def test_errors_of_programs_do_not_count() -> None:
    """XID 31 is a page fault of a kernel; 79 a GPU that fell off the bus, and stays so; another event is none."""
    nvml = WatchedNvml(3)
    watch = GpuWatch(nvml)  # type: ignore[arg-type]
    nvml.events = [event(31, 0), event(79, 1), event(48, 1), event(48, 2, kind=1)]
    assert watch.look()[1] == {"GPU-1": 79}
    assert watch.look()[1] == {"GPU-1": 79}
    assert nvml.begun == 1


def test_a_lost_gpu_is_not_among_them() -> None:
    """Nor does its error, which cannot be laid at anybody's door, stop the look."""
    nvml = WatchedNvml(2, listens=False)
    watch = GpuWatch(nvml)  # type: ignore[arg-type]
    nvml.lost.add(0)
    assert [gpu.id for gpu in watch.look()[0]] == ["GPU-1"]
    nvml.listens = True
    watch = GpuWatch(nvml)  # type: ignore[arg-type]
    nvml.events = [event(79, 0)]
    assert watch.look()[1] == {}


def test_a_driver_that_goes_is_told_and_asked_anew() -> None:
    nvml = WatchedNvml(1)
    watch = GpuWatch(nvml)  # type: ignore[arg-type]
    watch.look()
    nvml.driver = False
    with pytest.raises(InputError, match="NVML stopped answering: Driver Not Loaded"):
        watch.look()
    with pytest.raises(InputError, match="NVML does not start"):
        watch.look()
    nvml.driver = True
    assert [gpu.id for gpu in watch.look()[0]] == ["GPU-0"]
