"""A job that has waited starts without most of Python; what is not as it was foreseen is left to numafit as a whole."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from numafit.host import wake
from numafit.host.process.identity import descendants
from numafit.host.wake.kept import keep
from numafit.host.wake.words import NOTHING, VARIABLE, packed
from tests.host.ledgers import end, eventually

PROGRAM = Path(wake.__file__).with_name("__main__.py")
LEASE = "0123abcd"
HEAVY = ("msgspec", "typing", "re", "pathlib", "sqlite3", "json", "subprocess", "contextlib")


WRITTEN_WITH = " ".join(["written", b"numafit: a note\n".hex(), b"numafit: sentence \x1b[2J\n".hex()])


class Waked:
    """What a shell becomes that has heard `start`; the test is the one who watches over the queue."""

    def __init__(self, place: Path, command: list[str], *, lease: str = LEASE, **changes: Any) -> None:
        self.bell = place / "bell"
        os.mkfifo(self.bell)
        self.listen = os.open(self.bell, os.O_RDWR)
        theirs, self.speak = os.pipe()
        cpus = changes.pop("cpus", min(os.sched_getaffinity(0)))
        ignored = changes.pop("ignored", [])
        words = [lease, cpus, NOTHING, "prefer", NOTHING, packed(changes.pop("ours", {"NUMAFIT_LEASE": lease}))]
        plan = {
            "folder": "",
            "migrate": False,
            "default_mems": "",
            "within": "",
            "command": command,
            "no_env": False,
            "quiet": False,
            "names": frozenset({b"NUMAFIT_LEASE"}),
            "variables": {},
            "bell": str(self.bell),
            "commands": -1,
            "line": b"",
        } | changes
        file = keep({b"PATH": os.environb[b"PATH"], b"OWN": b"kept"}, plan)
        told = f"print('numafit', os.environ['{VARIABLE}']); print(int(signal.getsignal(signal.SIGCHLD)))"
        numafit = [sys.executable, "-S", "-c", f"import os, signal; {told}"]
        self.process = subprocess.Popen(
            [*ignored, sys.executable, "-S", str(PROGRAM), str(theirs), *numafit],
            env={**os.environ, VARIABLE: f"7 {file} start {' '.join(map(str, words))}"},
            pass_fds=(theirs, file),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(theirs)
        os.close(file)

    def report(self) -> list[str]:
        return os.read(self.listen, 4096).decode().split()

    def answer(self, text: str) -> None:
        os.write(self.speak, f"{text}\n".encode())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        for handle in (self.listen, self.speak):
            with suppress(OSError):
                os.close(handle)

    def out(self) -> list[str]:
        out, _ = self.process.communicate(timeout=60)
        return str(out).split("\n")


@pytest.fixture
def waked(tmp_path: Path) -> Iterator[Callable[..., Waked]]:
    made: list[Waked] = []

    def make(command: list[str], **changes: Any) -> Waked:
        made.append(Waked(tmp_path, command, **changes))
        return made[-1]

    yield make
    for job in made:
        job.close()


def environment_of(out: list[str]) -> Mapping[str, str]:
    return dict(line.split("=", 1) for line in out if "=" in line)


def test_it_loads_next_to_nothing() -> None:
    """That is all there is to it: each of these takes longer to load than the job takes to start."""
    place = str(PROGRAM.parents[3])
    code = f"import sys; sys.path.insert(0, {place!r}); import numafit.host.wake.job; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {*HEAVY} & {*done.stdout.split()}


def test_the_command_runs_once_it_is_written_down(waked: Callable[..., Waked]) -> None:
    job = waked(["env"])
    _, lease, child, _, policy, marked = job.report()
    assert (lease, policy, marked) == (LEASE, NOTHING, "1")
    assert os.sched_getaffinity(int(child)) == {min(os.sched_getaffinity(0))}
    job.answer(WRITTEN_WITH)
    out, errors = job.process.communicate(timeout=60)
    found = environment_of(out.split("\n"))
    assert (found["OWN"], found["NUMAFIT_LEASE"], VARIABLE in found) == ("kept", LEASE, False)
    assert errors == "numafit: a note\nnumafit: sentence ?[2J\n"
    heard = [line for line in out.split("\n") if line.startswith("numafit ")]
    assert [line.split()[3:6] for line in heard] == [["running", LEASE, child]]


def test_with_q_only_what_is_said_of_variables_is_told(waked: Callable[..., Waked]) -> None:
    """As of a command that did not wait."""
    job = waked(["true"], quiet=True)
    job.report()
    job.answer(WRITTEN_WITH)
    assert job.process.communicate(timeout=60)[1] == "numafit: a note\n"


def test_numafit_hears_which_signal_came(waked: Callable[..., Waked]) -> None:
    job = waked(["sleep", "60"])
    child = int(job.report()[2])
    job.answer("written - -")
    eventually(lambda: Path(f"/proc/{child}/comm").read_text() == "sleep\n")
    job.process.send_signal(signal.SIGUSR1)
    # All of its output ends with the command only, which goes on.
    assert job.process.stdout is not None
    words = job.process.stdout.readline().split()
    assert words[3:6] == ["running", LEASE, str(child)]
    assert [int(word) for word in words[7:]] == [signal.SIGUSR1, 0, os.getpid()]
    end(child)


@pytest.mark.parametrize("answer", ["lost", "", "written xyz -", "written -"])
def test_who_is_not_written_down_begins_anew_as_numafit(
    tmp_path: Path, waked: Callable[..., Waked], answer: str
) -> None:
    """Also when the watcher is gone: then the pipe ends. The command has not run, and the new process is gone."""
    job = waked(["touch", str(tmp_path / "ran")])
    child = job.report()[2]
    if answer:
        job.answer(answer)
    os.close(job.speak)
    assert job.out()[0].split()[3:] == ["go", LEASE]
    assert not (tmp_path / "ran").exists()
    assert not Path("/proc", child).exists()


def test_who_begins_anew_ignores_what_it_ignored(waked: Callable[..., Waked]) -> None:
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    job = waked(["true"], ignored=[sys.executable, "-S", "-c", ignoring])
    job.report()
    job.answer("lost")
    assert int(job.out()[1]) == signal.SIG_IGN


@pytest.mark.parametrize(
    "changes",
    [
        {"folder": "/nonexistent"},
        {"lease": "../../..x"},
        {"lease": "+123abcd"},
        {"cpus": "99999"},
        {"cpus": "x"},
        {"bell": "/dev/null"},
        {"bell": "/nonexistent"},
    ],
)
def test_what_was_not_foreseen_is_left_to_numafit(
    tmp_path: Path, waked: Callable[..., Waked], changes: dict[str, Any]
) -> None:
    """What comes through the pipe may come from another user of the ledger."""
    job = waked(["touch", str(tmp_path / "ran")], **changes)
    assert job.out()[0].split()[3:] == ["go", changes.get("lease", LEASE)]
    assert not (tmp_path / "ran").exists()


def test_other_variables_than_those_of_leases_are_not_taken(waked: Callable[..., Waked]) -> None:
    """Or another user of the ledger could have this one's command load what he likes."""
    job = waked(["env"], ours={"LD_PRELOAD": "/tmp/evil.so", "NUMAFIT_LEASE": LEASE, "OWN": "changed"})
    job.report()
    job.answer("written - -")
    found = environment_of(job.out())
    assert ("LD_PRELOAD" in found, found["NUMAFIT_LEASE"], found["OWN"]) == (False, LEASE, "kept")


def test_killed_before_it_is_written_down_it_leaves_nothing(tmp_path: Path, waked: Callable[..., Waked]) -> None:
    job = waked(["touch", str(tmp_path / "ran")])
    child = job.report()[2]
    assert descendants(job.process.pid) == [int(child)]
    job.process.kill()
    job.process.communicate()
    eventually(lambda: not Path("/proc", child).exists() or "Z" in Path("/proc", child, "stat").read_text().split())
    assert not (tmp_path / "ran").exists()


def test_a_command_that_is_not_there_is_told_to_numafit(waked: Callable[..., Waked]) -> None:
    """Which reads it from the descriptor that it gets."""
    job = waked(["/nonexistent/command"])
    job.report()
    job.answer("written - -")
    words = job.out()[0].split()
    assert (words[3], int(words[7])) == ("running", signal.SIGCHLD)
