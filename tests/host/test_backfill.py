"""The rule of the queue: who may start, and who would delay others."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.backfill import NEVER, QueueTurn, end_of, first_start, turns
from numafit.host.grant import Owner, QueuePlace, Refused, granted, provisional, sentence_of
from numafit.host.host import Host
from numafit.host.lease import Lease, claims
from numafit.host.place import Placed
from numafit.host.process.identity import ProcessId
from numafit.host.request import JobRequest
from numafit.machine.sketch.line import read_sketch
from tests.host.ledgers import host_named, small_host

GPU = "nvidia.com/gpu"
GIB = 1 << 30
NOW = 1000.0
LAST_CPUS = "shared work runs on this host, and the last CPUs are left to it"
SKETCHES = (
    "2 sockets x 4 cores x 2 threads, 8Gi per numa, gpu 0@0 1@0 2@1 3@1",
    "2 sockets x 6 cores, 8Gi per numa, gpu 0@0 1@1",
    "1 socket x 6 cores, 16Gi per numa",
)
HOSTS = [Host(read_sketch(text)) for text in SKETCHES]


def waits(ticket: int, request: JobRequest) -> QueuePlace:
    return QueuePlace(Owner(user=f"user{ticket}"), request, 0.0, ticket=ticket)


def line(*requests: JobRequest) -> list[QueuePlace]:
    return [waits(ticket, request) for ticket, request in enumerate(requests, 1)]


def held(host: Host, *requests: JobRequest) -> list[Lease]:
    leases: list[Lease] = []
    for request in requests:
        placed = granted(host, leases, request)
        if isinstance(placed, Placed):
            leases.append(provisional(host, placed, f"lease-{len(leases)}"))
    return leases


def starting(found: Sequence[QueueTurn]) -> list[int]:
    return [turn.place.ticket for turn in found if isinstance(turn.answer, Placed)]


def decided(host: Host, leases: Sequence[Lease], queue: Sequence[QueuePlace]) -> list[QueueTurn]:
    return list(turns(host, leases, queue, NOW))


def test_who_waits_for_gpus_holds_back_no_cpus_beyond_his_own() -> None:
    """128 CPUs and 8 GPUs: while somebody waits for GPUs, others run on the CPUs that he does not need."""
    host = host_named("gpu8-128cpu")
    leases = held(host, JobRequest(cpus=8, devices={GPU: 8}))
    queue = line(JobRequest(cpus=16, devices={GPU: 4}), JobRequest(cpus=100), JobRequest(cpus=8), JobRequest(cpus=0))
    found = decided(host, leases, queue)
    assert starting(found) == [2, 4]
    refused = found[2].answer
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == "it would delay user1, who waits for 16 CPUs, 4 nvidia.com/gpu"


def test_what_is_scarce_is_not_taken_from_who_waits_for_more_of_it() -> None:
    """Two GPUs are free and four are waited for: nobody gets one of the two meanwhile."""
    host = host_named("gpu8-128cpu")
    leases = held(host, JobRequest(devices={GPU: 6}))
    assert starting(decided(host, leases, line(JobRequest(devices={GPU: 4}), JobRequest(devices={GPU: 1})))) == []


def test_who_asks_for_the_same_waits_behind() -> None:
    host = small_host(4)
    leases = held(host, JobRequest(cpus=2))
    assert starting(decided(host, leases, line(JobRequest(cpus=3), JobRequest(cpus=3), JobRequest(cpus=2)))) == []


def test_held_back_is_for_as_many_as_could_run_at_the_same_time() -> None:
    """Fifty wait for a GPU and 8 CPUs each. No more than eight of them ever run at once, on 64 of the 126 CPUs."""
    host = host_named("gpu8-128cpu")
    leases = held(host, JobRequest(cpus=2, devices={GPU: 8}))
    queue = line(*[JobRequest(cpus=8, devices={GPU: 1})] * 50, JobRequest(cpus=62), JobRequest(cpus=2))
    assert starting(decided(host, leases, queue)) == [51]


def test_alignment_that_is_demanded_is_held_back_on_each_node() -> None:
    """Two jobs sit on the two nodes; who waits for a node of his own must not find the rest of both taken."""
    host = HOSTS[1]
    leases = held(host, JobRequest(cpus=2, devices={GPU: 1}, policy="restricted"), JobRequest(cpus=2, devices={GPU: 1}))
    strict = JobRequest(cpus=6, policy="single-numa-node")
    assert starting(decided(host, leases, line(strict, JobRequest(cpus=1)))) == []
    assert starting(decided(host, leases, line(replace(strict, policy="best-effort"), JobRequest(cpus=1)))) == [1, 2]


def test_one_who_would_delay_where_he_was_put_first_is_put_elsewhere() -> None:
    """By itself it goes to the first node, where the other waits for the rest; the second node has room for both."""
    host = Host(read_sketch("2 sockets x 8 cores, 8Gi per numa, gpu 0@0 1@0"))
    leases = held(host, JobRequest(cpus=1, devices={GPU: 2}))
    found = decided(host, leases, line(JobRequest(memory=6 * GIB, devices={GPU: 1}), JobRequest(memory=3 * GIB)))
    assert starting(found) == []
    found = decided(host, leases, line(JobRequest(memory=4 * GIB, devices={GPU: 1}), JobRequest(memory=3 * GIB)))
    assert starting(found) == [2]


def test_priorities_come_before_the_order_of_coming() -> None:
    host = small_host(4)
    queue = line(JobRequest(cpus=3), JobRequest(cpus=3, priority=5), JobRequest(cpus=1, priority=-1))
    found = decided(host, [], queue)
    assert [turn.place.ticket for turn in found] == [2, 1, 3]
    assert starting(found) == [2]


def test_who_ends_in_time_passes() -> None:
    """All CPUs are waited for. By its own limit the lease ends in 100 s: what takes no longer may run until then."""
    host = small_host(4)
    leases = [replace(held(host, JobRequest(cpus=2))[0], seconds=100.0)]
    head = JobRequest(cpus=4)
    assert first_start(host, leases, waits(1, head), NOW) == NOW + 100
    assert starting(decided(host, leases, line(head, JobRequest(cpus=2, seconds=100)))) == [2]
    assert starting(decided(host, leases, line(head, JobRequest(cpus=2, seconds=101)))) == []
    assert starting(decided(host, leases, line(head, JobRequest(cpus=2)))) == []


def test_the_time_of_a_job_counts_from_its_start() -> None:
    ticks = 100
    watcher, job = (ProcessId(pid, start, "", 0) for pid, start in ((1, 1), (2, 50 * ticks)))
    lease = Lease("a", "", 0, "", 0.0, seconds=60.0, owners=(watcher, job))
    assert end_of(lease, NOW) == 50 * ticks / ticks + 60
    assert end_of(replace(lease, owners=(watcher,)), NOW) == NOW + 60
    assert end_of(replace(lease, seconds=0.0), NOW) == NEVER
    assert end_of(replace(lease, until=7.0), NOW) == 7.0


def test_what_each_may_use_is_his_own() -> None:
    host = small_host(4)
    leases = held(host, JobRequest(cpus=1))
    queue = [
        replace(waits(1, JobRequest(cpus=1)), allowed_cpus="0"),
        replace(waits(2, JobRequest(cpus=1)), allowed_cpus="1-3"),
    ]
    first, second = (turn.answer for turn in decided(host, leases, queue))
    assert isinstance(first, Refused)
    assert isinstance(second, Placed)
    assert not second.exclusive & 1


def test_a_device_that_is_not_seen_from_here_makes_one_wait() -> None:
    queue = line(JobRequest(cpus=2, devices={"example.com/fpga": 1}), JobRequest(cpus=2), JobRequest(cpus=1))
    assert starting(decided(small_host(4), [], queue)) == [2]


def test_shared_work_passes_unless_every_cpu_is_waited_for() -> None:
    host = small_host(4)
    leases = held(host, JobRequest(cpus=3))
    assert starting(decided(host, leases, line(JobRequest(cpus=3), JobRequest()))) == [2]
    assert starting(decided(host, leases, line(JobRequest(cpus=4), JobRequest()))) == []


# Laws

REQUESTS = st.builds(
    JobRequest,
    cpus=st.integers(0, 6),
    memory=st.sampled_from((0, 0, GIB, 3 * GIB, 10 * GIB)),
    policy=st.sampled_from(("best-effort", "best-effort", "restricted", "single-numa-node", "none")),
    prefer=st.sampled_from(((), (), ("full-cores",))),
    priority=st.sampled_from((0, 0, 1)),
)


@st.composite
def situations(draw: st.DrawFn, *, timed: bool = False) -> tuple[Host, list[Lease], list[QueuePlace]]:
    host = draw(st.sampled_from(HOSTS))
    gpus = sum(device.resource == GPU for device in host.machine.devices)

    def some(least: int, most: int) -> list[JobRequest]:
        asked = []
        for request in draw(st.lists(REQUESTS, min_size=least, max_size=most)):
            devices = draw(st.integers(0, gpus)) if gpus else 0
            time = draw(st.sampled_from((0.0, 10.0, 100.0))) if timed else 0.0
            asked.append(replace(request, devices={GPU: devices} if devices else {}, seconds=time))
        return asked

    leases = held(host, *some(1, 6))
    gone = draw(st.sets(st.integers(0, 5), max_size=3))
    kept = [lease for number, lease in enumerate(leases) if number not in gone]
    possible = [request for request in some(1, 5) if fits(host, [], request)]
    return host, kept, line(*possible)


def fits(host: Host, leases: Sequence[Lease], request: JobRequest) -> bool:
    try:
        return isinstance(granted(host, leases, request), Placed)
    except InputError:
        return False


def started(host: Host, found: Sequence[QueueTurn]) -> list[Lease]:
    return [
        provisional(host, turn.answer, f"new-{turn.place.ticket}") for turn in found if isinstance(turn.answer, Placed)
    ]


def split(found: list[QueueTurn]) -> tuple[list[QueueTurn], QueueTurn, list[QueueTurn]] | None:
    """Those before the first that waits on, him, and those behind."""
    for number, turn in enumerate(found):
        if isinstance(turn.answer, Refused) and turn.place.request.holds:
            return found[:number], turn, found[number + 1 :]
    return None


@given(situations())
@settings(max_examples=150, deadline=None)
def test_nothing_is_promised_twice(situation: tuple[Host, list[Lease], list[QueuePlace]]) -> None:
    host, leases, queue = situation
    everything = [*leases, *started(host, decided(host, leases, queue))]
    names = [claim for lease in everything for claim in claims(lease)]
    assert len(names) == len(set(names))
    memory = sum(block.size for lease in everything for block in lease.memory)
    assert memory <= sum(node.memory for node in host.machine.numa_nodes)


@given(situations())
@settings(max_examples=150, deadline=None)
def test_whatever_ends_the_first_one_finds_what_he_would_have_found(
    situation: tuple[Host, list[Lease], list[QueuePlace]],
) -> None:
    """For every set of leases that may end first: if he fits without those that passed him, he fits with them. Only the
    one CPU that is left to shared work may be missing."""
    host, leases, queue = situation
    parts = split(decided(host, leases, queue))
    if parts is None:
        return
    before, head, behind = parts
    there, passed = started(host, before), started(host, behind)
    for count in range(len(leases) + 1):
        for rest in combinations(leases, count):
            if fits(host, [*rest, *there], head.place.request):
                answer = granted(host, [*rest, *there, *passed], head.place.request)
                shared = any(lease.pooled for lease in passed) and isinstance(answer, Refused) and answer.why
                assert isinstance(answer, Placed) or shared == LAST_CPUS


@given(situations(timed=True))
@settings(max_examples=150, deadline=None)
def test_the_first_one_starts_no_later_than_the_times_promise(
    situation: tuple[Host, list[Lease], list[QueuePlace]],
) -> None:
    host, leases, queue = situation
    parts = split(decided(host, leases, queue))
    if parts is None:
        return
    before, head, behind = parts
    there = started(host, before)
    passed = [lease for lease in started(host, behind) if not lease.pooled]
    promised = first_start(host, [*leases, *there], head.place, NOW)
    assert first_start(host, [*leases, *there, *passed], head.place, NOW) <= promised


@given(situations(), st.lists(REQUESTS, min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_nobody_starves_however_many_small_ones_come_and_never_end(
    situation: tuple[Host, list[Lease], list[QueuePlace]], small: list[JobRequest]
) -> None:
    """The leases that were there end one after the other; whoever passed runs for ever, and new ones keep coming."""
    host, leases, queue = situation
    queue = [replace(place, request=replace(place.request, priority=0)) for place in queue]
    parts = split(decided(host, leases, queue))
    if parts is None or started(host, parts[0]):
        return
    head, waiting = parts[1].place, list(queue)
    forever: list[Lease] = []
    ticket = 100
    for rest in range(len(leases), -1, -1):
        for request in small:
            ticket += 1
            waiting.append(waits(ticket, replace(request, cpus=min(2, request.cpus), priority=0)))
        found = decided(host, [*leases[:rest], *forever], waiting)
        forever += [replace(lease, id=f"{lease.id}-{rest}") for lease in started(host, found)]
        waiting = [turn.place for turn in found if isinstance(turn.answer, Refused)]
    assert head not in waiting


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_empty_host_starts_all_that_fit(count: int) -> None:
    assert starting(decided(small_host(4), [], line(*[JobRequest(cpus=1)] * count))) == list(range(1, count + 1))
