"""Runs inside of a job: memory that is near at first, and later comes from another NUMA node.

`python3 drift.py NODE MARK`: it touches 40 MiB, makes the file MARK, waits for MARK.go, takes 60 MiB from NODE
and makes MARK.far; it stays until MARK is gone.
"""

import ctypes
import sys
import time
from pathlib import Path

SET_MEMPOLICY, BIND, PAGE = 238, 2, 4096


def touched(mebibytes: int) -> bytearray:
    block = bytearray(mebibytes << 20)
    for place in range(0, len(block), PAGE):
        block[place] = 1
    return block


def main() -> None:
    node, mark = int(sys.argv[1]), Path(sys.argv[2])
    near = touched(40)
    mark.touch()
    while not Path(f"{mark}.go").exists():
        time.sleep(0.05)
    mask = ctypes.c_ulong(1 << node)
    if ctypes.CDLL(None, use_errno=True).syscall(SET_MEMPOLICY, BIND, ctypes.byref(mask), 64):
        raise OSError(ctypes.get_errno(), "set_mempolicy")
    far = touched(60)
    Path(f"{mark}.far").touch()
    while mark.exists():
        time.sleep(0.05)
    del near, far


if __name__ == "__main__":
    main()
