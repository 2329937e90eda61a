"""A lease ends with its own processes, on this very kernel: strangers keep none, and hidden ones lose none."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numafit.host.process.identity import INITIAL_NAMESPACE, descendants
from tests.host.ledgers import eventually
from tests.real.numafit import NOBODY, environment, lacking, numafit, python

pytestmark = pytest.mark.real

NOTHING = "No leases: nobody holds anything.\n"
HIDDEN = "import ctypes, sys, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('ready', flush=True); time.sleep(60)"
"""After it the kernel lets nobody but root read its environment, like that of a setuid program."""


@pytest.fixture(scope="module")
def interpreter() -> str:
    found = "" if lacking() else python()
    if not found:
        pytest.skip(lacking() or "no interpreter that an ordinary user may run has numafit's packages")
    return found


@pytest.fixture
def ledger() -> Iterator[Path]:
    """Of an ordinary user. Not among pytest's folders, which it closes to others."""
    with tempfile.TemporaryDirectory(prefix="numafit-leaks-") as name:
        os.chown(name, NOBODY, NOBODY)
        yield Path(name)


@contextmanager
def started(words: list[str], ledger: Path, user: int = NOBODY) -> Iterator["subprocess.Popen[str]"]:
    """A process that has said `ready`, ended with its descendants at the end of the block."""
    become = {"user": user, "group": user, "extra_groups": []} if user else {}
    with subprocess.Popen(
        words, env=environment(ledger), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **become
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert line == "ready\n", process.stderr.read()
        children = descendants(process.pid)
        try:
            yield process
        finally:
            for pid in (process.pid, *children):
                if Path(f"/proc/{pid}").exists():
                    os.kill(pid, signal.SIGKILL)


def run(interpreter: str, *words: str) -> list[str]:
    return [interpreter, "-m", "numafit", "run", *words]


def every_cpu() -> tuple[str, str]:
    return "--cpus", str(len(os.sched_getaffinity(0)))


def test_a_stranger_that_cannot_be_looked_at_keeps_no_lease(ledger: Path, interpreter: str) -> None:
    """It came later, is of the same user, and may run on the CPUs of the lease, which are all there are."""
    command = run(interpreter, *every_cpu(), "--", "sh", "-c", "echo ready; exec sleep 60")
    with started(command, ledger) as job, started([interpreter, "-c", HIDDEN], ledger) as stranger:
        with pytest.raises(PermissionError):
            in_user(interpreter, f"/proc/{stranger.pid}/environ")
        assert numafit(ledger, "ps", user=NOBODY, interpreter=interpreter).stdout != NOTHING
        for pid in (job.pid, *descendants(job.pid)):
            os.kill(pid, signal.SIGKILL)
        job.wait()
        eventually(lambda: numafit(ledger, "ps", user=NOBODY, interpreter=interpreter).stdout == NOTHING)


def in_user(interpreter: str, path: str) -> None:
    """Reads it as an ordinary user."""
    code = "import sys\ntry: open(sys.argv[1], 'rb').read()\nexcept PermissionError: sys.exit(13)"
    done = subprocess.run([interpreter, "-c", code, path], user=NOBODY, group=NOBODY, extra_groups=[], check=False)
    if done.returncode == 13:
        raise PermissionError(path)


def test_a_part_of_the_job_that_cannot_be_looked_at_keeps_its_lease(ledger: Path, interpreter: str) -> None:
    """Without its variables, in a session of its own, and its supervisor killed."""
    command = ["env", "-i", "setsid", interpreter, "-c", HIDDEN]
    with started(run(interpreter, *every_cpu(), "--", *command), ledger) as job:
        [hidden] = descendants(job.pid)
        job.kill()
        job.wait()
        for _ in range(3):
            assert numafit(ledger, "ps", user=NOBODY, interpreter=interpreter).stdout != NOTHING
        refused = numafit(ledger, "run", *every_cpu(), "--", "echo", "ran", user=NOBODY, interpreter=interpreter)
        assert (refused.status, refused.stdout) == (75, "")
        os.kill(hidden, signal.SIGKILL)
        eventually(lambda: numafit(ledger, "ps", user=NOBODY, interpreter=interpreter).stdout == NOTHING)


def test_strict_that_fails_leaves_nothing(ledger: Path, interpreter: str) -> None:
    """Neither a lease nor a cgroup, also where a stranger of the same user might be taken for a part of the job."""
    with started([interpreter, "-c", HIDDEN], ledger):
        done = numafit(
            ledger, "run", "--strict", *every_cpu(), "--", "echo", "ran", user=NOBODY, interpreter=interpreter
        )
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith("numafit: the job cannot be held by a cpuset: ")
        assert len(done.stderr.splitlines()) == 1
        assert numafit(ledger, "ps", user=NOBODY, interpreter=interpreter).stdout == NOTHING
    [lease] = {word for word in numafit(ledger, "history").stdout.split() if len(word) == 8 and is_hex(word)}
    assert list(Path("/sys/fs/cgroup").glob(f"**/numafit/{lease}")) == []


def is_hex(word: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in word)


@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "user"])
def test_a_killed_pid_namespace_leaves_no_lease(tmp_path: Path, ledger: Path, interpreter: str, user: int) -> None:
    """Its lease is that of a process which only existed in there. Root's job has a cgroup, the user's has none."""
    if Path("/proc/self/ns/pid").stat().st_ino != INITIAL_NAMESPACE:
        pytest.skip("the other pid namespaces of this machine cannot be seen from this one")
    folder = ledger if user else tmp_path
    namespace = ["unshare", *(["--user"] if user else []), "--pid", "--fork", "--mount-proc", "--kill-child"]
    command = ["--", "sh", "-c", "echo ready; exec sleep 60"]
    try:
        block = started([*namespace, *run(interpreter, "--cpus", "1", *command)], folder, user)
        with block as process:
            assert numafit(folder, "ps", user=user, interpreter=interpreter).stdout != NOTHING
            [first, *_] = descendants(process.pid)
            os.kill(first, signal.SIGKILL)
            process.wait()
    except AssertionError as error:
        if "unshare" in str(error):
            pytest.skip(f"no such namespace can be made here: {error}")
        raise
    eventually(lambda: numafit(folder, "ps", user=user, interpreter=interpreter).stdout == NOTHING)
