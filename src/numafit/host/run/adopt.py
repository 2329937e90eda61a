"""A container that runs without a lease is put under one, and pinned to what the lease holds."""

import os

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.errors import InputError
from numafit.host.book.book import caller
from numafit.host.book.queue import take
from numafit.host.docker.containers import RUNNING
from numafit.host.docker.engine import DockerContainer, inspected, pin, why_silent
from numafit.host.environment import nvidia_gpus
from numafit.host.grant import Refused
from numafit.host.host import Host
from numafit.host.lease import LEASE_LABEL, Lease
from numafit.host.pool import shared_cpus
from numafit.host.process.identity import identify
from numafit.host.request import JobRequest
from numafit.host.run.container import read_back
from numafit.host.session import Session
from numafit.machine.model import Device


def adopt(session: Session, address: str, name: str, request: JobRequest, wait: float | None) -> Lease | Refused:
    """The lease as the kernel tells after pinning. The GPUs that the container has come with it: they cannot be changed
    while it runs. A lease that it has already is kept, and it is pinned to that again."""
    container = container_named(address, name)
    with session.book() as book:
        known = next((one for one in book.leases() if _belongs(one, container)), None)
        taken = known is None
        if known is None:
            gpus = held_gpus(container, session.host)
            wanted = replace(request, devices=_counts(gpus), name=request.name or container.name)
            host = _with_only(session.host, gpus)
            process = identify(os.getpid())
            owner = replace(
                caller([process] if process else [], f"docker container {container.name}: {container.image}"),
                container=container.id,
            )
            got = take(book, host, wanted, owner, wait)
            if isinstance(got, Refused):
                return got
            known = got
        cpus = known.exclusive or shared_cpus(session.host, book.leases(), known)
        lease = book.change(known.id, lambda old: replace(old, engine=address, container=container.id, bound=cpus))
        if lease is None:
            raise InputError(f"the lease {known.id} was released meanwhile", source=name)
        refused = pin(address, container.id, lease.bound, lease.forced_mems)
        if refused:
            if taken:
                book.release(lease.id, session.host)
            raise InputError(f"it could not be pinned: {refused}", source=name)
        # Read anew: it may have ended, and its first process may be another one.
        now = container_named(address, container.id)
        lease = book.change(lease.id, lambda old: replace(read_back(old, now), owners=()), "adopted")
        if lease is None:
            raise InputError(f"the lease {known.id} was released meanwhile", source=name)
        return lease


def container_named(address: str, name: str) -> DockerContainer:
    found = inspected(address, [name])
    if found is None:
        raise InputError(f"the Docker engine does not answer: {why_silent(address)}", source=name)
    if not found:
        raise InputError("there is no such container", source=name, cure="`docker ps` lists those that run")
    if found[0].state not in RUNNING or not found[0].pid:
        raise InputError(f"the container does not run, it is {found[0].state}", source=name, cure="start it first")
    return found[0]


def _belongs(lease: Lease, container: DockerContainer) -> bool:
    return lease.container == container.id or lease.id == container.labels.get(LEASE_LABEL)


def held_gpus(container: DockerContainer, host: Host) -> list[Device]:
    """Docker knows them by UUID or by number."""
    there = [device for device in host.machine.devices if nvidia_gpus({device.resource: [device.id]})]
    if "all" in container.gpus:
        return there
    found = []
    for name in container.gpus:
        device = next((one for one in there if name in (one.id, one.label.removeprefix("GPU"))), None)
        if device is None:
            raise InputError(f"it uses GPU {name}, which is not known here", source=container.name)
        found.append(device)
    return found


def _counts(devices: list[Device]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for device in devices:
        counts[device.resource] = counts.get(device.resource, 0) + 1
    return counts


def _with_only(host: Host, gpus: list[Device]) -> Host:
    """The host with no other GPUs of those resources than the container's: the engine finds CPUs near them."""
    if not gpus:
        return host
    resources = {gpu.resource for gpu in gpus}
    kept = tuple(device for device in host.machine.devices if device.resource not in resources or device in gpus)
    return replace(host, machine=replace(host.machine, devices=kept))


def adopted_text(lease: Lease) -> str:
    gpus = nvidia_gpus(lease.devices)
    parts = [f"CPUs {cpuset_text(lease.exclusive or lease.bound)}" + (" of the shared pool" if lease.pooled else "")]
    first = "" if lease.forced_mems else " first"
    parts.append(f"memory of node {cpuset_text(lease.mems)}{first}")
    return ", ".join(parts + gpus)
