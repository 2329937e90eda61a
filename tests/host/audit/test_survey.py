"""Which processes are looked at: real children of this test, with promises that they break."""

import os

import pytest
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.audit.activity import HostLook
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import Survey, look_around
from numafit.host.this_machine import live_machine
from numafit.show.records.audit import audit_record
from numafit.show.table import Screen
from numafit.show.text.audit import WIDTH, audit_text
from tests.host.process.test_identity import UNUSED, child

SPAWN = "import subprocess\nsubprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], stdin=0)"


def two_cpus() -> list[int]:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    return cpus


def busy_since(*pids: int) -> HostLook:
    """A look as if these processes had run on all the time since, however slow this machine is, and nobody else."""
    now = look_around()
    seen = {
        pid: replace(process, threads=tuple(replace(thread, ran=-(10**15)) for thread in process.threads))
        if pid in pids
        else replace(process, threads=tuple(replace(thread, ran=10**18) for thread in process.threads))
        for pid, process in now.processes.items()
    }
    return HostLook(now.time - 1, seen)


def test_a_child_that_may_run_elsewhere_breaks_its_promise() -> None:
    """A child that is kept to one CPU, and a promise of another."""
    cpus = two_cpus()
    with child(f"import os\nos.sched_setaffinity(0, [{cpus[0]}])") as process:
        promise = Promise("job", (process.pid,), cpus=1 << cpus[1])
        report = Survey(live_machine(), [promise], {}).of_promises()
    assert [(found.code, found.pid) for found in report.findings] == [("NA002", process.pid)]
    assert report.failed


def test_what_a_promised_process_started_belongs_to_the_promise() -> None:
    """And is bound as its parent is: no finding for either."""
    with child(SPAWN) as process:
        survey = Survey(live_machine(), [Promise("job", (process.pid,))], {})
        report = survey.of_promises()
    assert len(report.promises[0].pids) == len(report.processes) == 2
    assert report.findings == ()


def test_others_on_exclusive_cpus_are_found_and_the_audit_itself_is_not_one() -> None:
    cpus = two_cpus()
    with child(f"import os\nos.sched_setaffinity(0, [{cpus[1]}])") as intruder, child("") as owner:
        promise = Promise("job", (owner.pid,), cpus=1 << cpus[1], exclusive=True)
        busy = busy_since(intruder.pid, owner.pid, os.getpid())
        report = Survey(live_machine(), [promise], {}, before=busy).of_promises()
    (found,) = [one for one in report.findings if one.code == "NA007"]
    assert found.others == (intruder.pid,)
    assert f"used 100% of a CPU, seen on CPU {cpus[1]}, in " in found.sentence


def test_a_host_where_nobody_else_works_has_no_finding() -> None:
    """However many processes may run on the CPUs of the lease."""
    cpus = two_cpus()
    with child(f"import os\nos.sched_setaffinity(0, [{cpus[1]}])") as owner, child("") as neighbour:
        promise = Promise("job", (owner.pid,), cpus=1 << cpus[1], exclusive=True)
        survey = Survey(live_machine(), [promise], {}, before=busy_since())
        report = survey.of_promises()
    assert neighbour.pid in survey.now.processes
    assert report.findings == ()
    assert [(job.name, job.processes, job.cpus) for job in report.jobs] == [("job", 1, 0.0)]


def test_named_processes_are_judged_without_those_beside_them() -> None:
    cpus = two_cpus()
    code = f"import os\nos.sched_setaffinity(0, [{cpus[0]}])"
    with child(code) as first, child(code) as second:
        promise = Promise("job", (first.pid, second.pid), cpus=1 << cpus[1])
        report = Survey(live_machine(), [promise], {}).of_processes([second.pid])
    assert [found.pid for found in report.findings] == [second.pid]


def test_a_process_that_is_not_there_is_bad_input() -> None:
    with pytest.raises(InputError, match=f"there is no process {UNUSED}"):
        Survey(live_machine(), [], {}).of_processes([UNUSED])


def test_everything_holds_a_restricted_process_and_not_a_free_one() -> None:
    cpus = two_cpus()
    with child(f"import os\nos.sched_setaffinity(0, [{cpus[0]}])") as bound, child("") as free:
        report = Survey(live_machine(), [], {}).of_everything()
    pids = [process.pid for process in report.processes]
    assert bound.pid in pids
    assert os.getpid() not in pids
    if len(cpus) == os.cpu_count():
        assert free.pid not in pids


def test_a_promise_without_living_processes_is_said() -> None:
    report = Survey(live_machine(), [Promise("job", (UNUSED,))], {}).of_promises()
    assert report.unseen == ("job: none of its processes is there any more",)
    assert not report.failed


def test_no_line_of_the_text_is_wider_than_a_terminal() -> None:
    """Also with a long name and many findings; JSON has the same number of them."""
    cpus = two_cpus()
    with child(f"import os\nos.sched_setaffinity(0, [{cpus[0]}])") as process:
        promise = Promise(
            "a lease with a rather long name that goes on " * 2, (process.pid,), 1 << cpus[1], exclusive=True
        )
        report = Survey(live_machine(), [promise], {}).of_promises()
    text = audit_text(report, Screen(WIDTH))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.count("cure: ") == len(audit_record(report, "now").findings) == len(report.findings) > 0


def test_who_watches_over_a_job_is_no_intruder() -> None:
    cpus = two_cpus()
    with child("") as owner, child("") as watcher:
        promise = Promise("job", (owner.pid,), 1 << cpus[0], exclusive=True, watcher=watcher.pid)
        busy = busy_since(watcher.pid)
        found = Survey(live_machine(), [promise], {}, before=busy).of_promises().findings
        unwatched = Survey(live_machine(), [replace(promise, watcher=0)], {}, before=busy).of_promises().findings
    assert watcher.pid not in {pid for one in found for pid in one.others}
    assert watcher.pid in {pid for one in unwatched for pid in one.others}


def test_who_watches_over_a_job_stands_for_the_job() -> None:
    """The process that a user knows is his `numafit run`; that one itself was promised nothing."""
    cpus = two_cpus()
    with child("") as owner, child("") as watcher:
        promise = Promise("job", (owner.pid,), 1 << cpus[0], exclusive=True, watcher=watcher.pid)
        report = Survey(live_machine(), [promise], {}).of_processes([watcher.pid])
        beside = Survey(live_machine(), [promise], {}).of_promises()
    assert [one.name for one in report.promises] == ["job"]
    assert {one.pid for one in report.findings} == {one.pid for one in beside.findings} == {owner.pid}
