"""Whole processes: the command line, memory, and the replay of all recordings where these lie beside the repository."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from bench import Row

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "small-node"
RECORDINGS = ROOT.parent / "shared" / "oracle"

COMMAND = 0.25
MEMORY = 200.0
REPLAY = 120.0

STARTS = (
    ("explain", "docs/examples"),
    ("lint", "docs/examples/pod.yaml"),
    ("machine", "show", "--machine", "dgx-a100", "-o", "json"),
    ("ps",),
    ("history",),
    ("run", "--cpus", "1", "--", "true"),
    ("docker", "plan", "--machine", "dgx-a100", "--cpus", "8"),
)
"""An import inside a function is there because one of these starts quicker without it (tests/test_house.py lists them).
What `ps` and `run` hold is kept in a folder of their own."""

PEAK = """
from pathlib import Path
from bench.bench_admit import beyond
for row in beyond():
    row.run()
(line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
print(line.split()[1])
"""
"""Not ru_maxrss: that begins with what the process had that started this one."""


def rows() -> Iterator[Row]:
    yield Row("process/numafit --help", _command(["--help"]), COMMAND, measured=True)
    simulate = ["simulate", str(EXAMPLES)]
    yield Row("process/numafit simulate of one pod", _command(simulate), COMMAND, measured=True)
    yield Row(
        "process/numafit simulate of one pod, -o json", _command([*simulate, "-o", "json"]), COMMAND, measured=True
    )
    for arguments in STARTS:
        yield Row(f"process/numafit {' '.join(arguments)}", _command(list(arguments)), COMMAND, measured=True)
    yield Row("process/peak memory of all admissions with 16 to 64 NUMA nodes", _peak, MEMORY, unit="MB", measured=True)
    if RECORDINGS.is_dir():
        yield Row("process/numafit replay --jobs 2 of all recordings, per core", _replay, REPLAY, measured=True)


def _numafit(arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMAFIT_STATE": folder}
        line = [sys.executable, "-m", "numafit", *arguments]
        return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, check=False)


def _command(arguments: list[str]) -> Callable[[], float]:
    """CPU time of the process, user and system; the fastest of five."""

    def run() -> float:
        return min([_children_seconds(arguments) for _ in range(5)])

    return run


def _children_seconds(arguments: list[str]) -> float:
    before = _children()
    done = _numafit(arguments)
    if done.returncode:
        raise RuntimeError(f"numafit {' '.join(arguments)} failed: {done.stderr.decode()}")
    return _children() - before


def _children() -> float:
    """CPU time, user and system, of all child processes that have ended."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _peak() -> float:
    done = subprocess.run([sys.executable, "-c", PEAK], cwd=ROOT, capture_output=True, check=True)
    return int(done.stdout) / 1024


def _replay() -> float:
    """CPU time divided by two: the wall time on two cores that nobody else uses."""
    before = _children()
    done = _numafit(["replay", "--jobs", "2", str(RECORDINGS)])
    if done.returncode:
        raise RuntimeError(f"replay failed: {done.stderr.decode()}{done.stdout.decode()[-500:]}")
    return (_children() - before) / 2
