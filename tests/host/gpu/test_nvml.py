"""NVML, played by a fake: what the library answers, and what it refuses to answer."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from numafit.errors import InputError
from numafit.host.gpu.nvml import load_nvml, memory_in_use, read_nvml
from numafit.machine.model import Device, Link, Machine, NumaNode


class FakeError(Exception):
    """Stands for `NVMLError`: no driver, not supported, not found."""


class FakeNvml:
    """Handles are numbers; `answers` maps a question and its arguments to an answer, all else is not supported."""

    NVMLError = FakeError
    NVML_NVLINK_MAX_LINKS = 4

    def __init__(self, count: int, answers: dict[tuple[Any, ...], Any], *, driver: bool = True) -> None:
        self.count = count
        self.answers = answers
        self.driver = driver
        self.running = False

    def nvmlInit(self) -> None:
        if not self.driver:
            raise FakeError("Driver Not Loaded")
        self.running = True

    def nvmlShutdown(self) -> None:
        self.running = False

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> int:
        return index

    def __getattr__(self, name: str) -> Any:
        def answer(*about: Any) -> Any:
            try:
                return self.answers[name.removeprefix("nvmlDeviceGet"), *about]
            except KeyError:
                raise FakeError("Not Supported") from None

        return answer


def pci(bus: str) -> SimpleNamespace:
    return SimpleNamespace(busId=bus)


def gpus(count: int) -> dict[tuple[Any, ...], Any]:
    answers: dict[tuple[Any, ...], Any] = {}
    for i in range(count):
        answers["UUID", i] = f"GPU-{i}"
        answers["PciInfo", i] = pci(f"00000000:{0x3B + i:02X}:00.0")
    return answers


def test_one_gpu_is_described_whole() -> None:
    """Masks come in words of 64 bits, the lowest first; the bus id in its long form; old libraries answer in bytes."""
    words = [0] * 127
    answers = gpus(1) | {
        ("Name", 0): b"NVIDIA GH200 480GB",
        ("MemoryInfo", 0): SimpleNamespace(total=96 << 30, free=1, used=2),
        ("CpuAffinity", 0, 128): [0xFF, 1, *words[:-1]],
        ("MemoryAffinity", 0, 16, 0): [2, *words[:15]],
        ("NumaNodeId", 0): 9,
    }
    nvml = FakeNvml(1, answers)
    assert read_nvml(nvml) == Machine(
        devices=(
            Device(
                resource="nvidia.com/gpu",
                id="GPU-0",
                kind="gpu",
                name="NVIDIA GH200 480GB",
                label="GPU0",
                bus="0000:3b:00.0",
                memory=96 << 30,
                cpus=0xFF | 1 << 64,
                driver_numa=1,
            ),
        ),
        numa_nodes=(NumaNode(id=9, device="GPU-0"),),
    )
    assert not nvml.running


def test_memory_in_use_is_told_by_uuid_and_address() -> None:
    """A GPU that does not tell is left out."""
    answers = gpus(2) | {("MemoryInfo", 0): SimpleNamespace(total=96 << 30, free=1, used=2)}
    assert memory_in_use(FakeNvml(2, answers)) == {"GPU-0": 2, "0000:3b:00.0": 2}


def test_a_driver_that_answers_nothing_still_counts_gpus() -> None:
    """In some containers most questions are refused; without UUID and bus the label is the id."""
    assert read_nvml(FakeNvml(1, {})) == Machine(
        devices=(Device(resource="nvidia.com/gpu", id="GPU0", kind="gpu", label="GPU0"),)
    )


@pytest.mark.parametrize(
    ("level", "kind"), [(0, "PIX"), (10, "PIX"), (20, "PXB"), (30, "PHB"), (40, "NODE"), (50, "SYS")]
)
def test_the_common_ancestor_names_the_way(level: int, kind: str) -> None:
    """The levels of NVML in the words of nvidia-smi."""
    answers = gpus(2) | {("TopologyCommonAncestor", 0, 1): level}
    assert read_nvml(FakeNvml(2, answers)).links == (Link("GPU-0", "GPU-1", kind),)


def test_nvlinks_between_two_gpus_are_counted() -> None:
    """Active ones only; a third GPU keeps its way over PCIe."""
    answers = gpus(3) | {("TopologyCommonAncestor", a, b): 50 for a in range(3) for b in range(a + 1, 3)}
    for link, active in enumerate((1, 1, 0)):
        answers["NvLinkState", 0, link] = active
        answers["NvLinkRemoteDeviceType", 0, link] = 0
        answers["NvLinkRemotePciInfo", 0, link] = pci("00000000:3C:00.0")
    assert read_nvml(FakeNvml(3, answers)).links == (
        Link("GPU-0", "GPU-1", "NV2"),
        Link("GPU-0", "GPU-2", "SYS"),
        Link("GPU-1", "GPU-2", "SYS"),
    )


@pytest.mark.parametrize("kind", [2, None])
def test_nvlinks_to_a_switch_reach_every_gpu_behind_it(kind: int | None) -> None:
    """NVSwitch: as many as the GPU with fewer links has. Old drivers do not say that it is a switch."""
    answers = gpus(2) | {("TopologyCommonAncestor", 0, 1): 50}
    for gpu, links in ((0, 4), (1, 3)):
        for link in range(links):
            answers["NvLinkState", gpu, link] = 1
            answers["NvLinkRemotePciInfo", gpu, link] = pci(f"00000000:C{link}:00.0")
            if kind is not None:
                answers["NvLinkRemoteDeviceType", gpu, link] = kind
    assert read_nvml(FakeNvml(2, answers)).links == (Link("GPU-0", "GPU-1", "NV3"),)


def test_slices_are_offered_instead_of_their_gpu() -> None:
    """MIG: places without a slice are passed over; the profile stands in the name."""
    answers = gpus(1) | {
        ("MigMode", 0): [1, 1],
        ("MaxMigDeviceCount", 0): 7,
        ("MigDeviceHandleByIndex", 0, 2): "slice",
        ("UUID", "slice"): "MIG-1",
        ("Name", "slice"): "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        ("MemoryInfo", "slice"): SimpleNamespace(total=5 << 30),
    }
    assert read_nvml(FakeNvml(1, answers)).devices == (
        Device(resource="", id="GPU-0", kind="gpu", label="GPU0", bus="0000:3b:00.0"),
        Device(
            resource="nvidia.com/mig-1g.5gb",
            id="MIG-1",
            kind="mig",
            name="NVIDIA A100-SXM4-40GB MIG 1g.5gb",
            label="GPU0:2",
            memory=5 << 30,
            parent="GPU-0",
        ),
    )


def test_no_driver_is_said_in_one_sentence() -> None:
    """The normal case on a machine without GPUs."""
    with pytest.raises(InputError, match="NVML: NVML does not start: Driver Not Loaded"):
        read_nvml(FakeNvml(0, {}, driver=False))


def test_a_missing_library_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvidia-ml-py is an extra."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(InputError, match=r"nvidia-ml-py is not installed.*install numafit\[gpu\]"):
        load_nvml()
