"""One process of a job of several: which number it has, and what the job as a whole may use."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from numafit.bits import CpusetError, cpuset_text, mask_of, parse_cpuset
from numafit.errors import InputError
from numafit.host import environment as names
from numafit.host.bind.target import Target
from numafit.host.lease import LeasePart
from numafit.host.request import main_resources
from numafit.host.run.share import RankShare, promised, shares
from numafit.machine.model import Device, Machine

_MOST = 4096
_NUMBER = re.compile(r"[0-9]{1,5}")
_TASKS = re.compile(r"([0-9]{1,5})(?:\(x([0-9]{1,5})\))?")
_LABEL = re.compile(r"GPU([0-9]+)")


SLURM = "Slurm"


class Launcher(msgspec.Struct, frozen=True):
    name: str
    rank: str
    """The variable with the number of the process on this machine; likewise the next one."""
    size: tuple[str, ...]
    """Variables with the number of processes on this machine, of which the first that is set counts."""
    binds: bool = True
    """Whether it binds each process by affinity, so that affinity says nothing about the job as a whole."""


LAUNCHERS = (
    Launcher("torchrun", "LOCAL_RANK", ("LOCAL_WORLD_SIZE",), binds=False),
    Launcher("DeepSpeed", "LOCAL_RANK", ("LOCAL_SIZE",), binds=False),
    Launcher("Open MPI", "OMPI_COMM_WORLD_LOCAL_RANK", ("OMPI_COMM_WORLD_LOCAL_SIZE",)),
    Launcher("MPICH", "MPI_LOCALRANKID", ("MPI_LOCALNRANKS",)),
    Launcher(SLURM, "SLURM_LOCALID", ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE")),
)
"""The innermost first: torchrun is started by the others."""


class Member(msgspec.Struct, frozen=True):
    launcher: Launcher
    rank: int
    size: int


class JobResources(msgspec.Struct, frozen=True):
    """What all processes of the job share."""

    cpus: int
    mems: int
    gpus: tuple[tuple[str, int | None], ...]
    """(id, NUMA node) by the number that frameworks give them."""
    lease: str
    notes: tuple[str, ...]
    shares: tuple[LeasePart, ...] = ()
    """What the lease was placed with for each process, where that is known."""


def find_member(environment: Mapping[str, str]) -> Member:
    for launcher in LAUNCHERS:
        if launcher.rank not in environment:
            continue
        size_name = next((name for name in launcher.size if name in environment), "")
        if not size_name:
            continue
        rank = _number(environment, launcher.rank)
        size = (_slurm_size if launcher.name == SLURM else _number)(environment, size_name)
        if not rank < size <= _MOST:
            raise InputError(
                f"{rank} is not one of {size} processes on this machine",
                source="environment",
                field=launcher.rank,
                cure=f"{launcher.rank} counts from 0 and {size_name} is at most {_MOST}",
            )
        return Member(launcher, rank, size)
    raise InputError(
        "no launcher says which of how many processes on this machine this is",
        source="environment",
        cure="start it under torchrun, mpirun or srun --ntasks-per-node, or set LOCAL_RANK and LOCAL_WORLD_SIZE",
    )


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name].strip()
    if not _NUMBER.fullmatch(text):
        raise InputError(f'"{text[:40]}" is not a number', source="environment", field=name)
    return int(text)


def _slurm_size(environment: Mapping[str, str], name: str) -> int:
    """`4`, or one entry per node of the step: `4(x2),3`, of which the node's own number picks one."""
    counts: list[int] = []
    for item in environment[name].split(","):
        found = _TASKS.fullmatch(item.strip())
        if found is None:
            raise InputError(f'"{item[:40]}" is not a number of tasks', source="environment", field=name)
        counts += [int(found[1])] * int(found[2] or 1)
    node = _number(environment, "SLURM_NODEID") if "SLURM_NODEID" in environment else 0
    return counts[min(node, len(counts) - 1)]


def find_resources(environment: Mapping[str, str], machine: Machine, allowed: Target, host: str = "") -> JobResources:
    """From the variables of the lease; without one, or on another host than the lease's, what the process is allowed,
    and the machine's GPUs. `host` is the name of this one."""
    lease = environment.get(names.LEASE, "")
    elsewhere = environment.get(names.HOST, "")
    if not lease or (host and elsewhere not in ("", host)):
        mems = allowed.mems & mask_of(node.id for node in machine.numa_nodes if node.memory and not node.device)
        gpus = _visible(environment, machine) or _all_gpus(machine)
        what = f"the lease {lease} is of the host {elsewhere}, and here there is none" if lease else "there is no lease"
        note = f"{what}: the CPUs {cpuset_text(allowed.cpus)} are not held against other jobs"
        return JobResources(allowed.cpus, mems, _located(gpus, machine), "", (note,))
    try:
        cpus, mems = (parse_cpuset(environment.get(name, "")) for name in (names.CPUS, names.MEMS))
        devices = names.parse_devices(environment.get(names.DEVICES, ""))
        shares = names.parse_shares(environment.get(names.SHARES, ""))
    except (CpusetError, ValueError) as error:
        cure = "they are set by `numafit run` and not meant to be changed"
        raise InputError(str(error), source="environment", field="NUMAFIT_*", cure=cure) from error
    notes = []
    if cpus & ~allowed.cpus:
        gone = cpuset_text(cpus & ~allowed.cpus)
        notes.append(f"the CPUs {gone} of the lease are not allowed to this process any more")
        cpus = cpus & allowed.cpus or allowed.cpus
        shares = ()
    known = {device.id for device in machine.devices if device.kind in ("gpu", "mig")}
    gpus = [id for ids in devices.values() for id in ids if id in known]
    gpus = gpus or names.nvidia_gpus(devices) or [id for name in main_resources(devices) for id in devices[name]]
    visible = _visible(environment, machine)
    # Frameworks count in the order in which the GPUs are visible.
    if sorted(visible) == sorted(gpus):
        gpus = visible
    mems = mems & allowed.mems if allowed.mems else mems
    return JobResources(cpus, mems, _located(gpus, machine), lease, tuple(notes), shares)


def shares_of(machine: Machine, facts: JobResources, size: int) -> tuple[tuple[RankShare, ...], tuple[str, ...]]:
    """The share of each process, and what is to be said about them."""
    if facts.shares and len(facts.shares) == size:
        return promised(machine, facts.shares, facts.gpus), facts.notes
    found = shares(machine, facts.cpus, facts.mems, facts.gpus, size)
    note = f"the lease was placed for --ranks {len(facts.shares)}, and there are {size}: its CPUs are shared out anew"
    return found, (*facts.notes, *([note] if facts.shares else ()))


def _visible(environment: Mapping[str, str], machine: Machine) -> list[str]:
    """What CUDA_VISIBLE_DEVICES names. A single one says nothing: some launchers show each process only its own."""
    by_number = {found[1]: device.id for device in machine.devices if (found := _LABEL.fullmatch(device.label))}
    items = [item.strip() for item in environment.get(names.CUDA, "").split(",")]
    gpus = [by_number.get(item, item) for item in items if item]
    return gpus if len(gpus) > 1 else []


def _all_gpus(machine: Machine) -> list[str]:
    """In the order of their PCI addresses, as the tools of the vendors count."""
    gpus = [device for device in machine.devices if device.kind == "gpu"]
    return [device.id for device in sorted(gpus, key=lambda device: device.bus)]


def _located(gpus: Sequence[str], machine: Machine) -> tuple[tuple[str, int | None], ...]:
    devices = {device.id: device for device in machine.devices}
    return tuple((gpu, _node(devices.get(gpu), devices)) for gpu in gpus)


def _node(device: Device | None, devices: Mapping[str, Device]) -> int | None:
    """A slice hangs where the GPU hangs that it is cut from."""
    if device is None:
        return None
    if device.numa:
        return device.numa[0]
    return device.driver_numa if not device.parent else _node(devices.get(device.parent), {})
