"""Containers that run with the label of a lease which the ledger does not have: found, entered again if nobody holds
what is theirs.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.host.book.book import Book
from numafit.host.book.tables import HeldError
from numafit.host.docker.containers import RUNNING, told_by
from numafit.host.docker.engine import DockerContainer, engine_address, labelled
from numafit.host.lease import PENDING, Lease, claims

# What containers tell


class Stray(msgspec.Struct, frozen=True):
    """A container that runs with the label of a lease which the ledger does not have."""

    container: DockerContainer
    lease: Lease
    """As its label tells of it."""
    why: str = ""
    """Why it cannot be entered again; empty: it can."""


def strays(leases: Sequence[Lease]) -> list[Stray]:
    """Containers that were started again after their lease was freed, such as by `docker start`, by id."""
    address = engine_address()
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


def reenter(book: Book) -> list[Stray]:
    """Enter the strays whose CPUs and devices are free into the ledger; returns the others."""
    left: list[Stray] = []
    for stray in strays(book.leases()):
        if not stray.why:
            try:
                book.add(stray.lease, "rebuilt")
                continue
            except HeldError as error:
                # Another stray was entered before it, or somebody took them or entered the container itself meanwhile.
                leases = book.leases()
                if any(lease.id == stray.lease.id for lease in leases):
                    continue
                stray = replace(stray, why=_conflict(stray.lease, leases) or str(error))
        left.append(stray)
    return left


def stray_text(stray: Stray) -> str:
    container = stray.container
    return (
        f"the container {container.name or container.id[:12]} runs on CPUs {cpuset_text(container.cpus)} without a "
        f"lease: {stray.why} (stop it, or move it with `numafit docker adopt`)"
    )
