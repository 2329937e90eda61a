"""Jobs that lose CPUs: moved for real where something is free. Only that the CPUs are offline is made up."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import mask_of, members
from numafit.host.book.book import Book
from numafit.host.book.moves import mend
from numafit.host.book.tables import HeldError
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.session import open_session
from tests.host.children import needs_cpus
from tests.host.ledgers import check_claims, children_of, cpus_of, job, me, small_host

pytestmark = pytest.mark.usefixtures("alone")


def without(host: Host, cpus: int) -> Host:
    changed = tuple(replace(cpu, online=cpu.online and not cpus >> cpu.id & 1) for cpu in host.machine.cpus)
    return replace(host, machine=replace(host.machine, cpus=changed))


def test_a_job_is_moved_off_cpus_that_went_offline(tmp_path: Path) -> None:
    """The kernel shows it, the ledger has it, and the history tells of it."""
    cpus = needs_cpus(2)
    with job(tmp_path, "--cpus", "1") as process, Book.open(tmp_path) as book:
        [child] = children_of(process.pid)
        [lease] = book.leases()
        host = without(open_session(tmp_path, print, devices=False).host, lease.exclusive)
        [sentence] = mend(book, host)
        [moved] = book.leases()
        assert cpus_of(child) == set(members(moved.exclusive)) != set(members(lease.exclusive))
        assert moved.exclusive & ~mask_of(cpus) == 0
        assert sentence.startswith(f"lease {lease.id}: of its CPUs ")
        assert book.history(1)[0].event == "moved"
        assert mend(book, host) == []
    check_claims(tmp_path)


def test_where_nothing_is_free_it_stays(tmp_path: Path) -> None:
    cpus = needs_cpus(2)
    with job(tmp_path, "--cpus", str(len(cpus))) as process, Book.open(tmp_path) as book:
        [child] = children_of(process.pid)
        before = book.leases()
        host = without(open_session(tmp_path, print, devices=False).host, 1 << cpus[-1])
        assert mend(book, host) == []
        assert (book.leases(), cpus_of(child)) == (before, set(cpus))


def test_what_is_claimed_anew_cannot_be_held_by_another(tmp_path: Path) -> None:
    """The table itself refuses it, and the transaction is undone."""
    with Book.open(tmp_path) as book:
        host = small_host()
        first, second = (book.add(lease, "taken") or lease for lease in two(host))
        with pytest.raises(HeldError):
            book.within(lambda tx, _: tx.replace(replace(first, exclusive=second.exclusive)))
        assert [lease.exclusive for lease in book.leases()] == [0b1, 0b10]
    check_claims(tmp_path)


def two(host: Host) -> list[Lease]:
    owner = me()
    return [
        Lease(name, "", 0, "root", 1.5, exclusive=1 << number, owners=owner.processes)
        for number, name in enumerate(("0badcafe", "0badcaff"))
        if host.online >> number & 1
    ]
