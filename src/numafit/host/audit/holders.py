"""What was promised to whom on this host, and by which processes it is used: what an audit compares with."""

from pathlib import Path

from msgspec.structs import replace

from numafit.advice.verdict import HolderVerdict
from numafit.errors import InputError
from numafit.host.audit.promise import Promise
from numafit.host.bind.ladder import group_pids
from numafit.host.book.book import Book
from numafit.host.book.folder import ledger_folder
from numafit.host.book.store import FILE
from numafit.host.docker.engine import DockerContainer, engine_address, inspected, running, why_silent
from numafit.host.lease import LEASE_LABEL, Lease
from numafit.host.process.identity import PROC, descendants, is_alive, processes
from numafit.host.session import host_with, open_book
from numafit.host.verdicts import lease_alignments
from numafit.machine.model import Machine


def lease_promises(folder: Path | None = None, machine: Machine | None = None) -> list[Promise]:
    """One for each lease, in the order they were taken. None is made where there is no ledger. How they lie is judged
    on `machine`."""
    chosen = ledger_folder(folder)
    leases = _leases(chosen) if (chosen / FILE).exists() else []
    lying = _lying(chosen, leases, machine)
    return [replace(_of_lease(lease), alignment=lying.get(lease.id)) for lease in leases]


def _lying(folder: Path, leases: list[Lease], machine: Machine | None) -> dict[str, HolderVerdict]:
    if machine is None or not leases:
        return {}
    return lease_alignments(host_with(folder, machine), leases)


def docker_promises(folder: Path | None = None, machine: Machine | None = None) -> list[Promise]:
    """One for each container that runs and is pinned or has a lease, by id. What the ledger says of it counts more than
    what Docker was told. Raises `InputError` when the engine does not answer."""
    address = engine_address()
    found = running(address)
    if found is None:
        raise InputError(f"the Docker engine does not answer: {why_silent(address)}", cure="is dockerd running?")
    chosen = ledger_folder(folder)
    leases = _leases(chosen) if (chosen / FILE).exists() else []
    by_container = {lease.container: lease for lease in leases if lease.container}
    by_id = {lease.id: lease for lease in leases}
    lying = _lying(chosen, leases, machine)
    promises = []
    for container in found:
        lease = by_container.get(container.id) or by_id.get(container.labels.get(LEASE_LABEL, ""))
        if lease is not None:
            promises.append(replace(_promise(lease, container_pids(container)), alignment=lying.get(lease.id)))
        elif container.cpus or container.mems:
            name = container.name or container.id[:12]
            promises.append(Promise(name, container_pids(container), container.cpus, container.mems))
    return promises


def _leases(folder: Path) -> list[Lease]:
    book: Book = open_book(folder, lambda _: None)
    with book:
        return book.leases()


def _of_lease(lease: Lease) -> Promise:
    if lease.container:
        found = inspected(lease.engine or engine_address(), [lease.container])
        return _promise(lease, container_pids(found[0]) if found else ())
    pids: set[int] = set()
    # The first owner is the process that watches over the job.
    for owner in lease.owners[1:]:
        if is_alive(owner):
            pids |= {owner.pid, *descendants(owner.pid)}
    if lease.cgroup:
        pids.update(group_pids(lease.cgroup))
    return _promise(lease, tuple(sorted(pids)))


def _promise(lease: Lease, pids: tuple[int, ...]) -> Promise:
    cpus = lease.exclusive or lease.bound
    watcher = lease.owners[0].pid if lease.owners and lease.owners[0].pid not in pids else 0
    return Promise(
        lease.label,
        pids,
        cpus,
        lease.mems,
        lease.devices,
        exclusive=bool(lease.exclusive),
        watcher=watcher,
        lease=lease.id,
        bind=lease.bind,
    )


def container_pids(container: DockerContainer, root: Path = PROC) -> tuple[int, ...]:
    """Ascending. Its cgroups have its id in their names, also those of `docker exec`, which hang on another process."""
    found = {container.pid, *descendants(container.pid, root)} if container.pid else set()
    for pid in processes(root):
        try:
            text = (root / str(pid) / "cgroup").read_text("utf-8", "replace")
        except OSError:
            continue
        if container.id in text:
            found.add(pid)
    return tuple(sorted(found))
