"""The leases of this host through the API."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from numafit.host.audit.holders import lease_promises
from numafit.host.host import Host
from numafit.host.measure.kept import digest_of, keep
from numafit.host.measure.result import Measured
from numafit.host.place import OUTSIDE, ledger_of, node_of
from numafit.host.request import JobRequest
from numafit.host.session import Session
from numafit.host.verdicts import lease_alignments
from numafit.machine.catalogue.names import machine_named
from numafit.service import leases as service_leases
from numafit.service.leases import Extend, Leases, Take
from numafit.service.problem import ProblemError
from numafit.service.sources.host import _happened
from numafit.show.records.alignment import AlignmentRecord, PartRecord
from numafit.show.records.leases import LeaseRecord, lease_of_record, lease_record
from numafit.show.records.ledger import OUTSIDE_KIND, Known, ledger_view
from numafit.show.records.time import seconds_of
from numafit.show.text.leases import leases_text

NOBODY = 65534


@pytest.fixture
def leases(tmp_path: Path) -> Leases:
    """Of a machine of the catalogue, in a ledger of its own: nothing is bound."""
    return Leases(Session(Host(machine_named("gpu8-128cpu")), tmp_path, lambda _: None))


def status_of(action: Any) -> int:
    with pytest.raises(ProblemError) as found:
        action()
    return found.value.problem.status


def test_a_lease_is_taken_extended_and_given_back(leases: Leases) -> None:
    """And listed meanwhile."""
    taken = leases.take(Take(cpus=4, devices={"nvidia.com/gpu": 2}, seconds=60), 1000)
    assert [one.id for one in leases.all().leases] == [taken.id]
    assert (taken.uid, taken.exclusive.count(","), len(taken.devices["nvidia.com/gpu"])) == (1000, 1, 2)
    longer = leases.extend(taken.id, Extend(600), 1000)
    assert longer.until > taken.until
    assert leases.release(taken.id, 1000).id == taken.id
    assert leases.all().leases == ()


def test_what_was_measured_of_the_host_is_told(leases: Leases) -> None:
    """As `numafit measure` kept it beside the ledger, and nothing of another machine."""
    assert leases.measured() is None
    digest = digest_of(leases.session.host.machine)
    kept = Measured("2026-11-16T19:00:00Z", digest, (), ())
    keep(leases.session.folder, replace(kept, machine="other"))
    assert leases.measured() is None
    keep(leases.session.folder, kept)
    assert leases.measured() == kept


def test_a_lease_belongs_to_who_took_it(leases: Leases) -> None:
    """Root may touch every one."""
    taken = leases.take(Take(cpus=1, seconds=60), 1000).id
    assert status_of(lambda: leases.release(taken, 1001)) == 403
    assert status_of(lambda: leases.extend(taken, Extend(5), NOBODY)) == 403
    assert leases.release(taken, 0).id == taken


def test_nothing_is_given_twice(leases: Leases) -> None:
    """What is not free is refused, with the sentence of the engine."""
    taken = leases.take(Take(cpus=127, seconds=60), 1000)
    with pytest.raises(ProblemError) as found:
        leases.take(Take(cpus=2, seconds=60), 1000)
    assert found.value.problem.status == 409
    assert "2 CPUs" in found.value.problem.detail
    assert [one.id for one in leases.all().leases] == [taken.id]


def test_a_lease_of_a_process_ends_with_it(leases: Leases) -> None:
    """It is not taken from a job that runs; another user's process is no owner."""
    taken = leases.take(Take(cpus=1, pid=os.getpid()), os.getuid()).id
    assert status_of(lambda: leases.release(taken, os.getuid())) == 409
    if os.getuid() == 0:
        assert status_of(lambda: leases.take(Take(cpus=1, pid=os.getpid()), NOBODY)) == 403


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (Take(seconds=5), 422),
        (Take(cpus=1), 422),
        (Take(cpus=1, seconds=5, pid=1), 422),
        (Take(cpus=1, pid=1 << 22), 403),
    ],
)
def test_what_makes_no_lease_is_refused(leases: Leases, asked: Take, status: int) -> None:
    """It must hold something, and have an end."""
    assert status_of(lambda: leases.take(asked, 1000)) == status


def test_a_lease_that_is_not_there_is_missing(leases: Leases) -> None:
    """Also one that was released before."""
    assert status_of(lambda: leases.release("00000000", 0)) == 404


def test_a_lease_reads_as_the_command_prints_it(leases: Leases) -> None:
    """The record of `numafit ps -o json`, from which the lease can be made again but for what is not shown."""
    taken = leases.take(Take(cpus=4, memory=1 << 30, seconds=60, name="job"), 1000)
    with leases.session.book() as book:
        (lease,) = book.leases()
    lying = AlignmentRecord(
        "aligned",
        "all on NUMA node 0",
        (PartRecord("lease", "cpu", "", (0,), ()), PartRecord("lease", "memory", "", (0,), ())),
    )
    assert leases.all().leases == (lease_record(lease, lying),)
    assert lease_record(lease) == taken
    counts = lease_of_record(msgspec.json.decode(msgspec.json.encode(taken), type=LeaseRecord))
    assert counts == replace(lease, since=counts.since, until=counts.until, boot="", allowed=0)
    assert abs(counts.since - lease.since) < 1
    assert counts.until is not None
    assert lease.until is not None
    assert abs(counts.until - lease.until) < 2
    assert seconds_of(taken.until) - seconds_of(taken.since) in (59, 60, 61)


def test_a_user_has_only_so_many_leases(leases: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one byte each, say, until every look at the ledger is slow."""
    monkeypatch.setattr(service_leases, "MOST_LEASES", 2)
    asked = Take(memory=1, seconds=60)
    leases.take(asked, 1000)
    kept = leases.take(asked, 1000)
    assert status_of(lambda: leases.take(asked, 1000)) == 409
    leases.take(asked, 1001)
    leases.release(kept.id, 1000)
    leases.take(asked, 1000)


def test_what_happens_to_leases_is_told(leases: Leases) -> None:
    """Each entry of the ledger's history becomes one of the story."""
    taken = leases.take(Take(cpus=127, seconds=60, name="job"), 1000).id
    status_of(lambda: leases.take(Take(cpus=2, seconds=60), 1000))
    leases.release(taken, 1000)
    with leases.session.book() as book:
        counts = [_happened(entry) for entry in reversed(book.history(10))]
    assert [(one.kind, one.refused) for one in counts] == [("lease", False), ("lease", True), ("release", False)]
    assert counts[2].sentence == "job was released."


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "\u202ename"])
def test_a_name_can_be_printed(leases: Leases, name: str) -> None:
    """Others read it in their terminals."""
    assert status_of(lambda: leases.take(Take(cpus=1, seconds=60, name=name), 1000)) == 422
    assert leases.all().leases == ()


def test_ps_audit_the_api_and_the_page_say_the_same_words(leases: Leases) -> None:
    """Of NUMA nodes with 64 CPUs two leases leave 24 each: the third is split. The last is in the shared pool."""
    for asked in (*(Take(cpus=40, seconds=60),) * 3, Take(memory=1 << 30, seconds=60)):
        leases.take(asked, 1000)
    host = leases.session.host
    with leases.session.book() as book:
        held = book.leases()
    table = leases_text(held, {}, lying=lease_alignments(host, held)).splitlines()
    by_ps = {line.split()[0]: line.split()[2] for line in table[1 : len(held) + 1]}
    by_api = {one.id: one.alignment.verdict for one in leases.all().leases if one.alignment}
    by_audit = {
        one.lease: one.alignment.lying for one in lease_promises(leases.session.folder, host.machine) if one.alignment
    }
    node = node_of(host, JobRequest(memory=1))
    known = {OUTSIDE: Known("", kind=OUTSIDE_KIND)}
    view = ledger_view(node, ledger_of(host, node, held), known, revision=0, time="", simulation=False)
    by_page = {one.id: one.alignment.verdict for one in view.holders if one.alignment}
    assert by_ps == by_api == by_audit == by_page
    assert sorted(by_ps.values()) == ["aligned", "aligned", "shared", "split"]
    assert view.alignment == {"aligned": 2, "split": 1, "shared": 1}
