"""`ps`, `free` and `history` where the ledger cannot be written: they say so, and show what can be known."""

import io
import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import numafit.cli.bundle
import numafit.cli.host.audit
import numafit.cli.host.leases
import numafit.cli.host.plan
import numafit.cli.host.run
import numafit.host.book.glance
import numafit.host.docker.containers  # noqa: F401  (a child may not read the folders of Python)
from numafit.__main__ import main
from numafit.cli.host.audit import OTHERS
from numafit.host.book.book import Book
from numafit.host.book.folder import NOT_SHARED, VARIABLE, is_private, ledger_folder
from numafit.host.book.store import FILE
from numafit.host.grant import Refused
from numafit.host.request import JobRequest
from tests.host.children import NOBODY, in_child, needs_root, opened_up
from tests.host.ledgers import gone, me, small_host, without_gap

Answer = tuple[int, str, str]


@pytest.fixture(autouse=True)
def another_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a ledger of its own, and without the jobs of tests that run at the same time."""
    monkeypatch.setattr("numafit.host.book.rebuild.lease_groups", list)
    for function in (ledger_folder, is_private):
        monkeypatch.setattr(function, "__defaults__", (None, tmp_path / "host"))
    for name in (VARIABLE, "XDG_STATE_HOME", "DOCKER_HOST"):
        monkeypatch.delenv(name, raising=False)


def called(*words: str) -> Callable[[], Answer]:
    def work() -> Answer:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main(list(words))
        return status, out.getvalue(), err.getvalue()

    return work


def as_nobody(*words: str) -> Answer:
    needs_root()
    return in_child(called(*words), user=NOBODY)


def ledger(folder: Path) -> Path:
    """With a lease of this process, and one of a job that is gone."""
    with Book.open(folder) as book:
        for owner in (me("train.py"), gone()):
            assert not isinstance(book.take(small_host(), JobRequest(cpus=1), owner, quiet=True), Refused)
        book.history(1)
    return readable(folder)


def readable(folder: Path) -> Path:
    """As an administrator may have made it; numafit itself makes ledgers that others cannot open."""
    for file in folder.iterdir():
        file.chmod(0o644)
    return opened_up(folder)


def test_looking_makes_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each user is told that it would be his own."""
    home = opened_up(tmp_path) / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    monkeypatch.setenv("HOME", str(home))
    assert as_nobody("ps") == (0, "No leases: nobody holds anything.\n", f"numafit: {NOT_SHARED}\n")
    assert as_nobody("history") == (0, "No history yet.\n", f"numafit: {NOT_SHARED}\n")
    for words in (("free",), ("run", "--cpus", "1", "--dry-run"), ("run", "--cpus", "1", "--print", "env")):
        status, out, err = as_nobody(*words)
        assert (status, bool(out), err.splitlines()[0]) == (0, True, f"numafit: {NOT_SHARED}")
    status, out, _ = as_nobody("audit", "--leases")
    assert (status, out.partition(OTHERS[:40])[0]) == (0, "Not seen:\n  - ")
    assert list(home.iterdir()) == []


def test_who_ends_nothing_makes_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is none where nobody ever took a lease."""
    monkeypatch.setenv(VARIABLE, str(opened_up(tmp_path) / "none"))
    assert called("cancel", "--mine")() == (0, "You hold no lease.\n", "")
    for words in (("cancel", "1f0c9a3e"), ("release", "1f0c9a3e")):
        assert called(*words)() == (2, "", "numafit: there is no lease 1f0c9a3e (`numafit ps` lists them)\n")
    assert list(tmp_path.iterdir()) == []


def test_looking_needs_no_home_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(opened_up(tmp_path)))
    for words in (("ps",), ("free",), ("history",)):
        status, _, err = as_nobody(*words)
        assert (status, without_gap(err)) == (0, f"numafit: {NOT_SHARED}\n")


def test_who_takes_a_lease_needs_one_and_is_told_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(opened_up(tmp_path)))
    status, out, err = as_nobody("run", "--", "echo", "ran")
    assert (status, out) == (2, "")
    assert err.endswith(
        ": cannot be made: Permission denied (--state-dir or NUMAFIT_STATE names a folder that you may write)\n"
    )


def test_who_chose_his_ledger_is_not_told_that_it_is_his(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_nobody("ps", "--state-dir", str(opened_up(tmp_path) / "none"))[2] == ""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    assert as_nobody("ps")[2] == ""


def test_a_user_without_a_home_is_told_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that no list of users knows, as in a container."""
    needs_root()
    monkeypatch.delenv("HOME", raising=False)
    status, out, err = in_child(called("free"), user=54321)
    assert (status, out.splitlines()[0].split()[0]) == (0, "NODE")
    assert without_gap(err) == (
        "numafit: user 54321 has no home for a ledger (set HOME or NUMAFIT_STATE); there is no ledger, so nobody holds "
        "anything by one\n"
    )


@pytest.mark.parametrize("words", [("ps",), ("free",), ("history",), ("ps", "-o", "json")])
def test_a_ledger_that_may_only_be_read_is_read(words: tuple[str, ...], tmp_path: Path) -> None:
    """Nobody has it open, so that no log lies beside it; nothing in it is changed."""
    folder = ledger(tmp_path / "ledger")
    before = (folder / FILE).read_bytes()
    status, out, err = as_nobody(*words, "--state-dir", str(folder))
    assert status == 0
    assert "shown is what it says now; nothing is freed or moved" in err
    if words != ("free",):
        assert "train.py" in out or words == ("history",)
    assert (folder / FILE).read_bytes() == before


def test_leases_of_jobs_that_are_gone_are_not_shown(tmp_path: Path) -> None:
    _, out, _ = as_nobody("ps", "--state-dir", str(ledger(tmp_path / "ledger")))
    assert len(out.splitlines()) == 2


def test_a_ledger_that_others_have_open_is_read_with_its_log(tmp_path: Path) -> None:
    with Book.open(tmp_path / "ledger") as book:
        assert not isinstance(book.take(small_host(), JobRequest(cpus=1), me("train.py"), quiet=True), Refused)
        readable(tmp_path / "ledger")
        status, out, _ = as_nobody("ps", "--state-dir", str(tmp_path / "ledger"))
    assert status == 0
    assert "train.py" in out


def test_a_ledger_that_may_not_be_read_is_not_taken_for_empty(tmp_path: Path) -> None:
    """Others may hold what this user cannot see; a program gets no half answer."""
    folder = ledger(tmp_path / "ledger")
    folder.chmod(0o700)
    status, out, err = as_nobody("ps", "--state-dir", str(folder))
    assert (status, out) == (0, "Others may hold more: the ledger of this host could not be read.\n")
    assert f"shown are only leases of jobs that user {NOBODY} may see" in err
    status, out, _ = as_nobody("free", "--state-dir", str(folder))
    assert (status, out.splitlines()[-1]) == (0, "Others may hold more: the ledger of this host could not be read.")
    status, out, err = as_nobody("free", "-o", "json", "--state-dir", str(folder))
    assert (status, out, err.count("\n")) == (2, "", 1)
