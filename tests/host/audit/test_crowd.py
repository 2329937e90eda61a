"""Whether a job can use what it holds: eight CPUs, of which it was given four or all."""

import pytest
from msgspec.structs import replace

from numafit.host.audit.activity import Activity, ThreadUse
from numafit.host.audit.codes import AuditFinding
from numafit.host.audit.crowd import audit_held
from numafit.host.audit.promise import Promise
from numafit.host.process.cpuset import Cpuset
from numafit.host.process.observation import Observation, Thread
from tests.host.audit.made_up import ALL, LOW, during, seen, use

JOB = Promise("job", (7, 8), cpus=LOW, exclusive=True)


def found(activity: Activity, *, promise: Promise = JOB, online: int = ALL) -> list[AuditFinding]:
    return list(audit_held(promise, [seen(activity, pid) for pid in activity.processes], activity, online))


def test_a_job_that_uses_all_its_cpus_has_no_finding() -> None:
    """Together its processes may use all; what each alone may use is its own matter."""
    assert found(during(1.0, {7: (use(0b0011, 0, 1.0),), 8: (use(0b1100, 2, 1.0),)})) == []


def test_fewer_cpus_than_are_held_is_told_with_both() -> None:
    """Whether or not it works at the moment: nobody else can have the others."""
    (one,) = found(during(1.0, {7: (use(0b0001, 0),), 8: (use(0b0001, 0), use(0b0010, 1, id=2))}))
    assert (one.code, one.others) == ("NA014", (7, 8))
    assert one.sentence == "its 3 threads may use only CPU 0-1, but it holds CPU 0-3"
    assert one.cure.startswith("taskset -apc 0-3 PID for each of its processes; ")


def test_a_cpuset_that_was_narrowed_is_named() -> None:
    """taskset would not help there."""
    own = Cpuset("v2", "/numafit/abc", 0b0001, 1)
    process = Observation(7, "x", threads=(Thread(7, 0b0001, 0),), cpuset=own)
    (one,) = audit_held(JOB, [process], None, ALL)
    assert one.sentence == "its 1 thread may use only CPU 0, but it holds CPU 0-3: its cpuset /numafit/abc has no more"
    assert "taskset" not in one.cure


def test_what_may_not_be_looked_at_may_be_anywhere() -> None:
    activity = during(1.0, {7: (use(0b0001, 0),)})
    hidden = Observation(8, "", unseen=("nothing of it: permission denied",))
    assert list(audit_held(JOB, [seen(activity, 7), hidden], activity, ALL)) == []


@pytest.mark.parametrize(
    ("online", "sentence"),
    [
        (ALL & ~0b0100, "CPU 2 of its CPUs 0-3 is offline"),
        (ALL & ~0b1100, "CPU 2-3 of its CPUs 0-3 are offline"),
    ],
)
def test_offline_cpus_of_a_lease_are_told(online: int, sentence: str) -> None:
    """And nothing else: that it may use only the others is no second finding."""
    (one,) = found(during(1.0, {7: (use(LOW & online, 0),)}), online=online)
    assert (one.code, one.severity, one.sentence) == ("NA015", "error", sentence)
    assert one.cure.startswith("`numafit ps` moves the job to others")


def heap(*threads: ThreadUse) -> list[tuple[str, str]]:
    return [(one.code, one.sentence) for one in found(during(1.0, {7: (use(LOW, 0), *threads)}))]


def test_busy_threads_on_one_cpu_are_told_while_others_are_idle() -> None:
    """Workers that inherited one CPU from a library: 1 of 3 runs, the others wait."""
    workers = [use(0b0001, 0, 0.33, 0.66, id=20 + number) for number in range(3)]
    idle = use(0b0001, 0, 0.01, id=30)
    assert heap(*workers, idle, use(0b0010, 1, 1.0, id=40)) == [
        (
            "NA016",
            "3 busy threads may use only CPU 0, while none of its busy threads was on CPU 2-3 of those that it holds",
        )
    ]


def test_a_heap_is_none_where_no_cpu_is_idle_or_the_scheduler_may_help() -> None:
    """Threads that may go elsewhere, one busy thread, and as many threads as CPUs."""
    piled = [use(0b0001, 0, 0.33, 0.66, id=20 + number) for number in range(3)]
    others = [use(1 << cpu, cpu, 1.0, id=30 + cpu) for cpu in (1, 2, 3)]
    assert heap(*piled, *others) == []
    assert heap(*(use(LOW, 0, 0.3, 0.6, id=20 + number) for number in range(3))) == []
    assert heap(piled[0]) == []
    assert heap(use(0b0011, 0, 1.0, id=20), use(0b0011, 1, 1.0, id=21)) == []


def test_without_the_time_that_they_waited_running_threads_are_busy() -> None:
    """Kernels without schedstat."""
    piled = [use(0b0001, 0, 0.1, None, id=20 + number) for number in range(3)]
    assert [code for code, _ in heap(*piled)] == ["NA016"]
    assert heap(*(replace(one, running=False) for one in piled)) == []


def test_who_shares_a_pool_holds_nothing_of_it() -> None:
    shared = replace(JOB, exclusive=False)
    assert found(during(1.0, {7: (use(0b0001, 0),)}), promise=shared, online=0b0001) == []
