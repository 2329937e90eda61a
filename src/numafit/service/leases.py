"""The leases of this host for the API: listed for everybody; taken, extended and given back by whom they belong to."""

import time
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from numafit.host.grant import Owner, Refused, sentence_of
from numafit.host.lease import Lease
from numafit.host.measure.kept import digest_of, kept
from numafit.host.measure.result import Measured
from numafit.host.process.identity import boot_id, identify, user_name, user_of
from numafit.host.request import JobRequest, Policy
from numafit.host.session import Session
from numafit.host.verdicts import lease_alignments
from numafit.service.problem import refused
from numafit.show.records.alignment import alignment_records
from numafit.show.records.leases import LeaseList, LeaseRecord, lease_list, lease_record
from numafit.show.words import device_labels

LONGEST = 30 * 24 * 3600
"""Seconds that a lease which no process owns may last at most, before it is extended."""
ROOT = 0
MOST_LEASES = 256
"""Of one user, by the API: each is looked at whenever somebody takes one."""

Seconds = Annotated[int, msgspec.Meta(ge=1, le=LONGEST)]
Prefer = Literal["full-cores", "uncore-cache", "spread-cores", "spread-nodes", "socket"]


class Take(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A lease lasts as long as the process `pid`, or for `seconds`: one of both must be given."""

    cpus: Annotated[int, msgspec.Meta(ge=0, le=1 << 16)] = 0
    memory: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)] = 0
    """Bytes."""
    devices: dict[str, Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]] = {}
    policy: Policy = "best-effort"
    prefer: tuple[Prefer, ...] = ()
    name: Annotated[str, msgspec.Meta(max_length=60)] = ""
    seconds: Seconds | None = None
    pid: Annotated[int, msgspec.Meta(ge=1, le=1 << 22)] | None = None


class Extend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seconds: Seconds
    """From now on."""


class Leases:
    """Every method may wait for other writers of the ledger, and belongs into a thread."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def all(self) -> LeaseList:
        with self.session.book() as book:
            leases, waiting = book.leases(), book.waiting()
        host = self.session.host
        labels = device_labels(host.machine)
        return lease_list(leases, waiting, host, alignment_records(lease_alignments(host, leases), labels))

    def measured(self) -> Measured | None:
        """What `numafit measure` kept last of this host."""
        return kept(self.session.folder, digest_of(self.session.host.machine))

    def take(self, asked: Take, uid: int) -> LeaseRecord:
        owner = _owner(asked, uid)
        request = JobRequest(asked.cpus, asked.memory, asked.devices, asked.policy, asked.prefer, asked.name)
        if not asked.name.isprintable():
            raise refused(422, "name has characters that cannot be printed", cure="use letters, digits and signs")
        if not request.holds:
            raise refused(422, "the lease would hold nothing", cure="ask for cpus, memory or devices")
        with self.session.book() as book:
            if sum(lease.uid == uid for lease in book.leases()) >= MOST_LEASES:
                raise refused(409, f"{owner.user} has {MOST_LEASES} leases", cure="give some of them back")
            got = book.take(self.session.host, request, owner)
        if isinstance(got, Refused):
            raise refused(409, f"no lease for {request.words()}: {sentence_of(got)}", cure="ask for less, or later")
        return lease_record(got)

    def extend(self, lease_id: str, asked: Extend, uid: int) -> LeaseRecord:
        self._own(lease_id, uid)
        until = time.clock_gettime(time.CLOCK_BOOTTIME) + asked.seconds
        return self._changed(lease_id, lambda lease: replace(lease, until=until), "extended")

    def release(self, lease_id: str, uid: int) -> LeaseRecord:
        self._own(lease_id, uid)
        with self.session.book() as book:
            lease = book.release(lease_id, self.session.host)
        if lease is None:
            raise _missing(lease_id)
        return lease_record(lease)

    def _own(self, lease_id: str, uid: int) -> None:
        """A lease that a process owns ends with it: taking it from a job that runs is left to the command line."""
        with self.session.book() as book:
            lease = next((lease for lease in book.leases() if lease.id == lease_id), None)
        if lease is None:
            raise _missing(lease_id)
        if uid not in (ROOT, lease.uid):
            raise refused(403, f"the lease {lease_id} belongs to {lease.user}", cure="root may touch it")
        if lease.until is None:
            cure = "end the job, or use `numafit release --force`"
            raise refused(409, f"the lease {lease_id} lasts as long as its job", cure=cure)

    def _changed(self, lease_id: str, edit: Callable[[Lease], Lease], event: str) -> LeaseRecord:
        with self.session.book() as book:
            lease = book.change(lease_id, edit, event)
        if lease is None:
            raise _missing(lease_id)
        return lease_record(lease)


def _owner(asked: Take, uid: int) -> Owner:
    if (asked.pid is None) == (asked.seconds is None):
        raise refused(422, "a lease lasts as long as a process or for some seconds", cure="give pid or seconds")
    user = user_name(uid)
    if asked.seconds is not None:
        until = time.clock_gettime(time.CLOCK_BOOTTIME) + asked.seconds
        return Owner((), uid, user, until=until, boot=boot_id())
    assert asked.pid is not None
    process = identify(asked.pid)
    if process is None or (uid != ROOT and user_of(asked.pid) != uid):
        raise refused(403, f"{user} has no process {asked.pid}", cure="name one of your own")
    return Owner((process,), uid, user)


def _missing(lease_id: str) -> Exception:
    return refused(404, f"there is no lease {lease_id[:40]}", cure="GET /api/v1/leases lists them")
