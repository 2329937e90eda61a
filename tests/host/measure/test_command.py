"""A command run in turns, and where it is bound to."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.host.lease import Lease
from numafit.host.measure import command
from numafit.host.measure.command import (
    AS_IT_IS,
    BADLY,
    WAYS,
    WELL,
    CommandFailed,
    CommandTrial,
    NearFar,
    places_of,
    timed,
)
from numafit.host.measure.result import Figure, Measured, NodePair
from tests.host.ledgers import PATIENCE, host_named, small_host

HERE = NearFar(mask_of(os.sched_getaffinity(0)), 0, 0, "the same")
"""On a machine with one node both ways are the same, and can be tried."""


@pytest.fixture(autouse=True)
def plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "free_memory", lambda _: 1 << 38)


def chosen(name: str, **more: object) -> NearFar | None:
    words: dict[str, object] = {"own": "", "node": None, "count": 0, "measured": None, "leases": [], **more}
    return places_of(host_named(name), words.pop("leases"), **words)  # type: ignore[arg-type]


def test_all_cpus_of_a_node_with_its_memory_and_the_farthest() -> None:
    """By the distances of the kernel; of equal ones the lowest."""
    assert chosen("gpu8-128cpu") == NearFar(
        mask_of([*range(32), *range(64, 96)]), 0, 1, "farthest by the distance table"
    )


def test_cpus_are_whole_cores_of_the_node_that_was_asked_for() -> None:
    found = chosen("gpu8-128cpu", node=1, count=4)
    assert found is not None
    assert (found.cpus, found.near, found.far) == (mask_of([32, 33, 96, 97]), 1, 0)


def test_the_node_with_most_free_cpus_is_taken() -> None:
    """Those of leases are not bound to, but for that of the job in which numafit itself runs."""
    held = Lease("other", "", 0, "root", 0.0, exclusive=mask_of(range(10)))
    found, inside = chosen("gpu8-128cpu", leases=[held]), chosen("gpu8-128cpu", leases=[held], own="other")
    assert found is not None
    assert inside is not None
    assert (found.near, inside.near) == (1, 0)


def test_the_slowest_memory_is_far_where_it_was_measured() -> None:
    """A table of distances may be wrong or coarse."""
    times = {node: Figure(float(time), 1.0, 1.0, 1) for node, time in enumerate((90, 95, 200, 130, 131, 132, 133, 134))}
    measured = Measured("", "", (), tuple(NodePair(0, node, None, figure) for node, figure in times.items()))
    found, table = chosen("dgx-a100", node=0, measured=measured), chosen("dgx-a100", node=0)
    assert found is not None
    assert table is not None
    assert (found.far, found.far_by) == (2, "slowest as measured")
    assert table.far_by == "farthest by the distance table"


def test_cpus_that_are_all_held_are_told() -> None:
    """There would be something to compare, were one of them free."""
    with pytest.raises(InputError, match="no CPU of a NUMA node with memory is free"):
        chosen("gpu8-128cpu", leases=[Lease("all", "", 0, "root", 0.0, exclusive=(1 << 128) - 1)])


@pytest.mark.parametrize("words", [{"node": 7}, {"node": 0, "count": 65}])
def test_a_node_or_a_count_that_is_not_there_is_bad_input(words: dict[str, int]) -> None:
    with pytest.raises(InputError):
        chosen("gpu8-128cpu", **words)


def test_one_node_has_nothing_to_compare() -> None:
    """Also where the caller may use the memory of one only."""
    assert places_of(small_host(), [], own="", node=None, count=0, measured=None) is None
    host = replace(host_named("gpu8-128cpu"), allowed_mems=0b10)
    assert places_of(host, [], own="", node=None, count=0, measured=None) is None


def test_each_way_comes_first_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a run that does not count comes before all."""
    runs: list[int | None] = []

    def run(_command: object, _cpus: int, memory: int | None, _errors: int) -> tuple[int, float]:
        runs.append(memory)
        return 0, float(len(runs))

    monkeypatch.setattr(command, "timed", run)
    trial = CommandTrial(["x"], NearFar(1, 4, 5, ""), 3)
    steps: list[None] = []
    with tempfile.TemporaryFile() as log:
        trial.run(lambda: steps.append(None), log)
    assert runs == [None, None, 4, 5, 4, 5, None, 5, None, 4]
    assert len(steps) == trial.steps == 10
    found = trial.result()
    assert found.seconds == {AS_IT_IS: (2.0, 7.0, 9.0), WELL: (3.0, 5.0, 10.0), BADLY: (4.0, 6.0, 8.0)}
    assert found.whole


def test_a_command_really_runs(tmp_path: Path) -> None:
    """With no input, and its output dropped."""
    script = f"cat; echo noise; echo . >> {tmp_path / 'count'}"
    trial = CommandTrial(["sh", "-c", script], HERE, 2)
    with tempfile.TemporaryFile() as log:
        try:
            trial.run(lambda: None, log)
        except CommandFailed as failed:
            pytest.skip(str(failed))
    assert (tmp_path / "count").read_text() == ".\n" * 7
    assert {way: len(times) for way, times in trial.result().seconds.items()} == dict.fromkeys(WAYS, 2)


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("echo first >&2; echo last >&2; exit 4", 4, "sh ended with status 4 when run as it is: last"),
        ("kill -9 $$", 1, "sh was ended by signal 9 when run as it is"),
    ],
)
def test_the_time_of_a_command_that_fails_says_nothing(script: str, status: int, said: str) -> None:
    with tempfile.TemporaryFile() as log, pytest.raises(CommandFailed) as raised:
        CommandTrial(["sh", "-c", script], HERE, 2).run(lambda: None, log)
    assert (raised.value.status, str(raised.value)) == (status, said)


def test_what_cannot_be_bound_or_started_is_told() -> None:
    """A CPU that is not there; a file that is not there; one that is no program."""
    with tempfile.TemporaryFile() as log:
        for words, cpus, memory, status, said in (
            (["true"], 1 << 8000, 0, 1, "the command cannot be bound: "),
            (["/nowhere/x"], 1, None, 127, "/nowhere/x: no such file"),
            (["/etc/passwd"], 1, None, 126, "/etc/passwd: Permission denied"),
        ):
            with pytest.raises(CommandFailed) as raised:
                timed(words, cpus, memory, log.fileno())
            assert (raised.value.status, str(raised.value)[: len(said)]) == (status, said)


def test_whoever_is_interrupted_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    """As Ctrl-C does; a child that takes no notice of SIGTERM is killed."""
    pids = tmp_path / "pids"
    script = f"trap '' TERM; sleep 1000 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait"
    code = f"import sys\nfrom numafit.host.measure.command import timed\ntimed(['sh', '-c', {script!r}], 1, None, 2)"
    measuring = subprocess.Popen(
        [sys.executable, "-c", f"import numafit.host.measure.command as c; c._GENTLE = 0.2\n{code}"]
    )
    until(pids.exists)
    measuring.send_signal(signal.SIGINT)
    assert measuring.wait(PATIENCE) != 0
    gone = [int(pid) for pid in pids.read_text().split()]
    until(lambda: not any(alive(pid) for pid in gone))


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
