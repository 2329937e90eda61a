"""A lease as options of `docker run`: what numafit adds, and which of the user's own contradict it."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from numafit.bits import cpuset_text
from numafit.errors import InputError
from numafit.host.docker.command_line import DockerRun, cpu_limit, docker_size, size_of
from numafit.host.environment import CUDA, NVIDIA, OURS, lease_variables, nvidia_gpus
from numafit.host.lease import LEASE_LABEL, RECORD_LABEL, Lease, memory_of, record_of
from numafit.host.request import JobRequest
from numafit.machine.model import Machine
from numafit.quantity import Quantity

SHARED_MEMORY_PER_GPU = 8 << 30
"""Bytes of /dev/shm suggested for each GPU of a job with several; a limit, of which only what is used counts."""

_GPU_NAME = re.compile(r"(?:GPU|MIG)-.+|\d+", re.ASCII)
_GPU_LABEL = re.compile(r"GPU(\d+)", re.ASCII)
_GPU_FILE = re.compile(r"/dev/nvidia\d|/dev/dri\b|/dev/kfd\b")
_NO_GPUS = frozenset(("", "none", "void"))
_NEEDED = ("id", "name", "uid", "user", "since")
_NOT_TOLD = ("owners", "sentence", "notes", "allowed", "rung", "bound", "container", "engine")


class Contradiction(msgspec.Struct, frozen=True):
    option: str
    sentence: str
    cure: str

    def error(self) -> InputError:
        return InputError(self.sentence, source=f"--{self.option}", cure=self.cure)


def check_options(run: DockerRun, request: JobRequest) -> None:
    """Raises `InputError` for the first option that contradicts the lease."""
    if request.bind == "interleave":
        cure = "numactl --interleave=all inside of the container does it"
        raise InputError("Docker has no option for it", source="--memory-bind interleave", cure=cure)
    for found in contradictions(run, request):
        raise found.error()


def contradictions(run: DockerRun, request: JobRequest) -> Iterator[Contradiction]:
    gpus = sum(count for resource, count in request.devices.items() if _is_nvidia(resource))
    for option, what in (("cpuset-cpus", "CPUs"), ("cpuset-mems", "memory nodes")):
        if run.value(option) is not None:
            sentence = f"numafit chooses the {what} of the lease, and {run.value(option)} may be others"
            yield Contradiction(option, sentence, "leave it out, and ask with numafit's own --cpus before the --")
    if run.value("gpus") is not None:
        sentence = f"{run.value('gpus')} would give the container GPUs that are not those of its lease"
        yield Contradiction("gpus", sentence, "leave it out, and ask with numafit's own --gpus before the --")
    for device in run.values("device"):
        if _GPU_FILE.match(device) and gpus:
            sentence = f"{device} would give the container a GPU beside those of its lease"
            yield Contradiction("device", sentence, "leave it out: --gpus brings the device files that belong to it")
    yield from _variables(run, gpus)
    yield from _amounts(run, request)
    for label in run.values("label"):
        if label.partition("=")[0] in (LEASE_LABEL, RECORD_LABEL):
            yield Contradiction("label", f"{label.partition('=')[0]} is numafit's own", "choose another name")


def _variables(run: DockerRun, gpus: int) -> Iterator[Contradiction]:
    seen = run.variable(NVIDIA)
    if seen is not None and seen not in _NO_GPUS:
        sentence = f"{NVIDIA}={seen} would name other GPUs than the lease"
        yield Contradiction("env", sentence, "leave it out: numafit's own --gpus says which are visible")
    used = run.variable(CUDA)
    if used and gpus:
        numbers = [int(word) for word in used.split(",") if word.isascii() and word.isdecimal()]
        if not numbers or len(numbers) != len(used.split(",")) or max(numbers) >= gpus:
            sentence = f"{CUDA}={used} does not name the GPUs of the lease, which count from 0 to {gpus - 1} inside"
            yield Contradiction("env", sentence, "leave it out, or count them so")


def _amounts(run: DockerRun, request: JobRequest) -> Iterator[Contradiction]:
    limit = run.value("memory")
    if limit is not None and request.memory:
        size = size_of(limit, "memory")
        held = _text(request.memory)
        cure = "leave it out: the container gets what the lease holds"
        if size < request.memory:
            yield Contradiction("memory", f"the lease holds {held}, and the container could use only {limit}", cure)
        elif size > request.memory:
            yield Contradiction("memory", f"the lease holds {held}, and the container could use {limit}", cure)
    time = cpu_limit(run)
    if time is not None and request.cpus > time:
        option = "cpus" if run.value("cpus") is not None else "cpu-quota"
        sentence = f"the lease has {request.cpus} CPUs, and the container could use the time of {time:g} only"
        yield Contradiction(option, sentence, "leave it out, or ask for fewer CPUs")


def _text(size: int) -> str:
    return str(Quantity(size, 0, "BinarySI"))


# What is added


class AddedFlags(msgspec.Struct, frozen=True):
    flags: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What the user should know about them."""


def placement_flags(lease: Lease, cpus: int, machine: Machine, run: DockerRun, client: str = "docker") -> AddedFlags:
    """`cpus` are those of the lease, or of the shared pool; `client` is docker or podman."""
    flags = [f"--cpuset-cpus={cpuset_text(cpus)}"]
    if lease.forced_mems:
        flags.append(f"--cpuset-mems={cpuset_text(lease.forced_mems)}")
    gpus = docker_gpus(lease.devices, machine)
    if gpus and client == "podman":
        # As the Container Device Interface names them, by the files that `nvidia-ctk cdi generate` makes.
        flags += [f"--device=nvidia.com/gpu={gpu}" for gpu in gpus]
    elif gpus:
        # Docker reads the value as a line of CSV, in which a list needs quotes of its own.
        flags += ["--gpus", f'"device={",".join(gpus)}"']
    if run.value("runtime") == "nvidia":
        # This runtime looks at the variable, and images often come with `all` in it.
        flags.append(f"--env={NVIDIA}={','.join(gpus) or 'void'}")
    held = lease.limit_memory or memory_of(lease)
    if held and run.value("memory") is None:
        flags.append(f"--memory={docker_size(held)}")
    notes = []
    shared = shared_memory(lease, len(gpus), machine, run)
    if shared:
        flags.append(f"--shm-size={docker_size(shared)}")
        notes.append(
            f"--shm-size={docker_size(shared)} is added: {len(gpus)} GPUs of a job exchange data through /dev/shm, "
            "where Docker allows 64 MiB (your own --shm-size or --ipc=host is kept)"
        )
    for resource in sorted(resource for resource in lease.devices if not _is_nvidia(resource)):
        ids = ", ".join(lease.devices[resource])
        notes.append(f"{resource} {ids} is held, but how it gets into a container only you know: add its --device")
    if run.is_on("privileged"):
        notes.append("a --privileged container sees every device of the host, also those of other leases")
    return AddedFlags(tuple(flags), tuple(notes))


def shared_memory(lease: Lease, gpus: int, machine: Machine, run: DockerRun) -> int:
    """Bytes for /dev/shm of a job with several GPUs, at most half of its memory; 0: nothing to suggest."""
    ipc = run.value("ipc") or ""
    if gpus < 2 or run.value("shm-size") is not None or ipc == "host" or ipc.startswith("container:"):
        return 0
    limit = run.value("memory")
    there = memory_of(lease) or (size_of(limit, "memory") if limit is not None else 0)
    there = there or sum(node.memory for node in machine.numa_nodes if lease.mems >> node.id & 1)
    half = there // 2 // (1 << 20) * (1 << 20)
    return min(gpus * SHARED_MEMORY_PER_GPU, half) if there else gpus * SHARED_MEMORY_PER_GPU


def label_flags(lease: Lease, client: str = "docker") -> list[str]:
    """Podman writes annotations, not labels, where they can be read without asking it."""
    record = {key: value for key, value in record_of(lease).items() if key not in _NOT_TOLD}
    told = {key: value for key, value in record.items() if value or key in _NEEDED}
    text = msgspec.json.encode(told).decode()
    flags = [f"--label={LEASE_LABEL}={lease.id}", f"--label={RECORD_LABEL}={text}"]
    return [*flags, f"--annotation={LEASE_LABEL}={lease.id}"] if client == "podman" else flags


def variable_flags(lease: Lease, cpus: int, run: DockerRun) -> list[str]:
    """What the user set is kept."""
    added = lease_variables(lease, cpus, ())
    return [
        f"--env={name}={value}"
        for name, value in added.items()
        if name.startswith(OURS) and value and run.variable(name) is None
    ]


def docker_gpus(devices: Mapping[str, Sequence[str]], machine: Machine) -> list[str]:
    """The names that Docker takes: UUIDs, or numbers where the description has no UUIDs."""
    labels = {device.id: device.label for device in machine.devices}
    names = []
    for gpu in nvidia_gpus(devices):
        number = _GPU_LABEL.fullmatch(labels.get(gpu) or gpu)
        if not _GPU_NAME.fullmatch(gpu) and number is None:
            raise InputError(
                f"Docker takes a GPU by its UUID, and of {gpu} none is known",
                source="--gpus",
                cure="the driver tells it: `nvidia-smi -L` must list the GPU",
            )
        names.append(gpu if number is None or _GPU_NAME.fullmatch(gpu) else number[1])
    return names


def _is_nvidia(resource: str) -> bool:
    return bool(nvidia_gpus({resource: ["one"]}))


def check_gpu_names(request: JobRequest, machine: Machine) -> None:
    """Before a lease is taken: whichever GPU it gets, Docker must be able to name it."""
    for device in machine.devices:
        if request.devices.get(device.resource):
            docker_gpus({device.resource: [device.id]}, machine)
