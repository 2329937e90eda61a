"""This machine, as its kernel and the tools on it describe it."""

import os
import subprocess
import sys
from collections.abc import Iterator

from numafit.errors import InputError, NeedsLinuxError
from numafit.machine import source
from numafit.machine.combine.machine import combine
from numafit.machine.model import Machine
from numafit.machine.read.sysfs.archive import LARGEST_FILE
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.tree import live_tree
from numafit.machine.source import Source

TIMEOUT = 20.0
"""Seconds for each of the other tools; a sick GPU driver can hang for ever."""

NVIDIA = "nvidia.com/gpu"

TOOLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "numactl-hardware.txt": (("numactl", "--hardware"),),
    "lscpu.txt": (("lscpu",),),
    "lscpu-p.txt": (("lscpu", "-p"),),
    "nvidia-smi-topo-m.txt": (("nvidia-smi", "topo", "-m"),),
    "nvidia-smi-L.txt": (("nvidia-smi", "-L"),),
    "lstopo.xml": (("lstopo-no-graphics", "--of", "xml"), ("lstopo", "--of", "xml")),
}
"""File name -> command lines, of which the first that answers counts."""


def live_machine(*, devices: bool = True) -> Machine:
    """Without `devices` the driver of the GPUs is not asked: they are missing or known by PCI address only."""
    return combine(list(live_sources(driver=devices))).machine


def live_sources(*, driver: bool = True) -> Iterator[Source]:
    if sys.platform != "linux":
        raise NeedsLinuxError("a look at this machine itself")
    machine = read_sysfs(live_tree(), "/")
    yield Source("/sys", machine, source.SYSFS)
    if driver and any(device.resource == NVIDIA for device in machine.devices):
        yield from _driver_sources()


def _driver_sources() -> Iterator[Source]:
    """What NVIDIA's driver says; its library is an extra, its command line tool comes with it."""
    from numafit.host.gpu.nvml import read_nvml

    try:
        yield Source("NVML", read_nvml(), source.NVML)
    except InputError:
        from numafit.machine.read.recognise import source_of

        for file, lines in TOOLS.items():
            if file.startswith("nvidia-smi"):
                text = first_answer(lines)
                if text:
                    yield source_of(text.encode(), file.removesuffix(".txt"))


def tool_outputs() -> dict[str, str]:
    """By file name, for those tools that are there and answer in time."""
    return {name: answer for name, lines in TOOLS.items() if (answer := first_answer(lines))}


def first_answer(lines: tuple[tuple[str, ...], ...]) -> str:
    return next((answer for line in lines if (answer := _answer(line))), "")


def _answer(command: tuple[str, ...]) -> str:
    """What a command prints; empty when it fails, is missing or does not end."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace") if len(done.stdout) <= LARGEST_FILE else ""
