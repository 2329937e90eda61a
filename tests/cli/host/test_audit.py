"""`numafit audit` as it is typed."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.__main__ import main
from numafit.advice.verdict import HeldPart, HolderVerdict, UnitLying
from numafit.errors import InputError
from numafit.host.audit.activity import JobUse
from numafit.host.audit.codes import finding
from numafit.host.audit.numastat import NodeAllocations
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import AuditReport
from numafit.host.process.observation import Observation
from numafit.machine.model import Machine
from numafit.show.text.audit import audit_text, news_text
from tests.host.process.test_identity import child


def promises(monkeypatch: pytest.MonkeyPatch, *leases: Promise, error: InputError | None = None) -> None:
    """Puts these in place of the leases of this host."""

    def answer(_folder: Path | None = None, _machine: Machine | None = None) -> list[Promise]:
        if error is not None:
            raise error
        return list(leases)

    monkeypatch.setattr("numafit.cli.host.audit.lease_promises", answer)
    monkeypatch.setattr("numafit.cli.host.audit.docker_promises", answer)


@pytest.fixture(autouse=True)
def short_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks; nothing here asks what happened in between."""
    monkeypatch.setattr("numafit.host.audit.watch.WINDOW_SECONDS", 0.01)


def typed(*words: str) -> int:
    return main(["audit", *words])


@pytest.mark.parametrize("words", [[], ["1", "--all"], ["--leases", "--docker"], ["0"], ["4194309"]])
def test_bad_input_is_one_sentence(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No way or two ways to name processes, no number of a process, a process that is not there."""
    promises(monkeypatch)
    assert typed(*words) == 2


def test_a_process_without_a_lease_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    promises(monkeypatch)
    with child("") as process:
        assert typed(str(process.pid)) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split()[:2] == ["PID", "PROGRAM"]
    assert out.splitlines()[1].split()[0] == str(process.pid)
    assert out.endswith("1 process looked at: nothing found\n")


def test_a_broken_promise_is_exit_1_and_the_same_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    with child(f"import os\nos.sched_setaffinity(0, [{cpus[0]}])") as process:
        promises(monkeypatch, Promise("job", (process.pid,), cpus=1 << cpus[1]))
        assert typed("--leases") == 1
        assert f"job, process {process.pid}" in capsys.readouterr().out
        assert typed("--leases", "-o", "json") == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["code"], each["severity"], each["pid"], each["cure"]) for each in found] == [
        ("NA002", "error", process.pid, f"taskset -apc {cpus[1]} {process.pid}")
    ]


def test_how_leases_lie_is_told_above_the_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A count, and a line for who lies apart; in JSON at each promise. What is not judged is not counted."""
    parts = (HeldPart("cpu", 1), HeldPart("nvidia.com/gpu", 2, "GPU-x", ("cpu",)))
    far = HolderVerdict("remote GPU", (UnitLying("lease", "remote GPU", 3, 1, parts),))
    judged = (Promise("far", (), alignment=far), Promise("near", (), alignment=HolderVerdict("aligned")))
    promises(monkeypatch, *judged, Promise("x", ()))
    typed("--leases")
    lines = capsys.readouterr().out.splitlines()
    first = lines.index("Leases as they were given: 1 aligned · 1 remote GPU")
    why = "GPU-x hangs on NUMA node 1, its CPUs are on NUMA node 0"
    assert " ".join(" ".join(lines[first + 1 : first + 3]).split()) == f"far: remote GPU: {why}"
    typed("--leases", "-o", "json")
    found = {one["name"]: one.get("alignment") for one in json.loads(capsys.readouterr().out)["promises"]}
    assert (found["far"]["verdict"], found["far"]["why"], found["near"]["verdict"]) == ("remote GPU", why, "aligned")
    assert found["x"] is None


def test_leases_that_cannot_be_read_stop_only_an_audit_of_leases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named processes are judged as without a lease, and that is said."""
    promises(monkeypatch, error=InputError("may not be read", source="ledger"))
    with child("") as process:
        assert typed("--leases") == 2
        assert typed(str(process.pid)) == 0
    assert "ledger: may not be read" in " ".join(capsys.readouterr().out.split())


def test_the_ledger_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is not there has no leases, and is not made."""
    assert typed("--leases", "--state-dir", str(tmp_path / "none")) == 0
    assert capsys.readouterr().out == "no process to look at: nothing found\n"
    assert list(tmp_path.iterdir()) == []


def test_watching_tells_again_and_ends_with_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole audit first, then what is new; one line of JSON for each look."""
    promises(monkeypatch)
    for output in ("text", "json"):
        with child("") as process:
            looks = []

            def end(seconds: float, process: subprocess.Popen[bytes] = process, looks: list[float] = looks) -> None:
                looks.append(seconds)
                if len(looks) == 3:
                    process.kill()
                    process.wait()

            monkeypatch.setattr("numafit.cli.host.audit.time.sleep", end)
            assert typed(str(process.pid), "--watch=7", "-o", output) == 0
        captured = capsys.readouterr()
        assert looks == [0.01, 7, 7]
        assert f"there is no process {process.pid}" in captured.err
        if output == "json":
            lines = [json.loads(line) for line in captured.out.splitlines()]
            assert [[seen["pid"] for seen in line["processes"]] for line in lines] == [[process.pid]] * 2
        else:
            assert captured.out.count("1 process looked at: nothing found") == 1


@pytest.mark.parametrize("words", [["--watch=0"], ["--watch=x"], ["--watch=100000"]])
def test_a_watch_needs_a_time(words: list[str]) -> None:
    assert typed("--leases", *words) == 2


def test_findings_that_come_and_go_are_told_once() -> None:
    """Numbers in a sentence may change; that is no news."""
    process = Observation(7, "train")
    first = AuditReport((process,), (), (finding("NA007", "job", None, "1 busy", "cure"),))
    same = AuditReport((process,), (), (finding("NA007", "job", None, "2 busy", "cure"),))
    other = AuditReport((process,), (), (finding("NA001", "job", 7, "far", "cure"),), ("more",))
    assert news_text(first, same).count("\n") == 0
    assert news_text(first, other).split("\n", 2)[2] == (
        "error NA001: memory on other NUMA nodes than promised\n  job, process 7 (train): far\n  cure: cure\n\n"
        "gone: NA007 job\n\nNot seen: more"
    )


def test_what_jobs_and_nodes_did_is_a_table() -> None:
    """Per second; a machine with one NUMA node has no table of nodes."""
    job = JobUse("train (abc)", "abc", 2.0, 3.97, 0.02, 200, 4, 1, 5, {0: 12 << 30, 1: 40 << 20})
    counts = NodeAllocations(1000, 20, 40, 0, 900, 120)
    report = AuditReport((), (), (), seconds=2.0, jobs=(job,), allocations={0: counts, 1: counts})
    assert audit_text(report).split("\n\n")[:2] == [
        "JOB          CPUS USED  WAITING  SWITCHES/S  FORCED/S  MEMORY PER NODE\n"
        "train (abc)       3.97     0.02         100         2  0:12Gi 1:40Mi",
        "NODE  ALLOCATIONS/S  REMOTE/S  MISSED/S  TAKEN IN/S\n"
        "   0            510        60        20          10\n"
        "   1            510        60        20          10",
    ]
    assert "NODE  ALL" not in audit_text(replace(report, allocations={0: counts}))
