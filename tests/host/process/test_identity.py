"""Which process is meant, and whether it still lives: real children, and made-up trees of /proc for the odd cases."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.process import identity
from numafit.host.process.identity import (
    ProcessId,
    descendants,
    identify,
    is_alive,
    processes_with_environment,
    read_stat,
    threads,
    user_of,
)

BOOT = "8a5b9c1e-0000-4000-8000-000000000001"
UNUSED = (1 << 22) + 5
"""No kernel gives this number to a process."""


def stat_line(
    pid: int, name: str = "sleep", *, state: str = "S", parent: int = 1, start: int = 500, count: int = 1
) -> str:
    fields = [state, str(parent), *["0"] * 15, str(count), "0", str(start), *["0"] * 16, "3", *["0"] * 13]
    return f"{pid} ({name}) {' '.join(fields)}\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc whose own process is number 1 of its namespace."""
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").write_text("")
    (tmp_path / "self/status").write_text("Name:\tx\nNSpid:\t1\n")
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text(f"{BOOT}\n")
    return tmp_path


def add(proc: Path, pid: int, line: str, **files: bytes) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(line)
    for name, data in files.items():
        (proc / str(pid) / name).write_bytes(data)


@contextmanager
def child(code: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that says `ready` and then waits for its input to end."""
    command = [sys.executable, "-c", f"import sys\n{code}\nprint('ready', flush=True)\nsys.stdin.read()", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_child_lives_until_it_ends_and_is_gone_as_a_zombie() -> None:
    """A process that nobody has waited for yet holds nothing any more."""
    with child("") as process:
        found = identify(process.pid)
        assert found is not None
        assert is_alive(found) is True
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert identify(process.pid) == found
        assert is_alive(found) is False
        process.wait()
        assert identify(process.pid) is None
        assert is_alive(found) is False


def test_a_process_whose_first_thread_ended_lives_on() -> None:
    """The kernel shows the first thread as a zombie while others work."""
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "print('ready', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    with child(code) as process:
        found = identify(process.pid)
        assert found is not None
        for _ in range(200):
            stat = read_stat(Path(f"/proc/{process.pid}/stat"))
            if stat is not None and stat.state == "Z":
                break
            os.sched_yield()
            signal.sigtimedwait([], 0.01)
        assert stat is not None
        assert stat.state == "Z"
        assert is_alive(found) is True


def test_a_number_that_was_given_to_another_process_is_not_alive(proc: Path) -> None:
    """Same number, other start time: the first one is gone."""
    add(proc, UNUSED, stat_line(UNUSED, start=500))
    first = identify(UNUSED, proc)
    assert first == ProcessId(UNUSED, 500, BOOT, (proc / "self/ns/pid").stat().st_ino)
    (proc / str(UNUSED) / "stat").write_text(stat_line(UNUSED, start=501))
    assert is_alive(first, proc) is False


@pytest.mark.parametrize("name", ["a) S 1 2", "((", "x (y) z", ") Z 1 (", ""])
def test_a_name_may_hold_parentheses_and_blanks(proc: Path, name: str) -> None:
    """Only the last closing parenthesis ends the name."""
    add(proc, UNUSED, stat_line(UNUSED, name, start=77))
    stat = read_stat(proc / str(UNUSED) / "stat")
    assert stat is not None
    assert (stat.name, stat.start, stat.state, stat.processor) == (name, 77, "S", 3)


def test_a_process_of_another_boot_is_gone(proc: Path) -> None:
    add(proc, UNUSED, stat_line(UNUSED))
    found = identify(UNUSED, proc)
    assert found is not None
    assert is_alive(replace(found, boot="another", namespace=1), proc) is False


def test_a_boot_id_that_cannot_be_trusted_decides_nothing(proc: Path) -> None:
    """Some containers are given a boot id of their own; then the namespace, the number and the start time count."""
    add(proc, UNUSED, stat_line(UNUSED))
    found = identify(UNUSED, proc)
    assert found is not None
    assert is_alive(replace(found, boot=""), proc) is True
    assert is_alive(replace(found, boot="", namespace=1), proc) is None


def test_another_pid_namespace_cannot_be_judged(proc: Path) -> None:
    """The same number means another process there."""
    found = ProcessId(UNUSED, 500, BOOT, 1)
    assert is_alive(found, proc) is None


def test_a_proc_of_an_outer_namespace_cannot_be_used(proc: Path) -> None:
    """NSpid then lists a number for each namespace."""
    add(proc, UNUSED, stat_line(UNUSED))
    found = identify(UNUSED, proc)
    assert found is not None
    (proc / "self/status").write_text("NSpid:\t4711\t1\n")
    assert is_alive(found, proc) is None
    with pytest.raises(InputError, match="another pid namespace"):
        identify(UNUSED, proc)


def test_a_hidden_process_is_not_called_gone(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hidepid=2 /proc shows nothing of other users' processes, but a signal is refused, not lost."""
    found = ProcessId(4711, 500, BOOT, (proc / "self/ns/pid").stat().st_ino)

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert is_alive(found, proc) is None
    with pytest.raises(InputError, match="may not be looked at"):
        identify(4711, proc)


def test_a_stat_that_makes_no_sense_is_not_called_gone(proc: Path) -> None:
    add(proc, UNUSED, "x")
    assert is_alive(ProcessId(UNUSED, 1, BOOT, (proc / "self/ns/pid").stat().st_ino), proc) is None


def test_a_time_namespace_does_not_change_who_is_meant(proc: Path) -> None:
    """Inside it the kernel adds an offset to every start time that is read."""
    add(proc, UNUSED, stat_line(UNUSED, start=500))
    outside = identify(UNUSED, proc)
    for name in ("time", "time_for_children"):
        os.link(proc / "self/status", proc / "self/ns" / name)
    (proc / "self/timens_offsets").write_text("monotonic 0 0\nboottime 100 0\n")
    (proc / str(UNUSED) / "stat").write_text(stat_line(UNUSED, start=500 + 100 * os.sysconf("SC_CLK_TCK")))
    assert identify(UNUSED, proc) == outside


def test_processes_are_found_by_a_whole_variable(proc: Path) -> None:
    """Neither a longer value nor a longer name counts; what cannot be read is passed over."""
    add(proc, 10, stat_line(10), environ=b"A=1\0LEASE=x7\0")
    add(proc, 11, stat_line(11), environ=b"LEASE=x77\0")
    add(proc, 12, stat_line(12), environ=b"MY_LEASE=x7\0")
    add(proc, 13, stat_line(13))
    assert processes_with_environment("LEASE", "x7", proc) == [10]


def test_a_real_child_is_found_by_its_environment() -> None:
    with child("", NUMAFIT_TEST_MARK="x7 é") as process:
        assert processes_with_environment("NUMAFIT_TEST_MARK", "x7 é") == [process.pid]


def test_descendants_are_children_and_theirs(proc: Path) -> None:
    for pid, parent in ((1, 0), (20, 1), (21, 20), (22, 21), (30, 1), (40, 40)):
        add(proc, pid, stat_line(pid, parent=parent))
    assert descendants(20, proc) == [21, 22]
    assert descendants(40, proc) == []
    assert descendants(1, proc) == [20, 21, 22, 30]


def test_threads_and_user_of_a_real_process() -> None:
    assert os.getpid() in threads(os.getpid())
    assert user_of(os.getpid()) == os.getuid()
    assert (threads(UNUSED), user_of(UNUSED)) == ([], None)


# Processes of other pid namespaces


@pytest.fixture
def outermost(proc: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /proc of the namespace that all others lie in."""
    monkeypatch.setattr(identity, "INITIAL_NAMESPACE", (proc / "self/ns/pid").stat().st_ino)
    (proc / "self/mountinfo").write_text(f"22 27 0:21 / {proc} rw,relatime - proc proc rw\n")
    (proc / "self/status").write_text("Name:\tx\nNSpid:\t1\nCapEff:\t0000000000000000\n")
    return proc


def inner(proc: Path, pid: int, numbers: str, *, start: int = 500, state: str = "S") -> None:
    add(proc, pid, stat_line(pid, start=start, state=state), status=f"NSpid:\t{numbers}\n".encode())


def test_a_process_of_a_namespace_below_is_found_by_its_number_in_there(outermost: Path) -> None:
    """Number and start time decide, at whichever depth; a zombie is gone."""
    inner(outermost, 100, "100\t7\t3")
    inner(outermost, 101, "101\t8", state="Z")
    inner(outermost, 102, "102")
    states = [
        is_alive(ProcessId(pid, start, BOOT, 1), outermost)
        for pid, start in ((3, 500), (7, 500), (7, 501), (8, 500), (102, 500))
    ]
    assert states == [True, True, False, False, False]


@pytest.mark.parametrize(
    "hidden",
    ["mount", "kernel", "namespace"],
    ids=["processes are hidden", "a kernel that does not tell", "not the outermost"],
)
def test_where_not_all_are_seen_nothing_is_concluded(
    outermost: Path, hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner(outermost, 100, "100\t7")
    if hidden == "mount":
        (outermost / "self/mountinfo").write_text(f"22 27 0:21 / {outermost} rw - proc proc rw,hidepid=invisible\n")
    elif hidden == "kernel":
        (outermost / "100/status").write_text("Name:\tx\n")
    else:
        monkeypatch.setattr(identity, "INITIAL_NAMESPACE", 0)
    assert is_alive(ProcessId(7, 501, BOOT, 1), outermost) is None


def test_who_may_look_at_every_process_sees_hidden_ones(outermost: Path) -> None:
    (outermost / "self/mountinfo").write_text(f"22 27 0:21 / {outermost} rw - proc proc rw,hidepid=2\n")
    (outermost / "self/status").write_text("NSpid:\t1\nCapEff:\t0000000000080000\n")
    assert is_alive(ProcessId(7, 501, BOOT, 1), outermost) is False


def test_a_killed_namespace_takes_its_processes_along() -> None:
    """Real ones, told by this very kernel."""
    if os.geteuid() or Path("/proc/self/ns/pid").stat().st_ino != identity.INITIAL_NAMESPACE:
        pytest.skip("only root of the outermost pid namespace can do this")
    code = (
        "from numafit.host.process.identity import identify; import msgspec, os;"
        "print(msgspec.json.encode(identify(os.getpid())).decode(), flush=True); input()"
    )
    with subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        found = msgspec.json.decode(process.stdout.readline(), type=ProcessId)
        assert found.pid == 1
        assert is_alive(found) is True
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        while is_alive(found) and time.monotonic() < until:
            time.sleep(0.02)
        assert is_alive(found) is False
