"""`numafit run --wait` where somebody means ill, or where the process was started in an odd way."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.host.test_run_queue import FPGA, folder, is_asleep, waiting
from tests.host.ledgers import end, environment, eventually, job, numafit

__all__ = ["folder"]


def say(folder: Path, process: subprocess.Popen[str], text: str) -> None:
    """As each who may write the ledger could, into the pipe of one who waits."""
    (pipe,) = folder.glob(f"waiting-*-{process.pid}")
    with pipe.open("w") as file:
        file.write(text)


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        end(process.pid)


@pytest.mark.parametrize("end_of_line", ["\n", ""])
def test_no_process_is_signalled_because_the_pipe_names_it(folder: Path, end_of_line: str) -> None:
    """`running` is said by `wake` to numafit alone; whoever else says it is not heard, and the place stays. Without the
    end of its line it spoils what the watcher says next; the ledger knows his lease."""
    with (
        subprocess.Popen(["sleep", "60"]) as stranger,
        ended(stranger),
        job(folder, f"--device={FPGA}=4") as holder,
        waiting(folder, "-q", "--", "echo", "mine") as process,
    ):
        say(folder, process, f"running deadbeef {stranger.pid} 0 15 0 1{end_of_line}")
        holder.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
        assert stranger.poll() is None
        assert (process.returncode, out, errors) == (0, "mine\n", "")


@pytest.mark.parametrize("line", ["start", "lost", "lead", "over \x1b[31mred", "who knows", ""])
def test_whatever_the_pipe_says_the_place_in_the_queue_stays(folder: Path, line: str) -> None:
    """What the ledger does not say is not believed."""
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "echo", "mine") as process:
        say(folder, process, f"{line}\n")
        eventually(lambda: not is_asleep(process))
        eventually(lambda: is_asleep(process))
        holder.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("mine\n", "")


def test_whose_time_is_over_is_told_so_once_he_is_asleep(folder: Path) -> None:
    with job(folder, f"--device={FPGA}=3"), waiting(folder, "--wait=2s", "--", "true") as process:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 75
    why = f"4 {FPGA} are asked for and 1 is free"
    assert errors.splitlines() == [
        f"numafit: waits for 4 {FPGA}, place 1 of 1 in the queue: {why}",
        f"numafit: no lease for 4 {FPGA} in that time: {why}",
    ]


@pytest.mark.parametrize("words", [(), ("--wait",)])
def test_a_variable_that_was_inherited_says_nothing_of_this_process(folder: Path, words: tuple[str, ...]) -> None:
    """Neither a lease that another had, nor a child of another."""
    for told in ("1 2 go abc", f"1 2 running abc {os.getpid()} 0 15 0 1"):
        done = numafit(folder, "run", "-q", f"--device={FPGA}=1", *words, "--", "echo", "ran", NUMAFIT_QUEUE=told)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


@pytest.mark.parametrize("by_option", [True, False])
def test_who_waits_by_a_relative_folder_starts(folder: Path, by_option: bool) -> None:
    """Who watches for him leaves the folder in which it was begun."""
    words = ["--state-dir", folder.name] if by_option else []
    line = [sys.executable, "-m", "numafit", "run", "-q", f"--device={FPGA}=4", "--wait", *words, "--", "echo", "mine"]
    given = environment(Path("elsewhere" if by_option else folder.name))
    with (
        job(folder, f"--device={FPGA}=4") as holder,
        subprocess.Popen(
            line, env=given, cwd=folder.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            eventually(lambda: is_asleep(process))
            holder.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=60) == ("mine\n", "")
        finally:
            end(process.pid)


def test_who_was_started_with_sigchld_ignored_waits_and_starts(folder: Path) -> None:
    ignore = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    before = [sys.executable, "-c", ignore]
    line = [*before, sys.executable, "-m", "numafit", "run", "-q", f"--device={FPGA}=4", "--wait", "--", "echo", "mine"]
    with (
        job(folder, f"--device={FPGA}=4") as holder,
        subprocess.Popen(
            line, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            eventually(lambda: b"numafit-kept" in descriptors(process.pid))
            holder.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=60) == ("mine\n", "")
            assert process.returncode == 0
        finally:
            end(process.pid)


def descriptors(pid: int) -> bytes:
    folder = f"/proc/{pid}/fd"
    try:
        return b" ".join(os.fsencode(os.readlink(f"{folder}/{name}")) for name in os.listdir(folder))
    except OSError:
        return b""


def test_who_waits_while_the_folder_of_the_ledger_goes_is_told_that(folder: Path) -> None:
    ledger = folder / "ledger"
    ledger.mkdir()
    shutil.copy(folder / "host.yaml", ledger)
    with job(ledger, f"--device={FPGA}=4"), waiting(ledger, "-q", "--", "true") as process:
        shutil.rmtree(ledger)
        out, errors = process.communicate(timeout=60)
    # With it went `host.yaml`, the only one to know of the devices.
    cure = "(`numafit machine show --table devices` lists them)"
    assert (process.returncode, out, errors) == (2, "", f"numafit: this machine has no {FPGA} {cure}\n")
