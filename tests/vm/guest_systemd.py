"""Runs the jobs in a guest whose first process is systemd: a service there, with what it can use of `guest.py`.

It lies in the image; `guest.py` comes with the jobs. systemd has mounted everything and buries the dead.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import tarfile
import time
from pathlib import Path

sys.path.insert(0, "/job")
guest = importlib.import_module("guest")


def main() -> None:
    command = Path("/usr/local/bin/numafit")
    command.write_text('#!/bin/sh\nexec python3 -m numafit "$@"\n')
    command.chmod(0o755)
    guest.RESULTS.mkdir()
    guest.status_of = status_of
    guest.say("systemd has started the jobs")
    for job in json.loads(Path("/job/plan.json").read_text())["jobs"]:
        guest.say(f"job {job['name']}")
        guest.run(job)
    guest.say("done")
    with open(guest.DISK, "wb", buffering=0) as disk:
        with tarfile.open(fileobj=disk, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(guest.RESULTS, ".")
            archive.addfile(tarfile.TarInfo(guest.COMPLETE))
        os.fsync(disk.fileno())


def status_of(pid: int, seconds: float) -> int:
    """The exit status, negative for a signal. What is left of the job's process group is ended; what went into another
    one stays, since everything else on this system is not the job's."""
    status = None
    deadline = time.monotonic() + seconds
    while status is None and time.monotonic() < deadline:
        status = guest.bury(pid)
        if status is None:
            time.sleep(guest.POLL_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return guest.TIMED_OUT if status is None else status


if __name__ == "__main__":
    try:
        main()
    finally:
        # A reset without ceremony, as in `guest.py`.
        Path("/proc/sysrq-trigger").write_text("b")
        time.sleep(60)
