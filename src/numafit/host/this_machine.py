"""This machine, as its kernel and the tools on it describe it."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec.structs import replace

from numafit.errors import InputError, NeedsLinuxError
from numafit.host.host import Host
from numafit.host.request import JobRequest
from numafit.host.usage import Usage, read_nodes
from numafit.machine import source
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
    """Without `devices` the driver of the GPUs is not asked: they are missing or known by PCI address only, and their
    links are not told."""
    sources = list(live_sources(driver=devices))
    if not devices:
        return sources[0].machine
    # A job without devices starts quicker without it.
    from numafit.machine.combine.machine import combine

    return combine(sources).machine


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


def looked_at(host: Host, request: JobRequest) -> Host:
    """The host with what is really in use now, where it is this machine and matters to the request; the driver is asked
    for GPUs only."""
    if not host.live or not request.holds:
        return host
    gpus: Mapping[str, int] = {}
    if request.devices.get(NVIDIA):
        from numafit.host.gpu.nvml import memory_in_use

        with suppress(InputError):
            gpus = memory_in_use()
    nodes = [node.id for node in host.machine.numa_nodes if node.memory]
    return replace(host, usage=Usage(read_nodes(nodes, live_tree().text), gpus))


def tool_outputs() -> dict[str, str]:
    """By file name, for those tools that are there and answer in time."""
    return {name: answer for name, lines in TOOLS.items() if (answer := first_answer(lines))}


def first_answer(lines: tuple[tuple[str, ...], ...]) -> str:
    return next((answer for line in lines if (answer := _answer(line))), "")


def _answer(command: tuple[str, ...]) -> str:
    """What a command prints; empty when it fails, is missing or does not end."""
    # Jobs without devices ask no tool, and start quicker without it.
    import subprocess

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
