"""This machine, as its kernel and the tools on it describe it."""

import os
import sys
from collections.abc import Iterator, Mapping

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
from numafit.machine.read.text import pci_address
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

GPU_MEMORY = (("nvidia-smi", "--query-gpu=uuid,pci.bus_id,memory.used", "--format=csv,noheader,nounits"),)
GPUS_UNSEEN = (
    "whether GPUs that nobody holds are in use was not looked at: neither NVML (install numafit[gpu]) nor nvidia-smi "
    "answers"
)


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
    asked = any(device.resource == NVIDIA and device.bus for device in host.machine.devices)
    gpus = _gpu_memory_in_use() if asked and request.devices.get(NVIDIA) else {}
    nodes = [node.id for node in host.machine.numa_nodes if node.memory]
    unseen = () if gpus is not None else (GPUS_UNSEEN,)
    return replace(host, usage=Usage(read_nodes(nodes, live_tree().text), gpus or {}, unseen))


def _gpu_memory_in_use() -> Mapping[str, int] | None:
    """By UUID and by PCI address; None: neither the driver's library, which is an extra, nor its tool answers."""
    from numafit.host.gpu.nvml import memory_in_use

    try:
        return memory_in_use()
    except InputError:
        told = first_answer(GPU_MEMORY)
        return gpu_memory(told) if told else None


def gpu_memory(told: str) -> dict[str, int]:
    """Bytes, from lines of nvidia-smi with UUID, PCI address and MiB; a GPU that does not tell is left out."""
    found: dict[str, int] = {}
    for line in told.splitlines():
        uuid, _, rest = line.partition(",")
        bus, _, used = rest.partition(",")
        if used.strip().isdecimal():
            found.update(dict.fromkeys({uuid.strip(), pci_address(bus.strip()) or ""} - {""}, int(used) << 20))
    return found


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
