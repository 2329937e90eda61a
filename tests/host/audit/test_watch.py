"""One look after the other, at real children of this test."""

from msgspec.structs import replace

from numafit.host.audit.activity import JobUse
from numafit.host.audit.drift import MemorySample
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import Survey
from numafit.host.audit.watch import AuditWatch, JobTotals, online_cpus
from numafit.host.this_machine import live_machine
from tests.host.process.test_identity import UNUSED, child


def test_the_first_look_without_a_beginning_counts_nothing() -> None:
    """And is the beginning of the next."""
    with child("") as process:
        watch = AuditWatch(live_machine(), {})
        first = watch.look([Promise("job", (process.pid,), lease="abc")], Survey.of_promises)
        second = watch.look([Promise("job", (process.pid,), lease="abc")], Survey.of_promises)
    assert (first.seconds, first.jobs, dict(first.allocations)) == (None, (), {})
    assert second.seconds is not None
    assert [(job.name, job.lease, job.processes) for job in second.jobs] == [("job", "abc", 1)]
    assert set(watch.totals) == {"abc"}


def test_totals_go_on_and_end_with_the_lease() -> None:
    use = JobUse("job", "abc", 2.0, 1.5, 0.5, 7, 14, 1, 1, None)
    assert JobTotals().plus(use).plus(replace(use, waiting=None)) == JobTotals(6.0, 1.0, 14, 28)
    with child("") as process:
        watch = AuditWatch(live_machine(), {})
        watch.begin()
        watch.totals = {"abc": JobTotals(voluntary=5000), "old": JobTotals(voluntary=1)}
        watch.look([Promise("job", (process.pid,), lease="abc")], Survey.of_promises)
    assert set(watch.totals) == {"abc"}
    assert watch.totals["abc"].voluntary >= 5000


def test_drift_is_told_against_what_was_seen_before() -> None:
    """The memory of a child, of which nothing lies on the only node that was promised: a node far off."""
    far = 1 << 900
    with child("block = bytearray(64 << 20)") as process:
        promise = Promise("job", (process.pid,), mems=far)
        watch = AuditWatch(live_machine(), {})
        watch.begin()
        if watch.look([promise], Survey.of_promises).processes[0].pages is None:
            # A kernel without NUMA tells of no pages, and nothing is guessed.
            return
        (sample,) = watch._samples["job"]
        assert sample.outside == sample.total > 64 << 20
        watch._samples["job"].appendleft(MemorySample(sample.time - 60, 0, sample.total))
        found = watch.look([promise], Survey.of_promises).findings
        gone = watch.look([], Survey.of_promises)
    assert "NA017" in [one.code for one in found]
    assert (gone.findings, watch._samples) == ((), {})


def test_cpus_that_are_online_are_read_anew() -> None:
    """The machine was read when the watch began."""
    machine = live_machine()
    online = online_cpus()
    assert online is None or all(online >> cpu.id & 1 == cpu.online for cpu in machine.cpus)


def test_a_lease_without_processes_is_said_at_each_look() -> None:
    watch = AuditWatch(live_machine(), {})
    for _ in range(2):
        report = watch.look([Promise("job", (UNUSED,))], Survey.of_promises, ["something else"])
        assert report.unseen == ("something else", "job: none of its processes is there any more")
