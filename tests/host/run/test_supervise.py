"""A command under supervision: what its caller, its terminal and whoever sends it signals see."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

SUPERVISOR = Path(__file__).with_name("supervisor.py")
PATIENCE = 20.0
"""Seconds until a test gives up; nothing here takes a hundredth of it on an idle machine."""


class Supervised:
    """`supervisor.py` and what it writes down."""

    def __init__(self, folder: Path) -> None:
        self.record = folder / "record"
        self.signs = folder / "signs"

    def words(self, *command: str) -> list[str]:
        return [sys.executable, str(SUPERVISOR), str(self.record), *command]

    def run(self, *command: str, how: str = "", **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*command),
            env=self.environment(how),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            **more,  # type: ignore[call-overload]
        )

    @contextmanager
    def running(self, script: str, how: str = "") -> Iterator[subprocess.Popen[str]]:
        """A shell script under supervision, that has started; it writes its signs to `$SIGNS`."""
        with subprocess.Popen(
            self.words("sh", "-c", script),
            env=self.environment(how),
            stderr=subprocess.PIPE,
            text=True,
            # Where these tests run in an orphaned group, as in the background, the kernel would throw SIGTSTP away.
            process_group=0,
        ) as process:
            try:
                self.wait_for_sign("up")
                yield process
            finally:
                with suppress(ProcessLookupError, IndexError, ValueError):
                    os.kill(self.child(), signal.SIGKILL)
                process.kill()

    def environment(self, how: str = "") -> Mapping[str, str]:
        return {**os.environ, "SUPERVISOR": how, "SIGNS": str(self.signs)}

    def child(self) -> int:
        return int(self.record.read_text().split()[1])

    def wait_for_sign(self, sign: str) -> None:
        wait_until(lambda: self.signs.exists() and sign in self.signs.read_text().split(), f"no sign {sign}")

    def counted(self, sign: str) -> int:
        return self.signs.read_text().split().count(sign)


def wait_until(condition: Callable[[], bool], complaint: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, complaint
        time.sleep(0.005)


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


@pytest.fixture
def supervised(tmp_path: Path) -> Supervised:
    return Supervised(tmp_path)


LOOP = "while :; do sleep 0.02; done"
SLEEP = "echo up >> $SIGNS; exec sleep 60"
"""For stopping: a shell cannot be stopped while a child of its vfork is stopped before exec."""


@pytest.mark.parametrize("status", [0, 1, 3, 126, 127, 255])
def test_the_exit_status_is_that_of_the_command(supervised: Supervised, status: int) -> None:
    done = supervised.run("sh", "-c", f"exit {status}")
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGPIPE])
def test_a_command_that_a_signal_ended_ends_its_supervisor_so(supervised: Supervised, number: signal.Signals) -> None:
    """A caller sees no difference; shells and make depend on it."""
    done = supervised.run("sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == -number


def test_the_streams_are_those_of_the_caller(supervised: Supervised) -> None:
    done = supervised.run("sh", "-c", "cat; echo wrong >&2", input="through")
    assert (done.stdout, done.stderr) == ("through", "wrong\n")


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("no-such-command", 127, "numafit: no-such-command: command not found\n"),
        ("./no/such", 127, "numafit: ./no/such: no such file\n"),
        ("/etc/passwd", 126, "numafit: /etc/passwd: Permission denied\n"),
        ("/", 126, "numafit: /: Permission denied\n"),
        ("", 127, "numafit: : command not found\n"),
    ],
)
def test_a_command_that_cannot_start_is_reported_as_shells_do(
    supervised: Supervised, name: str, status: int, text: str
) -> None:
    """127 not found, 126 found and not executable."""
    done = supervised.run(name)
    assert (done.returncode, done.stderr) == (status, text)


def test_a_script_without_an_interpreter_line_is_run_by_the_shell(supervised: Supervised, tmp_path: Path) -> None:
    """As from a shell; the kernel alone refuses it."""
    script = tmp_path / "script"
    script.write_text("echo $1\n")
    script.chmod(0o755)
    assert supervised.run(str(script), "well").stdout == "well\n"


def test_the_child_is_recorded_before_it_runs(supervised: Supervised) -> None:
    """The command itself can read its number there."""
    done = supervised.run("sh", "-c", f"cat {supervised.record}; echo $$")
    first, pid = done.stdout.splitlines()
    assert first == f"started {pid}"


def test_nothing_runs_when_the_supervisor_dies_before_it_gave_leave(supervised: Supervised) -> None:
    """Killed between the record and the leave: the new process sees the pipe end, and is gone."""
    done = supervised.run("sh", "-c", 'echo ran >> "$SIGNS"', how="dies-before-leave")
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: state_of(supervised.child()) in ("gone", "Z"), "the new process still lives")
    assert not supervised.signs.exists()


@pytest.mark.parametrize(
    ("how", "text"), [("bind-fails", "numafit: no such CPU\n"), ("record-fails", "numafit: the disk is full\n")]
)
def test_a_command_that_cannot_be_bound_or_recorded_is_not_run(supervised: Supervised, how: str, text: str) -> None:
    done = supervised.run("sh", "-c", 'echo ran >> "$SIGNS"', how=how)
    assert (done.returncode, done.stderr) == (2, text)
    assert not supervised.signs.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGWINCH])
def test_a_signal_to_the_supervisor_reaches_the_command_once(supervised: Supervised, number: signal.Signals) -> None:
    script = f'trap "echo got >> $SIGNS; [ {int(number)} = 28 ] || exit 7" {int(number)}; echo up >> $SIGNS; {LOOP}'
    with supervised.running(script) as process:
        process.send_signal(number)
        supervised.wait_for_sign("got")
        if number == signal.SIGWINCH:
            process.terminate()
            assert process.wait(PATIENCE) == -signal.SIGTERM
        else:
            assert process.wait(PATIENCE) == 7
    assert supervised.counted("got") == 1


def test_a_killed_supervisor_leaves_the_command_running(supervised: Supervised) -> None:
    """It is recorded, and its lease lives on with it."""
    with supervised.running(f"echo up >> $SIGNS; {LOOP}") as process:
        process.kill()
        process.wait(PATIENCE)
        assert state_of(supervised.child()) in "SRD"


def test_what_the_command_leaves_in_the_background_is_not_waited_for(supervised: Supervised) -> None:
    done = supervised.run("sh", "-c", "sleep 60 > /dev/null 2>&1 & echo $!")
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.returncode == 0


def test_dispositions_and_mask_are_those_of_the_caller(supervised: Supervised) -> None:
    """What the caller ignores or blocks stays so, and what only Python ignores does not."""
    show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    launcher = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL); signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})\n"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    prefix = [sys.executable, "-c", launcher]
    plain = subprocess.run([*prefix, *show], capture_output=True, text=True, check=True)
    through = subprocess.run(
        [*prefix, *supervised.words(*show)], env=supervised.environment(), capture_output=True, text=True, check=True
    )
    assert through.stdout == plain.stdout
    assert "SigBlk:\t0000000000000800" in plain.stdout


def test_a_broken_pipe_ends_the_command_and_not_with_an_error(supervised: Supervised) -> None:
    """`numafit run -- yes | head -1` is silent."""
    line = " ".join(supervised.words("sh", "-c", "'exec yes'"))
    done = subprocess.run(
        ["bash", "-c", f"{line} | head -1; echo ${{PIPESTATUS[0]}}"],
        env=supervised.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert (done.stdout, done.stderr) == ("y\n141\n", "")


def test_ticks_come_while_the_command_runs(supervised: Supervised) -> None:
    with supervised.running(f"echo up >> $SIGNS; {LOOP}", how="ticks"):
        wait_until(lambda: supervised.record.read_text().count("tick") >= 2, "no ticks")


def test_a_tick_that_fails_is_told_once_and_costs_nothing_else(supervised: Supervised) -> None:
    with supervised.running(f"echo up >> $SIGNS; {LOOP}", how="tick-fails") as process:
        wait_until(lambda: supervised.record.read_text().count("tick") >= 2, "no ticks")
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == "numafit: the pool is gone\n"


class Terminal:
    """A shell-less session on a terminal of its own, with the supervisor as its leader."""

    def __init__(self, supervised: Supervised, script: str) -> None:
        words, environment = supervised.words("sh", "-c", script), supervised.environment()
        self.pid, self.handle = pty.fork()
        if not self.pid:
            os.execve(words[0], words, dict(environment))

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def wait(self) -> int:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        raise AssertionError("the supervisor does not end")


@pytest.fixture
def terminal(supervised: Supervised) -> Iterator[Callable[[str], Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(script: str) -> Terminal:
        opened.append(Terminal(supervised, script))
        supervised.wait_for_sign("up")
        return opened[-1]

    yield open_terminal
    for each in opened:
        for pid in (each.pid, supervised.child()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(each.pid, 0)
        os.close(each.handle)


def test_ctrl_c_reaches_the_command_once(supervised: Supervised, terminal: Callable[[str], Terminal]) -> None:
    """The terminal sends it to the whole process group: passed on, it would come twice."""
    script = f'trap "echo got >> $SIGNS" INT; trap "exit 5" TERM; echo up >> $SIGNS; {LOOP}'
    opened = terminal(script)
    opened.type("\x03")
    supervised.wait_for_sign("got")
    os.kill(opened.pid, signal.SIGTERM)
    assert opened.wait() == 5
    assert supervised.counted("got") == 1


def test_a_closed_terminal_ends_the_command(supervised: Supervised, terminal: Callable[[str], Terminal]) -> None:
    """The kernel tells only the leader of the session, which the command would be without a supervisor."""
    opened = terminal(f'trap "echo hung >> $SIGNS; exit 5" HUP; echo up >> $SIGNS; {LOOP}')
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, opened.handle)
    os.close(null)
    supervised.wait_for_sign("hung")
    assert opened.wait() == 5


def test_the_command_stays_in_the_group_and_session_of_its_caller(
    supervised: Supervised, terminal: Callable[[str], Terminal]
) -> None:
    """So that it may read from the terminal."""
    opened = terminal('echo up >> $SIGNS; read word; echo "$word" >> $SIGNS')
    assert (os.getpgid(supervised.child()), os.getsid(supervised.child())) == (opened.pid, opened.pid)
    opened.type("typed\n")
    supervised.wait_for_sign("typed")
    assert opened.wait() == 0


def test_ctrl_z_stops_both_and_continuing_goes_on(supervised: Supervised, tmp_path: Path) -> None:
    """In an interactive shell, as people do: stop, look at the jobs, bring it back, end it."""
    if not os.path.exists("/bin/bash"):
        pytest.skip("no bash here")
    pid, handle = pty.fork()
    if not pid:
        environment = dict(supervised.environment()) | {"PS1": "ready> ", "HOME": str(tmp_path)}
        os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    try:
        line = " ".join(supervised.words("sh", "-c", f"'{SLEEP}'"))
        os.write(handle, f"{line}\n".encode())
        supervised.wait_for_sign("up")
        child = supervised.child()
        parent = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
        os.write(handle, b"\x1a")
        wait_until(lambda: state_of(child) == state_of(parent) == "T", "they do not stop")
        os.write(handle, b"fg\n")
        wait_until(lambda: "T" not in (state_of(child), state_of(parent)), "they do not go on")
        os.write(handle, b"\x03")
        wait_until(lambda: state_of(parent) == "gone", "they do not end")
        os.write(handle, b"echo status=$?; exit\n")
        assert re.search(rb"status=130", _read_all(handle))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(handle)


def _read_all(handle: int) -> bytes:
    data = b""
    with suppress(OSError):
        while more := os.read(handle, 1 << 16):
            data += more
    return data


def test_stopping_the_supervisor_by_a_signal_stops_the_command(supervised: Supervised) -> None:
    """SIGTSTP sent to the supervisor is passed on, and the supervisor follows; SIGCONT wakes both."""
    with supervised.running(SLEEP) as process:
        child = supervised.child()
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state_of(child) == state_of(process.pid) == "T", "they do not stop")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: "T" not in (state_of(child), state_of(process.pid)), "they do not go on")
