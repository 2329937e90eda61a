"""Leases: what those cost who wait for one, and how soon they start when what they wait for is free.

Real `numafit run --wait` commands wait for devices that a file gives this host. Memory is the proportional set size
(PSS) of all processes together, so that pages which several share count once; time is that of all of them over some
seconds in which nothing happens. The last two rows are one start of many: wall time from the end of the job that held
everything to the last start, which depends on the cores of the machine and on who else uses them, and CPU time of those
who waited, their commands included, until then.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import Row
from numafit.host.process.identity import processes_with_environment

DISK = Path("/var/tmp")
DEVICE = "example.com/fpga"
MANY = 100
MEMORY = 150.0
"""MB together."""
IDLE = 0.010
"""Seconds of CPU time in a second: 1 % of a core."""
IDLE_SECONDS = 20.0
STARTED = 64
START = 2.0
START_CPU = 0.040
"""Seconds for each, of those that `START` leaves on two cores."""
PATIENCE = 300.0


def rows() -> Iterator[Row]:
    costs: list[tuple[float, float]] = []

    def measured() -> tuple[float, float]:
        if not costs:
            costs.append(_waiting_costs())
        return costs[0]

    yield Row(f"leases/{MANY} that wait/memory together (PSS)", lambda: measured()[0], MEMORY, unit="MB", measured=True)
    yield Row(f"leases/{MANY} that wait/CPU time in a second", lambda: measured()[1], IDLE, measured=True)
    starts: list[tuple[float, float]] = []

    def started() -> tuple[float, float]:
        if not starts:
            starts.append(_starts())
        return starts[0]

    yield Row(f"leases/{STARTED} that wait/the last one starts, wall time", lambda: started()[0], START, measured=True)
    yield Row(
        f"leases/{STARTED} that wait/CPU time of each to its start", lambda: started()[1], START_CPU, measured=True
    )


def _waiting_costs() -> tuple[float, float]:
    with _queue(MANY) as (folder, _, _):
        pids = processes_with_environment("NUMAFIT_STATE", str(folder))
        waiting = [pid for pid in pids if b"--wait" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        before = sum(map(_cpu_seconds, waiting))
        time.sleep(IDLE_SECONDS)
        spent = (sum(map(_cpu_seconds, waiting)) - before) / IDLE_SECONDS
        return sum(map(_pss, waiting)), spent


def _starts() -> tuple[float, float]:
    with _queue(STARTED) as (folder, holder, waiters):
        file = folder / "started"
        before = sum(_cpu_seconds(process.pid) for process in waiters)
        began = time.time()
        holder.terminate()
        _until(lambda: file.exists() and len(file.read_text().split()) == STARTED)
        spent = sum(_cpu_seconds(process.pid) for process in waiters) - before
        return max(map(float, file.read_text().split())) - began, spent / STARTED


@contextmanager
def _queue(count: int) -> Iterator[tuple[Path, subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]]:
    """One that holds all devices, and so many asleep that want one each."""
    with TemporaryDirectory(dir=DISK) as name:
        folder = Path(name)
        lines = "".join(f"- {{resource: {DEVICE}, id: fpga{number}}}\n" for number in range(count))
        (folder / "host.yaml").write_text(f"devices:\n{lines}")
        # As a user has it: with what the modules were compiled to.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["NUMAFIT_STATE"] = name
        processes: list[subprocess.Popen[bytes]] = []

        def start(devices: int, *words: str) -> subprocess.Popen[bytes]:
            numafit = str(Path(sys.executable).with_name("numafit"))
            line = [numafit, "run", "-q", f"--device={DEVICE}={devices}", *words]
            processes.append(subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL))
            return processes[-1]

        try:
            holder = start(count, "--", "sh", "-c", f"touch {name}/held; exec sleep 3600")
            _until((folder / "held").exists)
            job = f"date +%s.%N >>{name}/started; exec sleep 10"
            waiters = [start(1, "--wait", "--", "sh", "-c", job) for _ in range(count)]
            _until(lambda: all(Path(f"/proc/{one.pid}/comm").read_text() == "sh\n" for one in waiters))
            yield folder, holder, waiters
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait()


def _until(question: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < end, "the waiters did not come to rest"
        time.sleep(0.05)


def _cpu_seconds(pid: int) -> float:
    """Of it and of the children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _pss(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
