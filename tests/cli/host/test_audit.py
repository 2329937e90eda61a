"""`numafit audit` as it is typed."""

import json
import os
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.errors import InputError
from numafit.host.audit.promise import Promise
from tests.host.process.test_identity import child


def promises(monkeypatch: pytest.MonkeyPatch, *leases: Promise, error: InputError | None = None) -> None:
    """Puts these in place of the leases of this host."""

    def answer(_folder: Path | None = None) -> list[Promise]:
        if error is not None:
            raise error
        return list(leases)

    monkeypatch.setattr("numafit.cli.host.audit.lease_promises", answer)
    monkeypatch.setattr("numafit.cli.host.audit.docker_promises", answer)


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
    assert capsys.readouterr().out == "0 processes looked at: nothing found\n"
    assert list(tmp_path.iterdir()) == []
