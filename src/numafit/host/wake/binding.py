"""Binds this process as it was foreseen, and believes only the kernel."""

from __future__ import annotations

import os

from numafit.host.bind.mempolicy import BALANCING, get_policy, mode_name, modes_for, set_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ALL_CPUS = range(8192)
"""As many as a kernel can be built for; it takes no notice of those that it does not have."""


class Unforeseen(Exception):
    """Something is not as it was when the process went to sleep."""


def bind(plan: dict[str, Any], lease_id: str, cpus: str, mems: str, way: str) -> tuple[str, str]:
    """The nodes that memory comes from and its policy, as in `Bound`. `cpus` and `mems` are lists like 0-3,8. Raises
    `Unforeseen` or `OSError`; then its group may be left behind, which holds nothing."""
    forced = mems if way == "bind" else ""
    inside = forced or plan["within"]
    if plan["folder"]:
        group = f"{plan['folder']}/{lease_id}"
        os.mkdir(group)
        _write(f"{group}/cpuset.cpus", cpus)
        if inside or plan["default_mems"]:
            _write(f"{group}/cpuset.mems", inside or plan["default_mems"])
        if plan["migrate"]:
            _write(f"{group}/cpuset.memory_migrate", "1")
        _write(f"{group}/cgroup.procs", str(os.getpid()))
        os.sched_setaffinity(0, _ALL_CPUS)
    else:
        os.sched_setaffinity(0, numbers(cpus))
    found_cpus, found_mems = _allowed()
    if numbers(found_cpus) != numbers(cpus) or (plan["folder"] and inside and numbers(found_mems) != numbers(inside)):
        raise Unforeseen
    if not mems or (plan["folder"] and forced):
        return found_mems, ""
    if way == "prefer" and found_mems and numbers(found_mems) <= numbers(mems):
        # All memory that it may use is as good.
        return mems, ""
    return mems, _directed(way, mems)


def _directed(way: str, mems: str) -> str:
    """Only the first form that the kernel takes as it was meant; with another one there is something to tell."""
    nodes = sum(1 << node for node in numbers(mems))
    for mode in modes_for(way, nodes):
        plain = mode & ~BALANCING
        try:
            set_policy(mode, nodes)
        except OSError:
            if not mode & BALANCING:
                raise Unforeseen from None
            continue
        if get_policy() != (plain, nodes):
            raise Unforeseen
        return f"{mode_name(plain)} {mems}"
    raise Unforeseen


def _allowed() -> tuple[str, str]:
    with open("/proc/self/status", "rb", buffering=0) as file:
        lines = file.read(1 << 16).splitlines()
    found = {line.partition(b":")[0]: line.partition(b":")[2].strip().decode() for line in lines}
    return found[b"Cpus_allowed_list"], found.get(b"Mems_allowed_list", "")


def numbers(text: str) -> set[int]:
    """Of a list like 0-3,8. Raises `Unforeseen`."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (not last or last.isdecimal())) or int(last or first) >= len(_ALL_CPUS):
            raise Unforeseen
        found.update(range(int(first), int(last or first) + 1))
    return found


def _write(path: str, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)
