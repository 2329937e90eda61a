"""Before one sleeps: what he finds out for his start, and what he does where he cannot sleep."""

import os
import sys
from pathlib import Path

import pytest

from numafit.host.bind.target import AFFINITY, Bound, Target
from numafit.host.book.book import Book
from numafit.host.book.queue import Ticket
from numafit.host.request import JobRequest
from numafit.host.run import prepare, sleep
from numafit.host.run.asked import StartAsked
from numafit.host.wake.words import LOST
from tests.host.ledgers import me, small_host, taken


def test_a_command_line_too_long_for_the_shell_waits_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes no word of more than 128 KiB; all descriptors are as before."""
    monkeypatch.setattr(sys, "orig_argv", ["python", "x" * 200_000])
    read, write = os.pipe()
    before = os.listdir("/proc/self/fd")
    sleep._sleep(Ticket(1, Path("waiting-1-1"), read), None)
    assert os.listdir("/proc/self/fd") == before
    os.close(read)
    os.close(write)


def test_notes_of_the_trial_are_told_of_the_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial has a name of its own, in a process of its own; no sentence may tell of its folder."""

    def bind_self(name: str, target: Target, *, strict: bool) -> Bound:
        return Bound(AFFINITY, target.cpus, 0, "", "", (f"no cgroup: /sys/fs/cgroup/{name}: read-only",))

    monkeypatch.setattr(prepare, "expected_group", lambda: None)
    monkeypatch.setattr(prepare, "bind_self", bind_self)
    with Book.open(tmp_path) as book:
        ready = prepare.prepared(book, JobRequest(cpus=1), me(), StartAsked(["true"]), {})
    assert ready is not None
    assert ready.foreseen.notes == ("no cgroup: /sys/fs/cgroup/LEASE: read-only",)
    if ready.commands >= 0:
        os.close(ready.commands)


def test_who_lost_his_place_finds_his_lease_and_not_the_one_around_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`numafit run -- numafit run --wait …`: the second is the command of the first, whose lease is not the answer."""
    read, write = os.pipe()
    ticket = Ticket(1, Path("waiting-1-1"), read)
    with Book.open(tmp_path) as book:
        lease = taken(book, small_host(), JobRequest(cpus=1))
        monkeypatch.delenv("NUMAFIT_LEASE", raising=False)
        assert sleep._settled(book, ticket, me()) == lease
        monkeypatch.setenv("NUMAFIT_LEASE", lease.id)
        assert sleep._settled(book, ticket, me()) == LOST
    os.close(read)
    os.close(write)
