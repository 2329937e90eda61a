"""What numafit would make of `docker run` command lines on a machine, and what is wrong with them as written."""

import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of
from numafit.errors import InputError
from numafit.host.docker.command_line import (
    DockerOption,
    DockerRun,
    ScriptLine,
    cpu_limit,
    gpus_of,
    numbers_of,
    size_of,
)
from numafit.host.docker.options import AddedFlags, placement_flags
from numafit.host.grant import Refused, planned_lease, sentence_of
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.machine.model import Device, Machine
from numafit.quantity import Quantity

GPU = "nvidia.com/gpu"
OURS = ("cpuset-cpus", "cpuset-mems", "gpus")
"""The options that numafit writes itself."""
_READ = (*OURS, "cpus", "cpu-quota", "cpu-period", "memory")
"""Those whose values count in a review."""


class DockerPlan(msgspec.Struct, frozen=True):
    lease: Lease
    """As it would be; without an id that means anything."""
    cpus: int
    added: AddedFlags


def plan_for(
    host: Host, leases: Sequence[Lease], request: JobRequest, run: DockerRun, client: str = "docker"
) -> DockerPlan | Refused:
    found = planned_lease(host, leases, request)
    if isinstance(found, Refused):
        return found
    return DockerPlan(found.lease, found.cpus, placement_flags(found.lease, found.cpus, host.machine, run, client))


# Lines as they are written


class WrittenRun(msgspec.Struct, frozen=True):
    """What a command line asks Docker for; 0 and nothing: it leaves that open."""

    cpus: int = 0
    mems: int = 0
    gpus: tuple[Device, ...] = ()
    request: JobRequest = JobRequest()
    faults: tuple[str, ...] = ()
    unknown: Mapping[str, str] = {}
    """Options whose values a shell puts in (`$CPUS`), which nobody knows here; they are left out."""


class Review(msgspec.Struct, frozen=True):
    line: ScriptLine
    written: WrittenRun
    plan: DockerPlan | None
    refused: str = ""
    """Why numafit would not give it what it asks for, after the lines before it."""
    clashes: tuple[str, ...] = ()
    """What it shares with lines before it."""

    @property
    def faulty(self) -> bool:
        return bool(self.written.faults or self.clashes or self.refused)


def written_by(run: DockerRun, machine: Machine) -> WrittenRun:
    unknown = {one.name: one.value for one in run.options if _is_unknown(one)}
    run = _known(run)
    faults: list[str] = []
    cpus = numbers_of(run.value("cpuset-cpus") or "0", "cpuset-cpus") if run.value("cpuset-cpus") else 0
    mems = numbers_of(run.value("cpuset-mems") or "0", "cpuset-mems") if run.value("cpuset-mems") else 0
    online = mask_of(cpu.id for cpu in machine.cpus if cpu.online)
    if cpus & ~online:
        faults.append(f"CPUs {cpuset_text(cpus & ~online)} are not on this machine")
    gpus, count = _gpus(run, machine, faults)
    limit = cpu_limit(run)
    memory = run.value("memory")
    request = JobRequest(
        cpus=(cpus & online).bit_count() or math.ceil(limit or 0),
        memory=size_of(memory, "memory") if memory is not None else 0,
        devices={GPU: count} if count else {},
        name=run.value("name") or "",
        bind="bind" if mems else "",
    )
    written = WrittenRun(cpus & online, mems, gpus, request, unknown=unknown)
    return replace(written, faults=(*faults, *_misaligned(written, machine)))


def _gpus(run: DockerRun, machine: Machine, faults: list[str]) -> tuple[tuple[Device, ...], int]:
    """Those that are named, and how many are asked for."""
    text = run.value("gpus")
    if text is None:
        return (), 0
    wanted = gpus_of(text)
    there = [device for device in machine.devices if device.resource == GPU]
    if wanted.count is not None:
        return (), len(there) if wanted.count < 0 else wanted.count
    found = []
    for name in wanted.devices:
        device = next((one for one in there if name in (one.id, one.label.removeprefix("GPU"))), None)
        if device is None:
            faults.append(f"GPU {name} is not on this machine")
        else:
            found.append(device)
    return tuple(found), len(wanted.devices)


def _misaligned(written: WrittenRun, machine: Machine) -> list[str]:
    nodes = mask_of(cpu.numa for cpu in machine.cpus if written.cpus >> cpu.id & 1)
    faults = []
    if nodes and written.mems & ~nodes:
        far = cpuset_text(written.mems & ~nodes)
        faults.append(f"its memory may come from node {far}, its CPUs are on node {cpuset_text(nodes)}")
    for gpu in written.gpus:
        near = mask_of(gpu.numa or ())
        if nodes and near and not near & nodes:
            faults.append(f"{gpu.label or gpu.id} is on node {cpuset_text(near)}, its CPUs are on {cpuset_text(nodes)}")
    if written.gpus and not nodes and "cpuset-cpus" not in written.unknown:
        faults.append("it has GPUs, and its CPUs may be anywhere: --cpuset-cpus is missing")
    return faults


def _is_unknown(option: DockerOption) -> bool:
    return option.name in _READ and ("$" in option.value or "`" in option.value)


def _known(run: DockerRun) -> DockerRun:
    return replace(run, options=tuple(one for one in run.options if not _is_unknown(one)))


def review(host: Host, leases: Sequence[Lease], lines: Sequence[ScriptLine], source: str = "") -> list[Review]:
    """In their order, each on top of those before it. `source` is the name of their file."""
    held = list(leases)
    reviews: list[Review] = []
    for line in lines:
        try:
            written = written_by(line.run, host.machine)
        except InputError as error:
            where = f"{error.source}: {error.message}"
            raise InputError(where, source=source, line=line.number, cure=error.cure) from None
        clashes = tuple(clash for before in reviews if (clash := _clash(written, before)))
        # The amounts are the line's own; only what numafit chooses is taken out of it.
        own = replace(line.run, options=tuple(one for one in _known(line.run).options if one.name not in OURS))
        planned = plan_for(host, held, written.request, own)
        if isinstance(planned, Refused):
            reviews.append(Review(line, written, None, sentence_of(planned), clashes))
        else:
            held.append(planned.lease)
            reviews.append(Review(line, written, planned, "", clashes))
    return reviews


def _clash(written: WrittenRun, before: Review) -> str:
    cpus = written.cpus & before.written.cpus
    gpus = [gpu.label or gpu.id for gpu in written.gpus if gpu in before.written.gpus]
    parts = [f"CPUs {cpuset_text(cpus)}"] if cpus else []
    parts += [", ".join(gpus)] if gpus else []
    return f"{' and '.join(parts)} are also those of line {before.line.number}" if parts else ""


def numafit_words(written: WrittenRun, run: DockerRun) -> list[str]:
    """The command line that asks numafit for the same."""
    request = written.request
    words = ["numafit", "docker", "run"]
    if request.cpus:
        words += ["--cpus", str(request.cpus)]
    if request.memory:
        words += ["--memory", str(Quantity(request.memory, 0, "BinarySI"))]
    if written.mems and not request.memory:
        words += ["--memory-bind", "bind"]
    if request.devices.get(GPU):
        words += ["--gpus", str(request.devices[GPU])]
    return [*words, "--", *run.words(without=OURS)]
