"""Copies between memory of a NUMA node and a GPU, through NVIDIA's driver library (libcuda), which needs no toolkit.

The memory is ours, on the node that was proved, and is pinned by the driver for the time of the copies; without that
it would copy by way of a buffer of its own, wherever that lies.
"""

import ctypes
import os
import time
from collections.abc import Callable
from typing import Any

from numafit.host.measure.pages import NodeMemory

LIBRARY = "libcuda.so.1"
MOST = 256 << 20
"""Bytes of one copy."""


class CudaError(Exception):
    """The driver's own word for what went wrong."""


class Cuda:
    """The driver, started for this process. GPUs are counted as CUDA_VISIBLE_DEVICES lets them be seen."""

    def __init__(self, library: str = LIBRARY) -> None:
        # So that they come in the order of their addresses; the driver reads it once.
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        try:
            self.library: Any = ctypes.CDLL(library)
        except OSError:
            raise CudaError(f"{library} cannot be loaded") from None
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: object) -> None:
        try:
            code = getattr(self.library, name)(*arguments)
        except AttributeError:
            raise CudaError(f"{name} is not in this driver") from None
        if code:
            word = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(word))
            raise CudaError(f"{name}: {(word.value or str(code).encode()).decode('ascii', 'replace')}")

    def gpus(self) -> list["CudaGpu"]:
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return [CudaGpu(self, index) for index in range(count.value)]


class CudaGpu:
    def __init__(self, cuda: Cuda, index: int) -> None:
        self.cuda, self.index = cuda, index
        self.device = ctypes.c_int()
        cuda.call("cuDeviceGet", ctypes.byref(self.device), index)
        self.name = self._text("cuDeviceGetName")
        self.bus = self._text("cuDeviceGetPCIBusId").lower()

    def _text(self, question: str) -> str:
        buffer = ctypes.create_string_buffer(100)
        self.cuda.call(question, buffer, len(buffer), self.device)
        return buffer.value.decode("utf-8", "replace")


class Copies:
    """Between a GPU and some memory that is pinned; to be used and closed in one thread."""

    def __init__(self, gpu: CudaGpu, memory: NodeMemory) -> None:
        self.cuda, self.gpu = gpu.cuda, gpu
        self.size = min(memory.size, MOST)
        self.host = ctypes.c_void_p(memory.address)
        self.there = ctypes.c_uint64()
        self._undo: list[Callable[[], None]] = []
        try:
            self._open()
        except CudaError:
            self.close()
            raise

    def _open(self) -> None:
        call, device = self.cuda.call, self.gpu.device
        context = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._undo.append(lambda: call("cuDevicePrimaryCtxRelease_v2", device))
        call("cuCtxSetCurrent", context)
        call("cuMemHostRegister_v2", self.host, ctypes.c_size_t(self.size), 0)
        self._undo.append(lambda: call("cuMemHostUnregister", self.host))
        call("cuMemAlloc_v2", ctypes.byref(self.there), ctypes.c_size_t(self.size))
        self._undo.append(lambda: call("cuMemFree_v2", self.there))

    def to_gpu(self) -> float:
        """Bytes per second. It comes first: what is copied back is what was there."""
        return self._timed("cuMemcpyHtoD_v2", self.there, self.host)

    def from_gpu(self) -> float:
        return self._timed("cuMemcpyDtoH_v2", self.host, self.there)

    def _timed(self, name: str, *places: object) -> float:
        begun = time.perf_counter()
        self.cuda.call(name, *places, ctypes.c_size_t(self.size))
        self.cuda.call("cuCtxSynchronize")
        return self.size / (time.perf_counter() - begun)

    def close(self) -> None:
        while self._undo:
            self._undo.pop()()
