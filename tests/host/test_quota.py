"""How much a user, and a group together, may hold."""

import grp
import os
import pwd
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.book.book import Book
from numafit.host.book.serve import serve
from numafit.host.grant import Owner, Refused, sentence_of
from numafit.host.host import Host, Quota, Quotas
from numafit.host.lease import Lease
from numafit.host.quota import group_of, over_quota, quota_of, within_bounds
from numafit.host.request import JobRequest
from numafit.ledger.ledger import Block
from tests.host.ledgers import host_named, me, small_host, taken

ANN, BOB = 54301, 54302
STUDENTS = 54300
GPU = "nvidia.com/gpu"


def lease(uid: int, cpus: int = 0, **fields: object) -> Lease:
    return replace(Lease(f"l{uid}-{cpus}", "", uid, str(uid), 0.0, exclusive=cpus), **fields)


def owner(uid: int) -> Owner:
    return replace(me("train.py"), uid=uid, user={ANN: "ann", BOB: "bob"}.get(uid, "root"))


@pytest.fixture
def students(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ann and Bob are students."""
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd((str(uid), "x", uid, uid, "", "/", "/bin/sh")))
    monkeypatch.setattr(os, "getgrouplist", lambda _, gid: [gid, STUDENTS] if gid in (ANN, BOB) else [gid])
    known = {"students": STUDENTS, "staff": 54310, "all": STUDENTS}
    monkeypatch.setattr(grp, "getgrnam", lambda name: grp.struct_group((name, "x", known[name], [])))


def test_what_a_users_own_line_does_not_say_everybodys_says() -> None:
    quotas = Quotas({"*": Quota(cpus=4, jobs=9, devices={GPU: 1, "x/y": 2}), "ann": Quota(cpus=8, devices={GPU: 3})})
    assert quota_of(quotas, "bob") == Quota(cpus=4, jobs=9, devices={GPU: 1, "x/y": 2})
    assert quota_of(quotas, "ann") == Quota(cpus=8, jobs=9, devices={GPU: 3, "x/y": 2})
    assert quota_of(Quotas(), "ann") == Quota()


@pytest.mark.parametrize(
    ("quota", "request_", "sentence"),
    [
        (Quota(cpus=4), JobRequest(cpus=2), ""),
        (
            Quota(cpus=3),
            JobRequest(cpus=2),
            "ann may hold 3 CPUs by quota, holds 2 CPUs now, and 2 CPUs would be too much",
        ),
        (Quota(cpus=1), JobRequest(), ""),
        (
            Quota(memory=3 << 30),
            JobRequest(memory=2 << 30),
            "ann may hold 3Gi of memory by quota, holds 2Gi of memory now, and 2Gi of memory would be too much",
        ),
        (
            Quota(devices={GPU: 1}),
            JobRequest(devices={GPU: 1}),
            f"ann may hold 1 {GPU} by quota, holds 1 {GPU} now, and 1 {GPU} would be too much",
        ),
        (Quota(devices={GPU: 0}), JobRequest(cpus=1), ""),
        (Quota(jobs=1), JobRequest(), "ann may hold 1 job by quota, holds 1 job now, and 1 job would be too much"),
        (Quota(jobs=2), JobRequest(), ""),
    ],
)
def test_a_user_holds_no_more_than_his_quota(quota: Quota, request_: JobRequest, sentence: str) -> None:
    """What others hold does not count, and root has none."""
    held = lease(ANN, 0b11, memory=(Block((0,), "memory", 2 << 30),), devices={GPU: ("g0",)})
    leases = [held, lease(BOB, 0b1100)]
    assert over_quota(Quotas({"*": quota}), leases, request_, ANN, "ann") == sentence
    assert over_quota(Quotas({"*": quota}), leases, request_, 0, "root") == ""


@pytest.mark.usefixtures("students")
def test_a_group_holds_its_quota_together() -> None:
    quotas = Quotas(groups={"staff": Quota(cpus=1), "students": Quota(cpus=4), "all": Quota(cpus=2)})
    assert (group_of(quotas, ANN), group_of(quotas, 54309), group_of(quotas, 0)) == ("students", "", "")
    leases = [lease(BOB, 0b111, group="students"), lease(54309, 0b11000, group="staff")]
    assert over_quota(quotas, leases, JobRequest(cpus=1), ANN, "ann") == ""
    assert over_quota(quotas, leases, JobRequest(cpus=2), ANN, "ann") == (
        "the group students may hold 4 CPUs by quota, its members hold 3 CPUs now, and 2 CPUs would be too much"
    )


def test_time_and_priority_are_bounded() -> None:
    """A job that does not say how long it will run has the time that it may have at most; root has no bounds."""
    quotas = Quotas({"*": Quota(seconds=3600), "ann": Quota(priority=5)})
    assert within_bounds(quotas, JobRequest(priority=5), ANN, "ann") == JobRequest(priority=5, seconds=3600)
    assert within_bounds(quotas, JobRequest(seconds=60), BOB, "bob") == JobRequest(seconds=60)
    assert within_bounds(quotas, JobRequest(priority=-3), BOB, "bob") == JobRequest(priority=-3, seconds=3600)
    assert within_bounds(quotas, JobRequest(priority=99, seconds=1e6), 0, "root").seconds == 1e6
    with pytest.raises(InputError, match=r"--priority: bob may ask for 0 at most"):
        within_bounds(quotas, JobRequest(priority=1), BOB, "bob")
    with pytest.raises(InputError, match=r"--priority: ann may ask for 5 at most"):
        within_bounds(quotas, JobRequest(priority=6), ANN, "ann")
    with pytest.raises(InputError, match=r"--time: a job of bob may run for 3600 s at most"):
        within_bounds(quotas, JobRequest(seconds=3601), BOB, "bob")


# In the ledger


def quota_host(quotas: Quotas) -> Host:
    return replace(small_host(), quotas=quotas)


@pytest.mark.usefixtures("alone", "students")
def test_the_ledger_gives_no_more(tmp_path: Path) -> None:
    host = quota_host(Quotas({"ann": Quota(cpus=2)}, {"students": Quota(cpus=3)}))
    with Book.open(tmp_path) as book:
        assert taken(book, host, JobRequest(cpus=2), owner(ANN)).group == "students"
        got = book.take(host, JobRequest(cpus=1), owner(ANN))
        assert isinstance(got, Refused)
        assert sentence_of(got).startswith("ann may hold 2 CPUs by quota, holds 2 CPUs now")
        assert [(event.event, event.reason) for event in book.history(1)] == [("refused", "Quota")]
        got = book.take(host, JobRequest(cpus=2), owner(BOB))
        assert isinstance(got, Refused)
        assert sentence_of(got).startswith("the group students may hold 3 CPUs by quota, its members hold 2 CPUs now")
        taken(book, host, JobRequest(cpus=1), owner(BOB))
        taken(book, host, JobRequest(cpus=1), owner(0))


@pytest.mark.usefixtures("alone", "students")
def test_what_can_never_be_had_is_refused_at_once(tmp_path: Path) -> None:
    host = quota_host(Quotas({"*": Quota(cpus=2)}))
    with Book.open(tmp_path) as book:
        for ask in (book.take, book.enqueue):
            with pytest.raises(InputError, match=r"ann may hold 2 CPUs by quota, holds none now, and 3 CPUs would be"):
                ask(host, JobRequest(cpus=3), owner(ANN))


@pytest.mark.usefixtures("alone", "students")
def test_what_is_given_counts_and_not_what_was_asked_for(tmp_path: Path) -> None:
    """Each core has two threads, and whole cores are given: one for each rank."""
    host = host_named("gpu8-128cpu", quotas=Quotas({"ann": Quota(cpus=8), "bob": Quota(cpus=1)}))
    ranks = JobRequest(cpus=8, ranks=8, cpus_per_rank=1)
    with Book.open(tmp_path) as book:
        for ask in (book.take, book.enqueue):
            with pytest.raises(InputError, match=r"16 CPUs would be too much \(whole cores, 8 asked for\) .*--threads"):
                ask(host, ranks, owner(ANN))
            with pytest.raises(InputError, match=r"2 CPUs would be too much \(whole cores, 1 asked for\) .*--threads"):
                ask(host, JobRequest(cpus=1), owner(BOB))
        single = taken(book, host, JobRequest(cpus=1, threads=True), owner(BOB))
        assert single.exclusive.bit_count() == 1
        book.release(single.id)
        assert taken(book, host, JobRequest(cpus=7), owner(ANN)).exclusive.bit_count() == 8
        assert taken(book, host, JobRequest(cpus=1), owner(0)).exclusive.bit_count() == 2
        one_thread = replace(host, allowed_cpus=1 << 127)
        assert taken(book, one_thread, JobRequest(cpus=1), owner(BOB)).exclusive == 1 << 127


@pytest.mark.usefixtures("alone", "students")
def test_what_would_be_too_much_in_whole_cores_is_waited_for(tmp_path: Path) -> None:
    host = host_named("gpu8-128cpu", quotas=Quotas({"ann": Quota(cpus=3)}))
    with Book.open(tmp_path) as book:
        first = taken(book, host, JobRequest(cpus=1), owner(ANN))
        got = book.take(host, JobRequest(cpus=1), owner(ANN))
        assert isinstance(got, Refused)
        assert sentence_of(got) == (
            "ann may hold 3 CPUs by quota, holds 2 CPUs now, and 2 CPUs would be too much (whole cores, 1 asked for)"
        )
        book.enqueue(host, JobRequest(cpus=1), owner(ANN))
        assert serve(book, host).given == []
        book.release(first.id)
        assert len(serve(book, host).given) == 1


@pytest.mark.usefixtures("alone", "students")
def test_who_waits_for_his_own_quota_holds_up_nobody(tmp_path: Path) -> None:
    host = quota_host(Quotas({"ann": Quota(cpus=2)}))
    with Book.open(tmp_path) as book:
        first = taken(book, host, JobRequest(cpus=2), owner(ANN))
        ticket = book.enqueue(host, JobRequest(cpus=2), owner(ANN))
        other = taken(book, host, JobRequest(cpus=2), owner(BOB))
        book.release(other.id)
        book.release(first.id)
        # Now she waits for her turn like anybody.
        got = book.take(host, JobRequest(cpus=4), owner(BOB))
        assert isinstance(got, Refused)
        assert sentence_of(got) == "4 CPUs are asked for and 2 are free"
        assert isinstance(book.take(host, JobRequest(cpus=2), owner(ANN), ticket=ticket), Lease)
