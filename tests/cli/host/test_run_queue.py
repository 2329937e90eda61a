"""`numafit run --wait`: processes that sleep in the queue, are woken by events, and survive whoever is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cli.host import cancel
from numafit.errors import InputError
from numafit.host.book.book import Book, caller
from numafit.host.process.identity import descendants, identify, processes_with_environment, user_name
from numafit.host.request import JobRequest
from tests.cli.host.test_run import leases
from tests.host.ledgers import end, environment, eventually, job, numafit, small_host

FPGA = "example.com/fpga"
ME = user_name(os.getuid())
HOST = small_host(4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A host with four devices of its own, so that nobody need wait for CPUs."""
    lines = [f"- {{resource: {FPGA}, id: fpga{number}}}" for number in range(4)]
    (tmp_path / "host.yaml").write_text("\n".join(["devices:", *lines, ""]))
    return tmp_path


@contextmanager
def waiting(
    folder: Path, *words: str, count: int = 4, more: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """One that waits for devices; it is asleep already."""
    line = [sys.executable, "-m", "numafit", "run", f"--device={FPGA}={count}", "--wait", *words]
    given = {**environment(folder), **(more or {})}
    with subprocess.Popen(
        line, env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            eventually(lambda: is_asleep(process))
            yield process
        finally:
            for pid in (*descendants(process.pid), process.pid):
                end(pid)


def is_asleep(process: subprocess.Popen[str]) -> bool:
    """It has become a shell, which holds next to nothing."""
    assert process.poll() is None, process.stderr and process.stderr.read()
    return Path(f"/proc/{process.pid}/comm").read_text() == "sh\n"


def watchers(folder: Path) -> list[int]:
    """Processes of the queue that are nobody's command: their parent is not the one that started them."""
    found = processes_with_environment("NUMAFIT_STATE", str(folder))
    return [pid for pid in found if b"--wait" in command_line(pid) and os.getsid(pid) != os.getsid(0)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_environment_and_streams_come_through_the_sleep(folder: Path) -> None:
    """Shells change variables, and drop those whose names they do not understand."""
    code = "import os, json; print(json.dumps([dict(os.environ), sorted(os.listdir('/proc/self/fd'))]))"
    show = ["--no-env", "--", sys.executable, "-c", code]
    odd = {"odd.name": "kept", "SHLVL": "7", "OLDPWD": "/nowhere", "PWD": "/elsewhere"}
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", *show, more=odd) as process:
        holder.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    line = [sys.executable, "-m", "numafit", "run", "-q", f"--device={FPGA}=4", *show]
    direct = subprocess.run(
        line,
        env={**environment(folder), **odd},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert out == direct.stdout


def test_one_who_waits_is_told_his_place_and_for_what(folder: Path) -> None:
    with (
        job(folder, f"--device={FPGA}=3") as holder,
        waiting(folder, "--", "true"),
        waiting(folder, "--name=second", "--", "true", count=2) as second,
        waiting(folder, "--name=third", "--", "true", count=1) as third,
    ):
        lines = [line for line in numafit(folder, "ps").stdout.splitlines() if line.startswith("waits since")]
        assert [line.split(": ", 1)[1] for line in lines] == [
            f"{ME} for 4 {FPGA} (place 1: 4 {FPGA} are asked for and 1 is free)",
            f"{ME} for 2 {FPGA} (place 2: 2 {FPGA} are asked for and 1 is free)",
            f"{ME} for 1 {FPGA} (place 3: it would delay {ME}, who waits for 4 {FPGA})",
        ]
        holder.send_signal(signal.SIGTERM)
        told = [one.communicate(timeout=60)[1].splitlines()[0] for one in (second, third)]
    assert told == [
        f"numafit: waits for 2 {FPGA}, place 2 of 2 in the queue: 2 {FPGA} are asked for and 1 is free",
        f"numafit: waits for 1 {FPGA}, place 3 of 3 in the queue: it would be free, but others wait before it",
    ]


def test_one_who_waits_can_be_cancelled_by_what_ps_calls_him_or_by_his_name(folder: Path) -> None:
    """His process ends, and the other one who waits is not disturbed."""
    with (
        job(folder, f"--device={FPGA}=4"),
        waiting(folder, "--", "true") as first,
        waiting(folder, "--name=second", "--", "true", count=2) as second,
        waiting(folder, "--", "true", count=1) as third,
    ):
        told = json.loads(numafit(folder, "ps", "-o", "json").stdout)["waiting"]
        assert f" as {told[0]['id']}: {ME} for 4 {FPGA} (place 1: " in numafit(folder, "ps").stdout
        done = numafit(folder, "cancel", str(told[0]["id"]), "second")
        assert (done.returncode, done.stdout) == (0, f"cancelled {told[0]['id']}\ncancelled {told[1]['id']}\n")
        assert (first.wait(60), second.wait(60)) == (-signal.SIGTERM, -signal.SIGTERM)
        left = json.loads(numafit(folder, "ps", "-o", "json").stdout)["waiting"]
        assert [one["id"] for one in left] == [told[2]["id"]]
        assert third.poll() is None


def test_an_id_means_what_has_it_whatever_others_are_called(folder: Path) -> None:
    """One who waits is called like the lease of another, or like the place of another."""
    with job(folder, f"--device={FPGA}=4", "--name=held") as holder:
        (lease,) = [str(lease["id"]) for lease in leases(folder)]
        with (
            waiting(folder, "--name=w2", "--", "true") as first,
            waiting(folder, f"--name={lease}", "--", "true") as second,
        ):
            assert numafit(folder, "cancel", "w2").stdout == "cancelled w2\n"
            assert second.wait(60) == -signal.SIGTERM
        with waiting(folder, f"--name={lease}", "--", "true") as third:
            assert numafit(folder, "cancel", lease).stdout == f"cancelled {lease}\n"
            assert holder.wait(60) == -signal.SIGTERM
            assert third.wait(60) == 0
        assert first.returncode == -signal.SIGKILL


def test_jobs_are_cancelled_by_their_name_whether_they_run_or_wait(folder: Path) -> None:
    with (
        job(folder, f"--device={FPGA}=4", "--name=train") as holder,
        waiting(folder, "--name=train", "--", "true") as process,
    ):
        (lease,) = [str(lease["id"]) for lease in leases(folder)]
        assert numafit(folder, "cancel", "train").stdout == f"cancelled w1\ncancelled {lease}\n"
        assert (process.wait(60), holder.wait(60)) == (-signal.SIGTERM, -signal.SIGTERM)
        for name in ("train", ""):
            assert numafit(folder, "cancel", name).returncode == 2


def test_a_name_means_nobody_elses_job(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose job it is called so is not told either; root means those of all."""
    with Book.open(folder) as book:
        process = identify(os.getpid())
        assert process is not None
        book.enqueue(HOST, JobRequest(cpus=1, name="train"), replace(caller([process]), uid=4711, user="ann"))
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert [place.id for place in cancel._found(book, [], book.waiting(), ["train"]).places] == ["w1"]
        monkeypatch.setattr(os, "geteuid", lambda: 4712)
        with pytest.raises(InputError, match="there is no lease train"):
            cancel._found(book, [], book.waiting(), ["train"])
        with pytest.raises(InputError, match="w1 is a place of ann in the queue"):
            cancel._check(cancel._found(book, [], book.waiting(), ["w1"]))


def test_a_place_in_the_queue_that_names_another_process_ends_nobody(folder: Path) -> None:
    """Who may write the ledger could write any number into it."""
    with subprocess.Popen(["sleep", "60"]) as stranger, Book.open(folder) as book:
        process = identify(stranger.pid)
        assert process is not None
        book.enqueue(HOST, JobRequest(cpus=1, name="trap"), caller([process]))
        done = numafit(folder, "cancel", "trap")
        assert (done.returncode, done.stderr) == (
            1,
            "numafit: w1 goes on waiting: its process cannot be seen from here\n",
        )
        assert stranger.poll() is None
        stranger.kill()


def test_others_pass_who_delay_nobody(folder: Path) -> None:
    """Somebody waits for all devices: one of them is not to be had, but CPUs are."""
    with job(folder, f"--device={FPGA}=3"), waiting(folder, "--", "true"):
        done = numafit(folder, "run", "-q", f"--device={FPGA}=1", "--", "true")
        assert done.returncode == 75
        assert f"it would delay {ME}, who waits for 4 {FPGA}" in done.stderr
        assert numafit(folder, "run", "-q", "--cpus=1", "--", "true").returncode == 0


def test_what_can_never_be_had_is_refused_at_once_whatever_waits(folder: Path) -> None:
    with job(folder, f"--device={FPGA}=3"), waiting(folder, "--", "true"):
        done = numafit(folder, "run", f"--device={FPGA}=5", "--wait", "--", "true")
        assert (done.returncode, done.stderr) == (2, f"numafit: 5 {FPGA} are asked for, this machine has 4\n")


def test_the_end_of_a_job_that_is_killed_with_its_supervisor_wakes_who_waits(folder: Path) -> None:
    """Nobody tells of it: the kernel does."""
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "echo", "mine") as process:
        for pid in (holder.pid, *descendants(holder.pid)):
            end(pid)
        assert process.communicate(timeout=60) == ("mine\n", "")


def test_a_watcher_that_is_killed_is_replaced(folder: Path) -> None:
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "echo", "mine") as process:
        (watcher,) = watchers(folder)
        end(watcher)
        eventually(lambda: watchers(folder) not in ([], [watcher]))
        eventually(lambda: is_asleep(process))
        holder.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("mine\n", "")


def test_another_watches_when_the_one_who_began_has_his_lease(folder: Path) -> None:
    """The watcher belongs to the first one and ends with his waiting; the second one still hears of what ends."""
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "sleep", "60") as first:
        (watcher,) = watchers(folder)
        with waiting(folder, "-q", "--", "echo", "mine") as second:
            holder.send_signal(signal.SIGTERM)
            eventually(lambda: watchers(folder) not in ([], [watcher]) and watcher not in watchers(folder))
            assert [lease["command"] for lease in leases(folder)] == ["sleep 60"]
            first.send_signal(signal.SIGTERM)
            assert second.communicate(timeout=60) == ("mine\n", "")
    eventually(lambda: not watchers(folder))
    assert [name for name in os.listdir(folder) if name.startswith("waiting-")] == []


def test_one_who_waits_and_is_killed_is_passed_over(folder: Path) -> None:
    with (
        job(folder, f"--device={FPGA}=4") as holder,
        waiting(folder, "--", "true") as first,
        waiting(folder, "-q", "--", "echo", "mine") as second,
    ):
        end(first.pid)
        holder.send_signal(signal.SIGTERM)
        assert second.communicate(timeout=60) == ("mine\n", "")


def test_one_who_is_stopped_keeps_his_place_and_others_pass(folder: Path) -> None:
    with (
        job(folder, f"--device={FPGA}=4") as holder,
        waiting(folder, "-q", "--", "echo", "first") as first,
        waiting(folder, "-q", "--", "echo", "second") as second,
    ):
        first.send_signal(signal.SIGSTOP)
        eventually(lambda: "(place 1: stopped: others pass until it goes on)" in numafit(folder, "ps").stdout)
        holder.send_signal(signal.SIGTERM)
        assert second.communicate(timeout=60) == ("second\n", "")
        first.send_signal(signal.SIGCONT)
        assert first.communicate(timeout=60) == ("first\n", "")


def test_a_watcher_that_is_stopped_is_helped_by_another(folder: Path) -> None:
    with (
        job(folder, f"--device={FPGA}=4") as holder,
        waiting(folder, "-q", "--", "echo", "first") as first,
    ):
        (watcher,) = watchers(folder)
        os.kill(watcher, signal.SIGSTOP)
        try:
            with waiting(folder, "-q", "--", "echo", "second") as second:
                holder.send_signal(signal.SIGTERM)
                assert first.communicate(timeout=60) == ("first\n", "")
                assert second.communicate(timeout=60) == ("second\n", "")
        finally:
            end(watcher)


@pytest.mark.parametrize(
    ("script", "status", "told"),
    [
        ("exit 7", 7, ""),
        ("kill -9 $$", -9, ""),
        ("kill -TERM $$", -15, ""),
        ("exec /nonexistent", 127, "nonexistent"),
    ],
)
def test_one_who_has_waited_ends_as_his_command_does(folder: Path, script: str, status: int, told: str) -> None:
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "sh", "-c", script) as process:
        holder.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, told in errors) == (status, True)
    assert leases(folder) == []


def test_a_command_that_cannot_be_started_after_the_waiting_is_told_as_ever(folder: Path) -> None:
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "no-such-command") as process:
        holder.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("", "numafit: no-such-command: command not found\n")
        assert process.returncode == 127


def test_signals_reach_the_command_of_one_who_has_waited(folder: Path) -> None:
    """He stays small until something happens: then he becomes numafit, which passes the signal on."""
    script = "trap 'echo heard; exit 3' USR1; echo runs; while :; do sleep 0.05; done"
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", "--", "sh", "-c", script) as process:
        holder.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        assert b"wake" in command_line(process.pid)
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("heard\n", "")
        assert process.returncode == 3


def test_whatever_becomes_of_his_lease_the_command_is_not_left_alone(folder: Path) -> None:
    """Somebody releases it; the command goes on in the shared pool, and its status is told."""
    script = "echo runs; read line <go; exit 5"
    os.mkfifo(folder / "go")
    with (
        job(folder, f"--device={FPGA}=4") as holder,
        waiting(folder, "-q", "--", "sh", "-c", f"cd {folder}; {script}") as process,
    ):
        holder.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        (lease,) = [str(lease["id"]) for lease in leases(folder)]
        assert numafit(folder, "release", "--force", lease).returncode == 0
        with (folder / "go").open("w") as gate:
            gate.write("\n")
        process.communicate(timeout=60)
        assert process.returncode == 5
    assert leases(folder) == []


def test_what_is_said_at_the_start_is_the_same_after_waiting(folder: Path) -> None:
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "--", "true") as process:
        holder.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    direct = numafit(folder, "run", f"--device={FPGA}=4", "--", "true")
    waited, said = errors.splitlines()[1:], direct.stderr.splitlines()
    assert [line.split(": ", 2)[2] for line in waited] == [line.split(": ", 2)[2] for line in said]


def test_one_with_variables_of_his_own_starts_as_quickly_and_is_told_what_contradicts(folder: Path) -> None:
    """Also with -q, as without waiting; he does not become all of numafit for it."""
    own = {"OMP_NUM_THREADS": "9", "CUDA_VISIBLE_DEVICES": "7"}
    show = ["--cpus=1", "--threads", "--", "sh", "-c", "echo $OMP_NUM_THREADS $CUDA_VISIBLE_DEVICES; exec sleep 60"]
    with job(folder, f"--device={FPGA}=4") as holder, waiting(folder, "-q", *show, more=own) as process:
        holder.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "9 7\n"
        assert b"wake" in command_line(process.pid)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert errors == "numafit: OMP_NUM_THREADS=9 of your environment is kept, but there is 1 CPU for it\n"
