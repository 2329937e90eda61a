"""Many that wait at once: what they weigh, and that each starts on a device of its own when all become free."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numafit.host.process.identity import processes_with_environment
from tests.host.ledgers import check_claims, end, environment, eventually, job

pytestmark = pytest.mark.real

COUNT = 100
MEGABYTES = 150
FPGA = "example.com/fpga"


def test_a_hundred_wait_in_little_memory_and_each_gets_a_device_of_its_own(tmp_path: Path) -> None:
    """Memory is PSS, with that of the one process which watches for all."""
    lines = [f"- {{resource: {FPGA}, id: fpga{number}}}" for number in range(COUNT)]
    (tmp_path / "host.yaml").write_text("\n".join(["devices:", *lines, ""]))
    line = [sys.executable, "-m", "numafit", "run", "-q", f"--device={FPGA}=1", "--wait", "--"]
    # Each stays until all have started: no device can have been given to one after the other.
    os.mkfifo(tmp_path / "all")
    script = f'echo "$NUMAFIT_LEASE" >>{tmp_path}/started; read line <{tmp_path}/all'
    waiters: list[subprocess.Popen[bytes]] = []
    try:
        with job(tmp_path, f"--device={FPGA}={COUNT}") as holder:
            for _ in range(COUNT):
                given = environment(tmp_path)
                waiters.append(subprocess.Popen([*line, "sh", "-c", script], env=given, stdin=subprocess.DEVNULL))
            eventually(lambda: all(is_asleep(waiter.pid) for waiter in waiters))
            assert sum(pss(pid) for pid in watching(tmp_path)) < MEGABYTES * 1_000_000
            holder.terminate()
            holder.wait()
        eventually(lambda: len(started(tmp_path)) == COUNT)
        held = check_claims(tmp_path)
        assert sorted(lease.id for lease in held) == sorted(started(tmp_path))
        assert sorted(device for lease in held for device in lease.devices[FPGA]) == sorted(
            f"fpga{number}" for number in range(COUNT)
        )
        leave = os.open(tmp_path / "all", os.O_RDWR)
        os.write(leave, b"\n" * COUNT)
        assert [waiter.wait() for waiter in waiters] == [0] * COUNT
        os.close(leave)
        eventually(lambda: not watching(tmp_path))
    finally:
        for waiter in waiters:
            end(waiter.pid)
            waiter.wait()
    assert check_claims(tmp_path) == []
    assert [name for name in os.listdir(tmp_path) if name.startswith("waiting-")] == []


def started(folder: Path) -> list[str]:
    path = folder / "started"
    return path.read_text().split() if path.exists() else []


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text() == "sh\n"


def watching(folder: Path) -> list[int]:
    """All that wait or watch."""
    found = []
    for pid in processes_with_environment("NUMAFIT_STATE", str(folder)):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"--wait" in line:
            found.append(pid)
    return found


def pss(pid: int) -> int:
    """Bytes; pages that several processes share count once."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
