"""How busy GPUs are, told by a fake of NVML."""

from types import SimpleNamespace

import pytest

from numafit.errors import InputError
from numafit.host.gpu.busy import GpuBusy, gpus_busy
from tests.host.gpu.test_nvml import FakeNvml, gpus


def test_a_gpu_is_found_by_its_uuid_and_by_its_address() -> None:
    answers = gpus(1) | {
        ("UtilizationRates", 0): SimpleNamespace(gpu=37, memory=5),
        ("MemoryInfo", 0): SimpleNamespace(total=80 << 30, free=77 << 30, used=3 << 30),
    }
    nvml = FakeNvml(1, answers)
    busy = GpuBusy(0.37, 3 << 30, 80 << 30)
    assert gpus_busy(nvml) == {"GPU-0": busy, "0000:3b:00.0": busy}
    assert not nvml.running


def test_what_the_driver_does_not_tell_is_unknown() -> None:
    """A GPU that is cut into MIG slices is neither busy nor idle."""
    assert gpus_busy(FakeNvml(1, gpus(1)))["GPU-0"] == GpuBusy(None, None, None)


def test_a_machine_without_driver_is_refused() -> None:
    with pytest.raises(InputError, match="NVML does not start"):
        gpus_busy(FakeNvml(1, {}, driver=False))
