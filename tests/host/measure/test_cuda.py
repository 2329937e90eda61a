"""The driver's calls in their order, against a library of our own that has the same names and copies for real.

What a GPU does cannot be tested here. With an H200 the same calls gave 55 GB/s both ways, as PyTorch's own copies did.
"""

import ctypes
import subprocess
from pathlib import Path
from shutil import which

import pytest

from numafit.host.measure.cuda import Copies, Cuda, CudaError
from numafit.host.measure.pages import NodeMemory

DRIVER = r"""
#include <stdlib.h>
#include <string.h>
static int retained, registered; static void *room; int full, pinned_elsewhere;
int open_things(void) { return retained + registered + (room != 0); }
int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuGetErrorName(int code, const char **word) {
    *word = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 712 ? "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" : 0;
    return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int index) { *device = 7 + index; return 0; }
int cuDeviceGetName(char *text, int size, int device) { strncpy(text, "NVIDIA Test", size); return device != 7; }
int cuDeviceGetPCIBusId(char *text, int size, int device) { strncpy(text, "0000:3B:00.0", size); return device != 7; }
int cuDevicePrimaryCtxRetain(void **context, int device) { retained++; *context = &retained; return device != 7; }
int cuDevicePrimaryCtxRelease_v2(int device) { retained--; return device != 7; }
int cuCtxSetCurrent(void *context) { return context != &retained; }
int cuCtxSynchronize(void) { return 0; }
int cuMemHostRegister_v2(void *from, size_t size, unsigned flags) {
    if (pinned_elsewhere) return 712; registered++; return flags; }
int cuMemHostUnregister(void *from) { registered--; return 0; }
int cuMemAlloc_v2(unsigned long long *at, size_t size) {
    if (full) return 2; room = malloc(size); *at = (unsigned long long)room; return 0; }
int cuMemFree_v2(unsigned long long at) { free((void *)at); room = 0; return 0; }
int cuMemcpyHtoD_v2(unsigned long long to, void *from, size_t size) { memcpy((void *)to, from, size); return 0; }
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size) { memcpy(to, (void *)from, size); return 0; }
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    if which("gcc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    library = str(folder / "libdriver.so")
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", library, str(folder / "driver.c")], check=True)
    return library


def opened(cuda: Cuda) -> int:
    return int(cuda.library.open_things())


def test_copies_go_there_and_back_and_leave_nothing(driver: str) -> None:
    """The memory holds what it held, for it is read on afterwards."""
    cuda = Cuda(driver)
    (gpu,) = cuda.gpus()
    assert (gpu.bus, gpu.name) == ("0000:3b:00.0", "NVIDIA Test")
    memory = NodeMemory(0, 1 << 20)
    memory.fill(alone=True)
    before = memory.map[:]
    copies = Copies(gpu, memory)
    assert opened(cuda) == 3
    assert copies.to_gpu() > 0
    assert copies.from_gpu() > 0
    copies.close()
    assert (opened(cuda), memory.map[:] == before) == (0, True)
    memory.close()


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ("full", "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"),
        ("pinned_elsewhere", "cuMemHostRegister_v2: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"),
    ],
)
def test_a_refusal_is_told_in_the_drivers_words_and_leaves_nothing(driver: str, switch: str, said: str) -> None:
    cuda = Cuda(driver)
    memory = NodeMemory(0, 1 << 20)
    flag = ctypes.c_int.in_dll(cuda.library, switch)
    flag.value = 1
    try:
        with pytest.raises(CudaError, match=said):
            Copies(cuda.gpus()[0], memory)
    finally:
        flag.value = 0
        memory.close()
    assert opened(cuda) == 0


def test_a_driver_that_is_missing_or_too_old_is_told(driver: str, tmp_path: Path) -> None:
    with pytest.raises(CudaError, match=r"none\.so cannot be loaded"):
        Cuda(str(tmp_path / "none.so"))
    with pytest.raises(CudaError, match="cuNewCall is not in this driver"):
        Cuda(driver).call("cuNewCall")
