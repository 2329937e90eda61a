"""The leases of a host: taken, changed and freed, and what may go wrong with the processes, the clock and the file."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.book.book import Book
from numafit.host.grant import Owner, Refused, sentence_of
from numafit.host.lease import Lease
from numafit.host.process.identity import boot_id
from numafit.host.request import JobRequest
from numafit.machine.model import Device
from tests.host.ledgers import check_claims, elsewhere, gone, host_named, me, small_host, taken

pytestmark = pytest.mark.usefixtures("alone")

HOST = small_host(4)
GPU = "nvidia.com/gpu"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with Book.open(tmp_path / "ledger") as book:
        yield book


def events(book: Book) -> list[str]:
    return [entry.event for entry in reversed(book.history(1000))]


def ids(book: Book) -> list[str]:
    return [lease.id for lease in book.leases()]


# Taking


def test_a_lease_is_written_down_with_everything_about_it(book: Book) -> None:
    host = host_named("gpu8-128cpu")
    lease = taken(book, host, JobRequest(cpus=4, memory=1 << 30, devices={GPU: 1}, name="train"), me("python train.py"))
    assert book.leases() == [lease]
    assert (lease.name, lease.uid, lease.command, lease.owners) == (
        "train",
        os.getuid(),
        "python train.py",
        me().processes,
    )
    assert (lease.exclusive.bit_count(), lease.devices, lease.nodes) == (4, {GPU: ("GPU0",)}, 1)
    assert lease.sentence == "CPUs 0-1,64-65, 1Gi, GPU0 on node 0"
    assert events(book) == ["taken"]


def test_what_is_held_is_refused_with_a_sentence(book: Book) -> None:
    first = taken(book, HOST, JobRequest(cpus=3))
    refused = book.take(HOST, JobRequest(cpus=2), me())
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == "2 CPUs are asked for and 1 is free"
    assert ids(book) == [first.id]
    assert events(book) == ["taken", "refused"]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (JobRequest(cpus=1), "1 CPU is asked for and none is free"),
        (JobRequest(memory=16 << 30), "16Gi of memory are asked for and 15Gi are free"),
        (JobRequest(devices={GPU: 2}), f"2 {GPU} are asked for and 1 is free"),
    ],
)
def test_a_shortage_is_told_plainly(book: Book, request_: JobRequest, sentence: str) -> None:
    """And not in the words of the manager that came to it in the middle of its work."""
    machine = replace(HOST.machine, devices=(Device(GPU, "g0", (0,)), Device(GPU, "g1", (0,))))
    host = replace(HOST, machine=machine)
    taken(book, host, JobRequest(cpus=4, memory=1 << 30, devices={GPU: 1}))
    refused = book.take(host, request_, me())
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == sentence


def test_who_may_use_only_what_is_kept_back_is_told_so(book: Book) -> None:
    """And not to wait: as ordinary users with `host setup --sessions`."""
    host = replace(small_host(), reserved_cpus=0b11, allowed_cpus=0b11)
    answer = book.take(host, JobRequest(cpus=1), me())
    assert isinstance(answer, Refused)
    sentence = "this process may run on CPUs 0-1 only, which are kept back from jobs"
    assert (answer.never, sentence_of(answer).partition(" (")[0]) == (True, sentence)
    with pytest.raises(InputError, match=sentence):
        book.enqueue(host, JobRequest(cpus=1), me())


def test_a_released_lease_is_there_for_the_next_one(book: Book) -> None:
    first = taken(book, HOST, JobRequest(cpus=4))
    released = book.release(first.id)
    assert released == first
    assert book.release(first.id) is None
    assert taken(book, HOST, JobRequest(cpus=4)).exclusive == first.exclusive
    assert events(book) == ["taken", "released", "taken"]


def test_bad_input_changes_nothing(book: Book) -> None:
    with pytest.raises(InputError):
        book.take(HOST, JobRequest(cpus=100), me())
    assert (ids(book), events(book)) == ([], [])


requests = st.builds(
    JobRequest,
    cpus=st.integers(0, 6),
    memory=st.sampled_from([0, 1 << 30, 200 << 30]),
    devices=st.sampled_from([{}, {GPU: 1}, {GPU: 3}]),
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.one_of(requests, st.integers(0, 9)), max_size=12))
def test_the_rows_on_disk_are_exactly_what_is_held(tmp_path: Path, steps: list[JobRequest | int]) -> None:
    """Whatever is taken, released or given up."""
    host = host_named("gpu8-128cpu", allowed_cpus=(1 << 12) - 1)
    folder = Path(mkdtemp(dir=tmp_path))
    held: list[Lease] = []
    with Book.open(folder) as book:
        for step in steps:
            if isinstance(step, JobRequest):
                got = book.take(host, step, me())
                held += [got] if isinstance(got, Lease) else []
            elif held:
                assert book.release(held.pop(step % len(held)).id) is not None
            assert check_claims(folder) == held


# Devices with two names


def test_a_gpu_is_given_once_though_its_name_changes(book: Book) -> None:
    """Before its driver is awake it is known by its PCI address, and afterwards by its UUID."""
    addresses = {"GPU-1": "0000:01:00.0", "GPU-2": "0000:02:00.0"}
    asleep = tuple(Device(GPU, address, (0,), bus=address) for address in addresses.values())
    awake = tuple(Device(GPU, uuid, (0,), bus=address) for uuid, address in addresses.items())
    early, late = (replace(HOST, machine=replace(HOST.machine, devices=gpus)) for gpus in (asleep, awake))
    wanted = JobRequest(devices={GPU: 1})
    assert taken(book, early, wanted).devices == {GPU: ("0000:01:00.0",)}
    assert taken(book, late, wanted).devices == {GPU: ("GPU-2",)}
    assert isinstance(book.take(late, wanted, me()), Refused)
    with pytest.raises(InputError, match=r"holds GPU-2, and here no driver tells which nvidia.com/gpu that is"):
        book.take(early, wanted, me())


# Shared work


def test_shared_work_is_left_a_cpu(book: Book) -> None:
    """The last CPU goes to nobody while shared work runs; without any, all may be held."""
    shared = taken(book, HOST, JobRequest())
    refused = book.take(HOST, JobRequest(cpus=4), me())
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == "shared work runs on this host, and the last CPUs are left to it"
    assert taken(book, HOST, JobRequest(cpus=3)).exclusive == 0b111
    book.release(shared.id)
    assert taken(book, HOST, JobRequest(cpus=1)).exclusive == 0b1000


def test_shared_work_that_may_use_one_cpu_only_is_left_that_one(book: Book) -> None:
    """Whatever else is free: to it, there is no other."""
    taken(book, replace(HOST, allowed_cpus=0b1), JobRequest())
    refused = book.take(replace(HOST, allowed_cpus=0b11), JobRequest(cpus=2), me())
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == "shared work runs on this host, and the last CPUs are left to it"
    assert taken(book, HOST, JobRequest(cpus=3)).exclusive == 0b1110


@pytest.mark.parametrize(
    ("allowed", "held", "sentence"),
    [
        (None, 4, "every CPU is held exclusively: there is no shared pool to run in"),
        (0b11, 2, "every CPU that this process may use is held exclusively: there is no shared pool to run in"),
    ],
)
def test_without_a_pool_shared_work_is_refused(book: Book, allowed: int | None, held: int, sentence: str) -> None:
    taken(book, HOST, JobRequest(cpus=held))
    refused = book.take(replace(HOST, allowed_cpus=allowed), JobRequest(), me())
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == sentence


# Who is gone


def test_a_lease_whose_process_is_gone_is_freed_by_whoever_comes_next(book: Book) -> None:
    """Its number was given to another process, which lives."""
    taken(book, HOST, JobRequest(cpus=4), gone())
    assert taken(book, HOST, JobRequest(cpus=4)).exclusive == 0b1111
    assert events(book) == ["taken", "freed", "taken"]


@pytest.mark.usefixtures("blind")
def test_a_lease_of_another_pid_namespace_is_never_freed_from_a_container(book: Book) -> None:
    """From there nobody can tell whether its process lives."""
    lease = taken(book, HOST, JobRequest(cpus=4), elsewhere())
    assert ids(book) == [lease.id]
    assert isinstance(book.take(HOST, JobRequest(cpus=1), me()), Refused)


def test_a_lease_of_another_boot_is_freed(book: Book) -> None:
    """Nothing survives a restart of the machine, whatever namespace it was in."""
    if not boot_id():
        pytest.skip("the boot id cannot be trusted here")
    owner = elsewhere()
    process = replace(owner.processes[0], boot="00000000-0000-4000-8000-000000000000")
    taken(book, HOST, JobRequest(cpus=4), replace(owner, processes=(process,)))
    assert ids(book) == []


def test_one_of_several_owners_is_enough(book: Book) -> None:
    both = replace(me(), processes=(*gone().processes, *me().processes))
    lease = taken(book, HOST, JobRequest(cpus=1), both)
    assert ids(book) == [lease.id]


def test_finish_frees_a_lease_though_its_watcher_lives(book: Book) -> None:
    """The process that watches over a job says that it ended."""
    lease = taken(book, HOST, JobRequest(cpus=1))
    assert book.finish(lease.id, HOST, me().processes[0]) is None
    assert ids(book) == []
    assert book.finish(lease.id, HOST, me().processes[0]) is None


@pytest.mark.usefixtures("blind")
def test_finish_keeps_a_lease_that_others_use(book: Book) -> None:
    both = replace(me(), processes=(*me().processes, *elsewhere().processes))
    lease = taken(book, HOST, JobRequest(cpus=1), both)
    rest = book.finish(lease.id, HOST, me().processes[0])
    assert rest is not None
    assert rest.owners == elsewhere().processes
    assert ids(book) == [lease.id]


# Clocks


@pytest.mark.parametrize("jump", [-40 * 365 * 86400.0, 40 * 365 * 86400.0])
def test_a_clock_that_jumps_frees_and_keeps_nothing(book: Book, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    """The wall clock is shown, and nothing is decided by it; the order of the history is that of what happened."""
    alive = taken(book, HOST, JobRequest(cpus=1))
    timed = taken(book, HOST, JobRequest(cpus=1), until(3600.0))
    dead = taken(book, HOST, JobRequest(cpus=1), gone())
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert ids(book) == [alive.id, timed.id]
    later = taken(book, HOST, JobRequest(cpus=1))
    assert [entry.lease for entry in book.history(10)] == [later.id, dead.id, dead.id, timed.id, alive.id]


def until(seconds: float) -> Owner:
    end = time.clock_gettime(time.CLOCK_BOOTTIME) + seconds
    return replace(me(), processes=(), until=end, boot=boot_id())


def test_a_lease_for_a_time_ends_by_the_clock_that_counts_from_boot(book: Book) -> None:
    kept = taken(book, HOST, JobRequest(cpus=1), until(3600.0))
    taken(book, HOST, JobRequest(cpus=1), until(-1.0))
    assert ids(book) == [kept.id]


def test_a_lease_for_a_time_ends_with_the_boot(book: Book) -> None:
    """After a restart the clock counts anew."""
    taken(book, HOST, JobRequest(cpus=1), replace(until(3600.0), boot="another"))
    assert ids(book) == []


# A machine that changed


def test_leases_on_cpus_that_are_gone_stay_and_are_released(book: Book) -> None:
    """The machine has fewer CPUs since: what is left is given, what is gone is not counted."""
    old = taken(book, HOST, JobRequest(cpus=3))
    fewer = small_host(2)
    assert isinstance(book.take(fewer, JobRequest(cpus=1), me()), Refused)
    # Back again, with all CPUs.
    assert taken(book, HOST, JobRequest(cpus=1)).exclusive == 0b1000
    assert book.release(old.id, fewer) is not None
    assert taken(book, fewer, JobRequest(cpus=2)).exclusive == 0b11
