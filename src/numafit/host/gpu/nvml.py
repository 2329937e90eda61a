"""Asks NVIDIA's management library (NVML) about the GPUs of this machine, through nvidia-ml-py.

Each question may go unanswered, by old drivers or in a container; then the answer is left unknown. No driver at all is
the normal case on a machine without GPUs.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from numafit.bits import members
from numafit.errors import InputError
from numafit.machine.model import Device, Link, Machine, NumaNode
from numafit.machine.order import in_kubelet_order
from numafit.machine.read.nvidia_smi import mig_resource
from numafit.machine.read.text import pci_address

T = TypeVar("T")

Handle = Any
"""A pointer that only the library understands."""

CPU_WORDS = 128
"""Of 64 bits: 8,192 CPUs, more than any kernel is built for."""
NODE_WORDS = 16
NVLINK_SWITCH, NVLINK_UNKNOWN = 2, 0xFF
_SWITCH = "switch"
MIG_ENABLED = 1
NEAR_NODE = 0
"""The scope of memory affinity: NUMA nodes, not sockets."""
_ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}


class Nvml(Protocol):
    """The part of the module `pynvml` that is used here."""

    @property
    def NVMLError(self) -> type[Exception]: ...
    @property
    def NVML_NVLINK_MAX_LINKS(self) -> int: ...
    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> Handle: ...
    def nvmlDeviceGetUUID(self, handle: Handle, /) -> str | bytes: ...
    def nvmlDeviceGetName(self, handle: Handle, /) -> str | bytes: ...
    def nvmlDeviceGetPciInfo(self, handle: Handle, /) -> Any: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Handle, /) -> Any: ...
    def nvmlDeviceGetUtilizationRates(self, handle: Handle, /) -> Any: ...
    def nvmlDeviceGetCpuAffinity(self, handle: Handle, words: int, /) -> Iterable[int]: ...
    def nvmlDeviceGetMemoryAffinity(self, handle: Handle, words: int, scope: int, /) -> Iterable[int]: ...
    def nvmlDeviceGetNumaNodeId(self, handle: Handle, /) -> int: ...
    def nvmlDeviceGetTopologyCommonAncestor(self, first: Handle, second: Handle, /) -> int: ...
    def nvmlDeviceGetNvLinkState(self, handle: Handle, link: int, /) -> int: ...
    def nvmlDeviceGetNvLinkRemoteDeviceType(self, handle: Handle, link: int, /) -> int: ...
    def nvmlDeviceGetNvLinkRemotePciInfo(self, handle: Handle, link: int, /) -> Any: ...
    def nvmlDeviceGetMigMode(self, handle: Handle, /) -> Iterable[int]: ...
    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Handle, /) -> int: ...
    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Handle, index: int, /) -> Handle: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle, /) -> Iterable[Any]: ...
    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Handle, /) -> Iterable[Any]: ...
    @property
    def nvmlEventTypeXidCriticalError(self) -> int: ...
    def nvmlDeviceGetMinorNumber(self, handle: Handle, /) -> int: ...
    def nvmlEventSetCreate(self) -> Handle: ...
    def nvmlDeviceRegisterEvents(self, handle: Handle, types: int, events: Handle, /) -> None: ...
    def nvmlEventSetWait_v2(self, events: Handle, milliseconds: int, /) -> Any: ...


def load_nvml() -> Nvml:
    """The library; raises `InputError` when nvidia-ml-py is not installed."""
    try:
        library: Any = importlib.import_module("pynvml")
    except ImportError:
        message = "nvidia-ml-py is not installed, so GPUs cannot be asked about"
        raise InputError(message, source="NVML", cure="install numafit[gpu]") from None
    nvml: Nvml = library
    return nvml


@contextmanager
def opened_nvml(library: Nvml | None = None) -> Iterator[Nvml]:
    """Raises `InputError` when library or driver are missing, or the driver stops answering on the way."""
    nvml = load_nvml() if library is None else library
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        message = f"NVML does not start: {error}"
        raise InputError(message, source="NVML", cure="there is no NVIDIA driver here, or it is not loaded") from None
    try:
        yield nvml
    except nvml.NVMLError as error:
        raise InputError(f"NVML stopped answering: {error}", source="NVML") from None
    finally:
        nvml.nvmlShutdown()


def read_nvml(library: Nvml | None = None) -> Machine:
    """The GPUs of this machine and their links; raises `InputError` when library or driver are missing."""
    with opened_nvml(library) as nvml:
        return _Gpus(nvml).machine()


def memory_in_use(library: Nvml | None = None) -> dict[str, int]:
    """Bytes of each GPU that programs or the driver use, by its UUID and by its PCI address; those that do not tell are
    left out. Raises `InputError` when library or driver are missing."""
    with opened_nvml(library) as nvml:
        return _Gpus(nvml).in_use()


class _Gpus:
    def __init__(self, nvml: Nvml) -> None:
        self.nvml = nvml
        self.handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        self.buses = [self._bus(lambda handle: nvml.nvmlDeviceGetPciInfo(handle), handle) for handle in self.handles]

    def machine(self) -> Machine:
        gpus: list[Device] = []
        devices: list[Device] = []
        nodes: dict[int, NumaNode] = {}
        for index, handle in enumerate(self.handles):
            slices = list(self._mig_handles(handle))
            gpu = self._gpu(index, offered=not slices)
            gpus.append(gpu)
            devices += [gpu, *(self._slice(position, found, gpu) for position, found in slices)]
            own = self._ask(-1, lambda handle: self.nvml.nvmlDeviceGetNumaNodeId(handle), handle)
            if own >= 0:
                nodes.setdefault(own, NumaNode(id=own, device=gpu.id))
        return Machine(devices=tuple(devices), links=self._links(gpus), numa_nodes=in_kubelet_order(nodes.values()))

    def _ask(self, unknown: T, question: Callable[..., T], *about: Handle) -> T:
        try:
            return question(*about)
        except (self.nvml.NVMLError, AttributeError):
            # AttributeError: an nvidia-ml-py that is older than the question.
            return unknown

    def _text(self, question: Callable[[Handle], str | bytes], handle: Handle) -> str:
        nothing: str | bytes = ""
        answer = self._ask(nothing, question, handle)
        return answer if isinstance(answer, str) else answer.decode("utf-8", "replace")

    def _bus(self, question: Callable[..., Any], *about: Handle) -> str:
        return pci_address(self._text(lambda _: question(*about).busId, None)) or ""

    def _mask(self, question: Callable[[Handle], Iterable[int]], handle: Handle) -> int:
        """A set that comes in words of 64 bits, the lowest first."""
        return self._ask(0, lambda: sum(word << 64 * place for place, word in enumerate(question(handle))))

    def _memory(self, handle: Handle) -> int:
        return self._ask(0, lambda handle: int(self.nvml.nvmlDeviceGetMemoryInfo(handle).total), handle)

    def in_use(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for handle, bus in zip(self.handles, self.buses, strict=True):
            used = self._ask(None, lambda handle: int(self.nvml.nvmlDeviceGetMemoryInfo(handle).used), handle)
            names = {self._text(lambda handle: self.nvml.nvmlDeviceGetUUID(handle), handle), bus} - {""}
            found.update(dict.fromkeys(names, used) if used is not None else {})
        return found

    def _gpu(self, index: int, *, offered: bool) -> Device:
        handle, label = self.handles[index], f"GPU{index}"
        near = self._mask(lambda handle: self.nvml.nvmlDeviceGetMemoryAffinity(handle, NODE_WORDS, NEAR_NODE), handle)
        return Device(
            resource="nvidia.com/gpu" if offered else "",
            id=self._text(lambda handle: self.nvml.nvmlDeviceGetUUID(handle), handle) or self.buses[index] or label,
            kind="gpu",
            name=self._text(lambda handle: self.nvml.nvmlDeviceGetName(handle), handle),
            label=label,
            bus=self.buses[index],
            memory=self._memory(handle),
            cpus=self._mask(lambda handle: self.nvml.nvmlDeviceGetCpuAffinity(handle, CPU_WORDS), handle),
            driver_numa=next(members(near)) if near.bit_count() == 1 else None,
        )

    def _mig_handles(self, handle: Handle) -> Iterator[tuple[int, Handle]]:
        """The places of slices, some of which are empty."""
        mode = self._ask(0, lambda handle: next(iter(self.nvml.nvmlDeviceGetMigMode(handle))), handle)
        if mode != MIG_ENABLED:
            return
        for position in range(self._ask(0, lambda handle: self.nvml.nvmlDeviceGetMaxMigDeviceCount(handle), handle)):
            found = self._ask(
                None, lambda *about: self.nvml.nvmlDeviceGetMigDeviceHandleByIndex(*about), handle, position
            )
            if found is not None:
                yield position, found

    def _slice(self, position: int, handle: Handle, gpu: Device) -> Device:
        name = self._text(lambda handle: self.nvml.nvmlDeviceGetName(handle), handle)
        profile = re.search(r"MIG (\S{1,40})", name)
        label = f"{gpu.label}:{position}"
        return Device(
            resource=mig_resource(profile[1]) if profile is not None else "",
            id=self._text(lambda handle: self.nvml.nvmlDeviceGetUUID(handle), handle) or label,
            kind="mig",
            name=name,
            label=label,
            memory=self._memory(handle),
            parent=gpu.id,
        )

    def _links(self, gpus: list[Device]) -> tuple[Link, ...]:
        nvlinks = [self._nvlinks(handle) for handle in self.handles]
        return tuple(
            Link(a=gpus[a].id, b=gpus[b].id, kind=kind)
            for a in range(len(gpus))
            for b in range(a + 1, len(gpus))
            if (kind := self._kind(a, b, nvlinks))
        )

    def _nvlinks(self, handle: Handle) -> dict[str, int]:
        """Number of active NVLinks per PCI address of the GPU at the other end; all that lead to a switch together."""
        ends: dict[str, int] = {}
        for link in range(self.nvml.NVML_NVLINK_MAX_LINKS):
            if not self._ask(0, lambda *about: self.nvml.nvmlDeviceGetNvLinkState(*about), handle, link):
                continue
            kind = self._ask(
                NVLINK_UNKNOWN, lambda *about: self.nvml.nvmlDeviceGetNvLinkRemoteDeviceType(*about), handle, link
            )
            bus = self._bus(lambda *about: self.nvml.nvmlDeviceGetNvLinkRemotePciInfo(*about), handle, link)
            if bus in self.buses and bus:
                ends[bus] = ends.get(bus, 0) + 1
            # Old drivers do not tell what is at the other end; what is no GPU of this machine is a switch.
            elif kind in (NVLINK_SWITCH, NVLINK_UNKNOWN):
                ends[_SWITCH] = ends.get(_SWITCH, 0) + 1
        return ends

    def _kind(self, a: int, b: int, nvlinks: list[dict[str, int]]) -> str:
        direct = max(nvlinks[a].get(self.buses[b], 0), nvlinks[b].get(self.buses[a], 0))
        count = direct or min(nvlinks[a].get(_SWITCH, 0), nvlinks[b].get(_SWITCH, 0))
        if count:
            return f"NV{count}"
        ancestor = self._ask(
            None,
            lambda *about: self.nvml.nvmlDeviceGetTopologyCommonAncestor(*about),
            self.handles[a],
            self.handles[b],
        )
        return _ANCESTORS.get(ancestor, "") if ancestor is not None else ""
