"""Plays that a real signal stops, in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.fleet.test_simulate import NODES

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of this kind are those of Unix")

CPU_SECONDS = 0.3
"""Of each process that plays: then it is on its way, whatever else the machine does."""


def command(folder: Path, pods: int, *words: str) -> list[str]:
    nodes, trace = folder / "nodes.yaml", folder / "trace.csv"
    nodes.write_text(NODES)
    rows = "".join(f"{number},5,{1 + number % 5},1Gi,\n" for number in range(pods))
    trace.write_text("arrival,run,cpu,memory,nvidia.com/gpu\n" + rows)
    own = ["fleet", "simulate", str(nodes), str(trace), "--jobs", "2", "-o", "json"]
    rules = ("--rule", "numafit", "--rule", "most-allocated, blind")
    return [sys.executable, "-m", "numafit", *own, *rules, *words]


def begun(words: list[str]) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def playing(process: "subprocess.Popen[str]") -> list[int]:
    """Its two processes, once both play."""
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if len(children) == 2 and min(cpu_seconds(children)) >= CPU_SECONDS:
            return [int(own) for own in children]
        time.sleep(0.02)
    raise AssertionError(process.communicate())


def cpu_seconds(pids: list[str]) -> Iterator[float]:
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        yield (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """A command, and what it answers where nobody stops it."""
    words = command(tmp_path_factory.mktemp("whole"), 4000)
    return words, subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_another_process_goes_on_to_the_answer_of_a_whole_run(
    number: signal.Signals, whole: tuple[list[str], str], tmp_path: Path
) -> None:
    """As a terminal, `timeout` and systemd send it, to all processes at once: each keeps how far it has come."""
    kept = tmp_path / "kept.json"
    words = [*whole[0], "--continue", str(kept)]
    with begun(words) as process:
        playing(process)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == f"numafit: stopped; the same command goes on from {kept}\n"
    plays = json.loads(kept.read_text())["plays"]
    assert len(plays) == 2
    for own in plays.values():
        assert own["outcome"] is not None or own["saved"]["arrived"] > 0
    assert any(own["saved"] is not None for own in plays.values())
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == whole[1]
    assert not kept.exists()


def test_a_process_that_is_killed_ends_the_others_with_a_sentence(tmp_path: Path) -> None:
    """As by a system without memory."""
    with begun(command(tmp_path, 60_000)) as process:
        os.kill(playing(process)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert err == "numafit: --jobs: one of the processes was killed (with fewer of them less memory is needed)\n"
