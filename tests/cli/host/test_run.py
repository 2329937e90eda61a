"""`numafit run` as it is typed: exit statuses, signals, what is bound and what is held, in real processes."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.host.children import needs_cpus
from tests.host.ledgers import (
    as_user,
    check_claims,
    children_of,
    cpus_of,
    end,
    environment,
    eventually,
    job,
    numafit,
    user_folder,
    without_gap,
)

SHOW = "import os; print(*sorted(os.sched_getaffinity(0)))"


def leases(folder: Path) -> list[dict[str, Any]]:
    done = numafit(folder, "ps", "-o", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["leases"]
    assert isinstance(found, list)
    return found


# Exit statuses


@pytest.mark.parametrize("status", [0, 1, 3, 75, 126, 127, 255])
def test_the_status_is_that_of_the_command(tmp_path: Path, status: int) -> None:
    assert numafit(tmp_path, "run", "--", "sh", "-c", f"exit {status}").returncode == status
    assert leases(tmp_path) == []


def test_a_command_that_is_not_there_is_127_and_one_that_cannot_be_run_126(tmp_path: Path) -> None:
    """As shells have it, with a sentence."""
    done = numafit(tmp_path, "run", "-q", "--", "no-such-command-here")
    assert (done.returncode, done.stderr) == (127, "numafit: no-such-command-here: command not found\n")
    (tmp_path / "plain").write_text("")
    (tmp_path / "plain").chmod(0o644)
    done = numafit(tmp_path, "run", "-q", "--", str(tmp_path / "plain"))
    assert (done.returncode, done.stderr) == (126, f"numafit: {tmp_path}/plain: Permission denied\n")
    assert leases(tmp_path) == []


def test_what_is_not_free_is_75(tmp_path: Path) -> None:
    cpus = needs_cpus(1)
    with job(tmp_path, "--cpus", str(len(cpus))):
        done = numafit(tmp_path, "run", "--cpus", "1", "--", "echo", "never")
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == ("numafit: no lease for 1 CPU: 1 CPU is asked for and none is free (--wait waits for it)\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run"], "no command to run"),
        (["run", "--cpus", "5000", "--", "true"], "5000 CPUs are asked for"),
        (["run", "--cpus", "1", "--shared", "--", "true"], "shared work has no CPUs of its own"),
        (["run", "--memory", "much", "--", "true"], "--memory: "),
        (["run", "--wait=soon", "--", "true"], '--wait: "soon" is not a time (write it like 90s, 5m or 2h)'),
        (["run", "--device", "fpga=1", "--", "true"], "--device: fpga=1: is not RESOURCE=N"),
        (["run", "--device", "x/y=1", "--", "true"], "this machine has no x/y"),
        (["run", "--gpus", "1", "--device", "nvidia.com/gpu=1", "--", "true"], "nvidia.com/gpu is asked for twice"),
        (["run", "--name", "a\x07b", "--", "true"], "--name: "),
        (["run", "--machine", "laptop", "--", "true"], "--machine: goes with --dry-run or --print only"),
        (["run", "--print", "numactl"], "no command to run"),
        (
            ["run", "--cpus", "2", "--cpus-per-gpu", "1", "--gpus", "1", "--", "true"],
            "--cpus-per-gpu: goes without",
        ),
        (["run", "--cpus-per-rank", "1", "--", "true"], "--cpus-per-rank: says nothing without a number of ranks"),
        (["run", "--cpus-per-gpu", "1", "--", "true"], "--cpus-per-gpu: says nothing without GPUs (add --gpus N)"),
        (
            ["run", "--ranks", "2", "--cpus", "1", "--", "true"],
            "--ranks: --cpus 1 is less than one for each",
        ),
        (["run", "--like-kubelet", "--ranks", "2", "--", "true"], "--ranks: a kubelet knows nothing of it"),
    ],
)
def test_bad_input_is_one_sentence_and_2(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = numafit(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("numafit: ")


# What the command gets


def test_the_command_runs_on_its_cpus_alone_and_is_told(tmp_path: Path) -> None:
    """What was bound is what the kernel says, and what the variables tell."""
    needs_cpus(2)
    code = f"{SHOW}; print({{n: v for n, v in os.environ.items() if n.startswith(('NUMAFIT_', 'OMP_', 'GOMP_'))}})"
    done = numafit(tmp_path, "run", "--cpus", "1", "--memory", "1Mi", "--name", "n", "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    cpu, told = done.stdout.splitlines()
    variables = eval(told)
    lease = variables.pop("NUMAFIT_LEASE")
    assert variables == {
        "NUMAFIT_STATE": str(tmp_path),
        "NUMAFIT_HOST": os.uname().nodename,
        "NUMAFIT_CPUS": cpu,
        "NUMAFIT_MEMS": "0",
        "NUMAFIT_NODES": "0",
        "NUMAFIT_DEVICES": "",
        "NUMAFIT_MEMORY": "1048576@0",
        "NUMAFIT_NAME": "n",
        "OMP_NUM_THREADS": "1",
    }
    assert without_gap(done.stderr).startswith(f"numafit: lease {lease}: CPUs {cpu}, memory of node 0; bound by ")


def test_a_command_line_need_not_be_text(tmp_path: Path) -> None:
    """Names of files are bytes: those that are no UTF-8 reach the command as they are."""
    name = os.fsdecode(b"caf\xe9")
    script = f"import os, sys; sys.exit(os.fsencode(sys.argv[1]) != {os.fsencode(name)!r})"
    assert numafit(tmp_path, "run", "-q", "--", sys.executable, "-c", script, name).returncode == 0
    with job(tmp_path, command=("sh", "-c", "echo ready; exec sleep 60", name)):
        [lease] = leases(tmp_path)
    assert lease["command"].endswith("'caf\ufffd'")


def test_no_env_sets_no_variables(tmp_path: Path) -> None:
    code = "import os; print([n for n in os.environ if n.startswith(('NUMAFIT_L', 'OMP_', 'GOMP_'))])"
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--no-env", "--", sys.executable, "-c", code)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_threads_are_pinned_on_request_only(tmp_path: Path) -> None:
    """For one OpenMP program that has CPUs of its own, by variables."""
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--omp", "--", "printenv", "OMP_PLACES", "GOMP_CPU_AFFINITY")
    places, cpu = done.stdout.splitlines()
    assert places == f"{{{cpu}}}"
    for words, reason in ((["--no-env", "--cpus", "1"], "is done by variables"), ([], "CPUs of the shared pool")):
        done = numafit(tmp_path, "run", "--omp", *words, "--", "true")
        assert (done.returncode, done.stderr.startswith(f"numafit: --omp: {reason}")) == (2, True), done.stderr


def test_a_variable_of_the_user_is_kept_and_a_contradiction_told(tmp_path: Path) -> None:
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--", "sh", "-c", "echo $OMP_NUM_THREADS", OMP_NUM_THREADS="7")
    assert done.stdout == "7\n"
    assert done.stderr == ("numafit: OMP_NUM_THREADS=7 of your environment is kept, but there is 1 CPU for it\n")


def test_quiet_says_nothing(tmp_path: Path) -> None:
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--", "echo", "out")
    assert (done.stdout, done.stderr) == ("out\n", "")


def test_explain_says_why(tmp_path: Path) -> None:
    done = numafit(tmp_path, "run", "-q", "--explain", "--cpus", "1", "--", "true")
    lines = done.stderr.splitlines()
    assert len(lines) >= 2
    assert lines[1].startswith("numafit: CPUs ")
    assert lines[1].endswith(" on node 0")


def test_a_command_runs_though_nobody_hears_about_it(tmp_path: Path) -> None:
    """Standard error is a pipe whose reader is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "numafit", "run", "--", "echo", "out"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=writing,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stdout) == (0, b"out\n")
    assert leases(tmp_path) == []


def test_standard_input_goes_to_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "numafit", "run", "-q", "--", "cat"],
        env=environment(tmp_path),
        input=b"from outside",
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"from outside"


def test_the_terminal_is_that_of_the_command(tmp_path: Path) -> None:
    """It sees a terminal, reads from it, and Ctrl-C ends it there."""
    pid, terminal = pty.fork()
    if not pid:
        code = "import sys; print('tty', sys.stdin.isatty(), sys.stdout.isatty()); print('got', input()); input()"
        words = [sys.executable, "-m", "numafit", "run", "-q", "--", sys.executable, "-uc", code]
        os.execve(sys.executable, words, environment(tmp_path))
    try:
        expect(terminal, b"tty True True")
        os.write(terminal, b"word\n")
        expect(terminal, b"got word")
        expect(terminal, b"KeyboardInterrupt", typed=b"\x03")
        eventually(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None)
    finally:
        end(pid)
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) in (-signal.SIGINT, 130)
    assert leases(tmp_path) == []


def expect(terminal: int, text: bytes, *, typed: bytes = b"") -> None:
    """`typed` is typed each second: Python sees a Ctrl-C that comes just before it waits for input only at the next."""
    seen = b""
    until = time.monotonic() + 30
    again = 0.0
    while text not in seen:
        assert time.monotonic() < until, seen
        if typed and time.monotonic() >= again:
            os.write(terminal, typed)
            again = time.monotonic() + 1
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                raise AssertionError(seen) from None


# Signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_is_passed_on_and_ends_both(tmp_path: Path, number: signal.Signals) -> None:
    with job(tmp_path, "--cpus", "1") as process:
        os.kill(process.pid, number)
        assert process.wait(30) == -number
    assert leases(tmp_path) == []


def test_a_command_may_handle_a_signal(tmp_path: Path) -> None:
    command = ("sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done")
    with job(tmp_path, command=command) as process:
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 9


def test_a_killed_supervisor_leaves_the_lease_to_the_command(tmp_path: Path) -> None:
    """It lives on, and what it holds is nobody else's; when it ends, the next command frees it."""
    cpus = needs_cpus(2)
    with job(tmp_path, "--cpus", "1") as process:
        (child,) = children_of(process.pid)
        process.kill()
        process.wait()
        (lease,) = leases(tmp_path)
        assert lease["exclusive"] == str(*cpus_of(child))
        assert numafit(tmp_path, "run", "--cpus", str(len(cpus)), "--", "true").returncode == 75
        end(child)
        eventually(lambda: leases(tmp_path) == [])
    assert not lease["cgroup"] or not Path(lease["cgroup"]).exists()


def test_a_killed_command_frees_its_lease(tmp_path: Path) -> None:
    with job(tmp_path, "--cpus", "1") as process:
        (child,) = children_of(process.pid)
        os.kill(child, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    assert leases(tmp_path) == []


def test_both_killed_at_once_leave_nothing(tmp_path: Path) -> None:
    with job(tmp_path, "--cpus", "1") as process:
        (lease,) = leases(tmp_path)
        (child,) = children_of(process.pid)
        process.kill()
        end(child)
        process.wait()
    eventually(lambda: leases(tmp_path) == [])
    assert not lease["cgroup"] or not Path(lease["cgroup"]).exists()


def test_a_start_may_be_killed_at_any_instant(tmp_path: Path) -> None:
    """The lease, the process that is bound and its cgroup: nothing is left behind."""
    for step in range(12):
        with subprocess.Popen(
            [sys.executable, "-m", "numafit", "run", "-q", "--cpus", "1", "--", "true"],
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
        ) as process:
            time.sleep(0.05 + 0.015 * step)
            process.kill()
        check_claims(tmp_path)
    eventually(lambda: leases(tmp_path) == [])
    done = numafit(tmp_path, "history", "-n", "1000", "-o", "json")
    ids = {entry["lease"] for entry in json.loads(done.stdout)["history"]}
    from numafit.host.bind.ladder import lease_groups

    assert [group.cgroup for group in lease_groups() if group.lease_id in ids] == []


# What is left behind


@pytest.mark.parametrize("user", [False, True], ids=["as root", "as an ordinary user"])
def test_what_the_command_leaves_in_the_background_keeps_the_lease(tmp_path: Path, user: bool) -> None:
    """By its cgroup, or by its environment where there is none."""
    folder = user_folder(tmp_path) if user else tmp_path
    before = as_user() if user else ()
    command = ("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
    done = numafit(folder, "run", "--cpus", "1", "--", *command, before=before)
    assert done.returncode == 0
    background = int(done.stdout)
    try:
        (lease,) = leases(folder)
        assert f"processes of the job still run: the lease {lease['id']} stays until they end" in done.stderr
        assert str(*cpus_of(background)) == lease["exclusive"]
        assert bool(lease["cgroup"]) is not user
    finally:
        end(background)
    eventually(lambda: leases(folder) == [])


# Shared work


@pytest.mark.parametrize("user", [False, True], ids=["as root", "as an ordinary user"])
def test_shared_work_follows_the_pool(tmp_path: Path, user: bool) -> None:
    """It leaves the CPUs that somebody takes, and comes back to them."""
    cpus = needs_cpus(2)
    folder = user_folder(tmp_path) if user else tmp_path
    before = as_user() if user else ()
    with job(folder, "--shared", before=before) as shared:
        (child,) = children_of(shared.pid)
        assert cpus_of(child) == set(cpus)
        with job(folder, "--cpus", str(len(cpus) - 1), before=before) as other:
            held = cpus_of(children_of(other.pid)[0])
            # Moved by the one that took them, before its own command began.
            assert cpus_of(child) == set(cpus) - held
            done = numafit(folder, "run", "--cpus", "1", "--", "true", before=before)
            assert done.returncode == 75
            assert "the last CPUs are left to it" in done.stderr
            end(children_of(other.pid)[0])
            other.wait()
        eventually(lambda: cpus_of(child) == set(cpus))


def test_with_every_cpu_held_there_is_no_shared_work(tmp_path: Path) -> None:
    cpus = needs_cpus(1)
    with job(tmp_path, "--cpus", str(len(cpus))):
        done = numafit(tmp_path, "run", "--shared", "--", "true")
    assert done.returncode == 75
    assert "there is no shared pool to run in" in done.stderr
