"""What happened between two looks."""

from numafit.host.audit.activity import Activity, HostLook, JobUse, activity_between, job_use, seconds_text
from numafit.host.process.numa_maps import Pages
from numafit.host.process.observation import Observation, Thread

SECOND = 10**9


def thread(id: int, ran: float, waited: float | None, switches: int, *, start: int = 5, cpu: int = 0) -> Thread:
    waits = None if waited is None else int(waited * SECOND)
    return Thread(id, 0b11, cpu, start, True, int(ran * SECOND), waits, switches, 2 * switches)


def between(before: tuple[Thread, ...], after: tuple[Thread, ...]) -> Activity:
    return activity_between(
        HostLook(100.0, {7: Observation(7, "x", threads=before)}),
        HostLook(102.0, {7: Observation(7, "x", threads=after)}),
    )


def test_counts_are_those_between_the_looks() -> None:
    activity = between((thread(1, 10, 1, 100),), (thread(1, 11.5, 1.25, 140, cpu=1),))
    (use,) = activity.threads([7])
    assert (use.ran, use.waited, use.voluntary, use.involuntary, use.seen_on) == (1.5, 0.25, 40, 80, 0b11)
    assert activity.wants(use) == 0.875


def test_a_new_thread_counts_from_its_start_and_not_for_longer_than_was_looked() -> None:
    """Also one with the number of a thread that has ended: it started at another time."""
    activity = between((thread(1, 10, 1, 100),), (thread(1, 1, 0, 3, start=9), thread(2, 50, 0, 4)))
    assert [(use.ran, use.voluntary) for use in activity.threads([7])] == [(1.0, 3), (2.0, 4)]


def test_a_job_is_the_sum_of_its_processes() -> None:
    """In CPUs' worth of time, and with memory by NUMA node."""
    activity = between((), (thread(1, 1, 0.5, 3), thread(2, 2, 0.5, 4)))
    seen = {7: Observation(7, "x", pages=Pages({0: 100, 1: 20}))}
    assert job_use("job", "abc", (7, 9), activity, seen) == JobUse(
        "job", "abc", 2.0, 1.5, 0.5, 7, 14, processes=1, threads=2, memory={0: 100, 1: 20}
    )


def test_what_the_kernel_does_not_tell_of_a_job_is_unknown() -> None:
    activity = between((), (thread(1, 1, None, 3),))
    use = job_use("job", "", (7,), activity, {7: Observation(7, "x")})
    assert (use.waiting, use.memory) == (None, None)


def test_seconds_are_told_in_few_digits() -> None:
    assert [seconds_text(seconds) for seconds in (1.0042, 60.04, 119, 3600)] == ["1 s", "60 s", "119 s", "60 min"]
