"""Leases with CPUs of their own that get others: those they had are offline, or were given away while their container
was stopped.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.host.book.book import Book
from numafit.host.book.tables import Transaction
from numafit.host.book.work import moved_to
from numafit.host.host import Host
from numafit.host.lease import Lease, record_of
from numafit.host.mend import nodes_of, offline_cpus, replacement
from numafit.host.pool import shared_cpus


def mend(book: Book, host: Host) -> list[str]:
    """Move the jobs that hold CPUs which are offline to free ones, as far as there are any and this user may. Returns
    what was done; what was not still shows in the leases."""

    def run(tx: Transaction, leases: list[Lease]) -> list[str]:
        told = []
        for lease in [lease for lease in leases if lease.rung and offline_cpus(host, lease)]:
            others = [one for one in leases if one.id != lease.id]
            changed = _mended(tx, host, others, lease)
            if changed is not None:
                leases = [*others, changed]
                lost, now = cpuset_text(offline_cpus(host, lease)), cpuset_text(changed.exclusive)
                told.append(f"lease {lease.label}: of its CPUs {lost} went offline; it was moved to CPUs {now}")
        return told

    told = book.within(run)
    if told:
        book.leases(host)
    return told


def _mended(tx: Transaction, host: Host, others: Sequence[Lease], lease: Lease) -> Lease | None:
    """What it will hold is claimed before anything is moved, and given back when that did not work."""
    cpus = replacement(host, others, lease, offline_cpus(host, lease))
    if not cpus:
        return None
    wanted = replace(lease, exclusive=cpus, nodes=nodes_of(host, cpus) | lease.nodes)
    tx.replace(wanted)
    changed = moved_to(wanted, cpus)
    tx.replace(changed or lease)
    if changed is not None:
        tx.note("moved", lease.id, lease.user, record_of(changed))
    return changed


def enter_elsewhere(book: Book, host: Host, lease: Lease) -> Lease | None:
    """A container that came back while others hold some of its CPUs: entered with free ones in their place, else as
    shared work, and to be pinned there. None: there is no CPU for it, or this ledger never had it, so that another one
    may hold those CPUs for it. Raises `HeldError` for devices that others hold, which a container cannot change."""

    def run(tx: Transaction, leases: list[Lease]) -> Lease | None:
        if not tx.remembers(lease.id):
            return None
        held = 0
        for one in leases:
            held |= one.exclusive
        cpus = replacement(host, leases, lease, lease.exclusive & (held | ~host.online))
        entered = replace(lease, exclusive=cpus, nodes=nodes_of(host, cpus), bound=cpus)
        if not cpus:
            entered = replace(entered, memory=(), bound=shared_cpus(host, leases, entered))
        if entered.bound:
            tx.insert(entered)
            tx.note("moved", lease.id, lease.user, record_of(entered))
        return entered if entered.bound else None

    entered = book.within(run)
    if entered is not None and entered.exclusive:
        book.leases(host)
    return entered
