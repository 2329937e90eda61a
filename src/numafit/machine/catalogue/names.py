"""Machines that numafit knows by name, to try things and to plan with."""

from collections.abc import Callable
from typing import NamedTuple

from numafit.errors import InputError
from numafit.machine.catalogue import gpu, plain
from numafit.machine.model import Machine


class KnownMachine(NamedTuple):
    line: str
    build: Callable[[str], Machine]
    """Makes the machine; the name goes into it."""


ENTRIES: dict[str, KnownMachine] = {
    "p100-28cpu": KnownMachine(
        "28 CPUs without SMT, 2 NUMA nodes, 3 P100 (one and two); CPU 0 was reserved", gpu.p100_box
    ),
    "gpu8-128cpu": KnownMachine("128 CPUs, 2 NUMA nodes, 8 GPUs in pairs on PCIe switches", gpu.eight_gpu_box),
    "dgx-a100": KnownMachine("2 EPYC 7742 with 4 NUMA nodes each, 256 CPUs, 8 A100 with NVLink", gpu.dgx_a100),
    "dgx-h100": KnownMachine("2 Xeon 8480C, 224 CPUs, 2 NUMA nodes, 8 H100 with NVLink", gpu.dgx_h100),
    "hgx-a100-4numa": KnownMachine("HGX A100 with 4 GPUs, 2 EPYC 7402 with 4 NUMA nodes each, 96 CPUs", gpu.hgx_a100),
    "grace-hopper": KnownMachine("GH200: 72 CPUs, GPU memory as a NUMA node, 9 NUMA nodes", gpu.grace_hopper),
    "gb200": KnownMachine("2 Grace and 4 Blackwell, 144 CPUs, 34 NUMA nodes of which 2 have CPUs", gpu.gb200),
    "epyc-nps1": KnownMachine("2 EPYC 7763, 256 CPUs, 2 NUMA nodes of 8 uncore caches", plain.epyc_nps1),
    "epyc-nps4": KnownMachine("2 EPYC 7763, 256 CPUs, 8 NUMA nodes of 2 uncore caches", plain.epyc_nps4),
    "epyc-l3-numa": KnownMachine("2 EPYC 7763, 256 CPUs, each L3 cache a NUMA node: 16", plain.epyc_l3_as_numa),
    "xeon-snc4": KnownMachine("2 Xeon 8480+ with sub-NUMA clustering, 224 CPUs, 8 NUMA nodes", plain.xeon_snc4),
    "laptop": KnownMachine("Core i7-8565U: 4 cores of 2 threads, 1 NUMA node", plain.laptop),
    "hybrid-desktop": KnownMachine(
        "Core i9-12900K: 8 performance and 8 efficiency cores, 24 CPUs", plain.hybrid_desktop
    ),
}


def catalogue() -> dict[str, str]:
    """Each name with one line about the machine."""
    return {name: entry.line for name, entry in ENTRIES.items()}


def machine_named(name: str) -> Machine:
    entry = ENTRIES.get(name)
    if entry is None:
        cure = f"known are {', '.join(ENTRIES)}"
        raise InputError(f'no machine in the catalogue is called "{name[:60]}"', cure=cure)
    return entry.build(name)
