"""Containers that run with the label of a lease which the ledger does not have: found, entered again with what is
theirs, or moved where others hold that now.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.host.book.book import Book
from numafit.host.book.moves import enter_elsewhere
from numafit.host.book.tables import HeldError
from numafit.host.docker.containers import RUNNING, repinned, rung_of, told_by
from numafit.host.docker.engine import DockerContainer, engine_address, labelled
from numafit.host.host import Host
from numafit.host.lease import LEASE_LABEL, PENDING, Lease, claims
from numafit.host.process.identity import is_alive

# What containers tell


class Stray(msgspec.Struct, frozen=True):
    """A container that runs with the label of a lease which the ledger does not have."""

    container: DockerContainer
    lease: Lease
    """As its label tells of it."""
    why: str = ""
    """Why it cannot be entered again as it was; empty: it can."""
    moved: Lease | None = None
    """The lease that it got instead."""


def strays(leases: Sequence[Lease], address: str = "") -> list[Stray]:
    """Containers that were started again after their lease was freed, such as by `docker start`, by id."""
    address = address or engine_address()
    known = {lease.id: lease for lease in leases}
    found = []
    for container in labelled(address) or ():
        told = told_by(container, address) if container.state in RUNNING else None
        if told is None:
            continue
        same = known.get(told.id)
        if same is None:
            found.append(Stray(container, told, _conflict(told, leases)))
        elif same.container not in (PENDING, container.id):
            found.append(Stray(container, told, f"the lease {same.label} belongs to another container"))
    return found


def _conflict(told: Lease, leases: Sequence[Lease]) -> str:
    own = set(claims(told))
    for lease in leases:
        both = own.intersection(claims(lease))
        if both:
            kind, name = min(both)
            what = f"CPUs {cpuset_text(told.exclusive & lease.exclusive)}" if kind == "cpu" else f"{kind} {name}"
            return f"{what} are held by the lease {lease.label} now"
    return ""


def reenter(book: Book, host: Host, address: str = "") -> list[Stray]:
    """Enter the strays into the ledger: with their CPUs if these are free, else with others, to which they are moved.
    Returns those that did not get back what they had. `address` is that of their engine, else Docker's."""
    told: list[Stray] = []
    _record_pending(book, address or engine_address())
    for stray in strays(book.leases(), address):
        if not stray.why and not _too_much_memory(host, book.leases(), stray.lease):
            try:
                book.add(stray.lease, "rebuilt")
                _pinned(stray)
                continue
            except HeldError:
                # Another stray was entered before it, or somebody took them or entered the container itself meanwhile.
                pass
        found = _moved(book, host, stray)
        if found is not None:
            told.append(found)
    return told


def _record_pending(book: Book, address: str) -> None:
    """Whoever started a container was killed before he wrote down which one it is: it could not be moved with the
    pool."""
    alone = {
        lease.id
        for lease in book.leases()
        if lease.container == PENDING and lease.engine == address and not any(map(is_alive, lease.owners[:1]))
    }
    for container in (labelled(address) or ()) if alone else ():
        lease_id = container.labels.get(LEASE_LABEL, "")
        if lease_id in alone and container.state in RUNNING:
            book.change(lease_id, partial(_recorded, container, rung_of(address)))


def _recorded(container: DockerContainer, rung: str, lease: Lease) -> Lease:
    if lease.container != PENDING:
        return lease
    return replace(lease, container=container.id, rung=rung, bound=container.cpus or lease.bound)


def _pinned(stray: Stray) -> None:
    """A compose file cannot name memory nodes; the label does."""
    forced = stray.lease.forced_mems
    if forced and forced != stray.container.mems:
        repinned(stray.lease, stray.lease.bound, forced)


def _too_much_memory(host: Host, leases: Sequence[Lease], told: Lease) -> bool:
    """Whether others hold too much of the memory of its nodes by now."""
    sizes = {node.id: node.memory - host.reserved_memory.get(node.id, 0) for node in host.machine.numa_nodes}
    blocks = [block for lease in leases for block in lease.memory]
    for block in told.memory:
        held = sum(other.size for other in blocks if set(other.numa) & set(block.numa))
        if held + block.size > sum(sizes.get(numa, 0) for numa in block.numa):
            return True
    return False


def _moved(book: Book, host: Host, stray: Stray) -> Stray | None:
    """None: it is in the ledger already."""
    leases = book.leases()
    same = next((lease for lease in leases if lease.id == stray.lease.id), None)
    if same is not None:
        return None if same.container == stray.container.id else stray
    told = stray.lease
    why = _conflict(told, leases)
    if _too_much_memory(host, leases, told):
        why = why or "others hold the memory of its nodes now"
        told = replace(told, memory=())
    stray = replace(stray, why=why)
    try:
        entered = enter_elsewhere(book, host, told)
    except HeldError as error:
        return replace(stray, why=why or str(error))
    if entered is None:
        return stray
    pinned = repinned(entered, entered.bound)
    if pinned is None:
        book.release(entered.id, host)
        return stray
    return replace(stray, moved=pinned)


def stray_text(stray: Stray) -> str:
    container = stray.container
    name = container.name or container.id[:12]
    if stray.moved is None:
        return (
            f"the container {name} runs on CPUs {cpuset_text(container.cpus)} without a lease: {stray.why} (stop it, "
            "or move it with `numafit docker adopt`)"
        )
    where = f"CPUs {cpuset_text(stray.moved.bound)}" + (" of the shared pool" if stray.moved.pooled else "")
    memory = " and holds no memory any more" if stray.lease.memory and not stray.moved.memory else ""
    return f"the container {name} was started again: {stray.why}, so it was moved to {where}{memory}"
