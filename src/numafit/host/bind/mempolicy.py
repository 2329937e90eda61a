"""The memory policy of a thread, as the kernel is asked for it: the modes, in which order they are tried, and the two
system calls. It loads next to nothing: a job that has waited starts with it (`host.wake`).
"""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY = range(6)
"""Modes of a memory policy; PREFERRED_MANY exists since Linux 5.15."""
BALANCING = 0x2000
"""A flag of a mode: where the kernel moves pages to who uses them, it goes on doing so among the nodes of the policy.
Only PREFERRED_MANY (since Linux 6.10) and BIND take it."""
_MODE_FLAGS = 0xE000
_MODE_NAMES = {
    DEFAULT: "default",
    PREFERRED: "preferred",
    BIND: "bind",
    INTERLEAVE: "interleave",
    LOCAL: "local",
    PREFERRED_MANY: "preferred",
}

_CALLS = {"x86_64": {"set": 238, "get": 239}, "aarch64": {"set": 237, "get": 236}}
"""Numbers of set_mempolicy and get_mempolicy by architecture."""

_NODE_BITS = 4096
"""Wider than any kernel's node mask: a narrower one is refused by get_mempolicy."""


def modes_for(way: str, nodes: int) -> list[int]:
    """How memory can come from the nodes (a mask) in one of the ways of `target`, best first. One node can be preferred
    by any kernel, several since Linux 5.15: on an older one memory then comes from the node of the CPU that asks for
    it, which is what a kernel does by itself."""
    if way == "interleave":
        return [INTERLEAVE]
    plain = PREFERRED_MANY if nodes.bit_count() > 1 else PREFERRED
    preferred = [PREFERRED_MANY | BALANCING, plain]
    return [BIND, *preferred] if way == "bind" else preferred


def mode_name(mode: int) -> str:
    return _MODE_NAMES.get(mode, f"mode {mode}")


def set_policy(mode: int, nodes: int) -> None:
    """Of the calling thread; its future children and programs inherit it. Raises `OSError`."""
    ctypes = _ctypes()
    # The kernel counts one bit less than it is told.
    _call("set", ctypes.c_long(mode), ctypes.byref(_node_words(nodes)), ctypes.c_ulong(_NODE_BITS + 1))


def get_policy() -> tuple[int, int]:
    """Mode without its flags, and nodes. Raises `OSError`."""
    ctypes = _ctypes()
    mode, words, zero = ctypes.c_int(), _node_words(0), ctypes.c_ulong(0)
    _call("get", ctypes.byref(mode), ctypes.byref(words), ctypes.c_ulong(_NODE_BITS + 1), zero, zero)
    return mode.value & ~_MODE_FLAGS, int.from_bytes(bytes(words), "little")


def _node_words(nodes: int) -> "Any":
    """An array of bytes; its type exists only once ctypes is loaded."""
    if nodes.bit_length() > _NODE_BITS:
        raise _failed(errno.EINVAL)
    size = _NODE_BITS // 8 + 8
    return (_ctypes().c_ubyte * size).from_buffer_copy(nodes.to_bytes(size, "little"))


def _call(name: str, *arguments: object) -> None:
    number = _CALLS.get(os.uname().machine, {}).get(name)
    if number is None:
        raise _failed(errno.ENOSYS)
    ctypes = _ctypes()
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    if function(ctypes.c_long(number), *arguments) < 0:
        raise _failed(ctypes.get_errno())


def _ctypes() -> "Any":
    """Loaded by the first call, since most starts of numafit do not need it; there are Pythons without it."""
    try:
        import ctypes
    except ImportError:
        raise _failed(errno.ENOSYS) from None
    return ctypes


def _failed(code: int) -> OSError:
    return OSError(code, os.strerror(code))
