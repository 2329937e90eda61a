"""Machine code for what Python is too slow for: a chain of loads, and a message that goes to and fro.

`chase(base, offset, loads)` takes the offset of the next load out of memory, so that no load can begin before the one
before it has ended; it gives the last offset. `answer(line, number, turns, patience)` waits until `line` holds
`number`, puts the next number there, and waits for the one after that; it gives the turns that were left when
it lost patience, which is counted in looks at the line and not in seconds.

The bytes are what an assembler makes of the text beside them; a test asks one. The file in memory is written first and
then mapped without the right to write, which is also what lets the kernel bring instruction caches up to date.
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from functools import cache

import msgspec

ASSEMBLY = {
    "x86_64": {
        "chase": """1: mov (%rdi,%rsi), %rsi
                       dec %rdx
                       jnz 1b
                       mov %rsi, %rax
                       ret""",
        "answer": """  mov %rcx, %r8
                    1: cmp %rsi, (%rdi)
                       je 2f
                       dec %r8
                       jnz 1b
                       jmp 3f
                    2: inc %rsi
                       mov %rsi, (%rdi)
                       inc %rsi
                       mov %rcx, %r8
                       dec %rdx
                       jnz 1b
                    3: mov %rdx, %rax
                       ret""",
    },
    "aarch64": {
        "chase": """1: ldr x1, [x0, x1]
                       subs x2, x2, #1
                       b.ne 1b
                       mov x0, x1
                       ret""",
        "answer": """  mov x4, x3
                    1: ldar x5, [x0]
                       cmp x5, x1
                       b.eq 2f
                       subs x4, x4, #1
                       b.ne 1b
                       b 3f
                    2: add x1, x1, #1
                       stlr x1, [x0]
                       add x1, x1, #1
                       mov x4, x3
                       subs x2, x2, #1
                       b.ne 1b
                    3: mov x0, x2
                       ret""",
    },
}
MACHINE_CODE = {
    "x86_64": {
        "chase": "488b3437 48ffca 75f7 4889f0 c3",
        "answer": "4989c8 483937 7407 49ffc8 75f6 eb11 48ffc6 488937 48ffc6 4989c8 48ffca 75e3 4889d0 c3",
    },
    "aarch64": {
        "chase": "016861f8 420400f1 c1ffff54 e00301aa c0035fd6",
        "answer": "e40303aa 05fcdfc8 bf0001eb 80000054 840400f1 81ffff54 07000014"
        "21040091 01fc9fc8 21040091 e40303aa 420400f1 a1feff54 e00302aa c0035fd6",
    },
}
"""By the name that the kernel gives the architecture."""

_PLACE = 64
"""Bytes between the beginnings of two functions."""


class Functions(msgspec.Struct, frozen=True):
    chase: Callable[[int, int, int], int]
    answer: Callable[[int, int, int, int], int]


@cache
def functions() -> Functions | str:
    """A text says why there are none."""
    architecture = os.uname().machine
    known = MACHINE_CODE.get(architecture)
    if known is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"no code for {architecture}, only for {' and '.join(MACHINE_CODE)}"
    try:
        start = _executable(b"".join(bytes.fromhex(text).ljust(_PLACE, b"\0") for text in known.values()))
    except OSError as error:
        return f"the kernel lets no code of ours be executed: {error.strerror}"
    number = ctypes.c_long
    return Functions(
        ctypes.CFUNCTYPE(number, number, number, number)(start),
        ctypes.CFUNCTYPE(number, number, number, number, number)(start + _PLACE),
    )


def _executable(code: bytes) -> int:
    """The address where it is mapped, for as long as the process lives."""
    file = os.memfd_create("numafit-measure", os.MFD_CLOEXEC)
    try:
        os.write(file, code.ljust(mmap.PAGESIZE, b"\0"))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        found = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file, 0)
    finally:
        os.close(file)
    if found is None or found == ctypes.c_void_p(-1).value:
        code_of = ctypes.get_errno()
        raise OSError(code_of, os.strerror(code_of))
    return int(found)
