"""The first process inside a guest: it mounts what a system has, runs the jobs one after the other, hands back results.

It stands alone (standard library, Debian's Python) and is copied into the guest. The third disk takes the results as a
.tar: per job its status, what it printed, and what it left in $OUT.
"""

import contextlib
import fcntl
import json
import os
import pwd
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path("/out")
DISK = "/dev/nvme0n3"
COMPLETE = "complete"
"""The last entry of the results: without it they are not all there."""
MARK = "numafit.guest"
"""On the kernel's command line. This program kills every process around it, so it must know where it is."""
TIMED_OUT = 124
CONTROLLERS_1 = ("cpuset", "memory", "cpu")
CONTROLLERS_2 = "+cpuset +cpu +memory +pids"
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
POLL_SECONDS = 0.1
LEFTOVER_SECONDS = 10.0


def main() -> None:
    if os.getpid() != 1 or MARK not in Path("/proc/cmdline").read_text().split():
        sys.exit("guest.py runs only as the first process of a virtual machine")
    plan = json.loads(Path("/job/plan.json").read_text())
    prepare(plan["cgroup"])
    for job in plan["jobs"]:
        say(f"job {job['name']}")
        run(job)
    say("done")
    with open(DISK, "wb", buffering=0) as disk:
        with tarfile.open(fileobj=disk, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(RESULTS, ".")
            archive.addfile(tarfile.TarInfo(COMPLETE))
        os.fsync(disk.fileno())


def say(text: str) -> None:
    print(f"guest: {time.monotonic():.1f} s: {text}", flush=True)


def prepare(cgroup: int) -> None:
    mount("tmpfs", "/tmp", "mode=1777")
    mount("tmpfs", "/run", "mode=755")
    mount("tmpfs", "/dev/shm", "mode=1777")
    if cgroup == 2:
        mount("cgroup2", "/sys/fs/cgroup")
        Path("/sys/fs/cgroup/cgroup.subtree_control").write_text(CONTROLLERS_2)
    else:
        mount("tmpfs", "/sys/fs/cgroup")
        for controller in CONTROLLERS_1:
            mount("cgroup", f"/sys/fs/cgroup/{controller}", controller)
    socket.sethostname("guest")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP_RUNNING))
    command = Path("/usr/local/bin/numafit")
    command.write_text('#!/bin/sh\nexec python3 -m numafit "$@"\n')
    command.chmod(0o755)
    RESULTS.mkdir()


def mount(kind: str, place: str, options: str = "") -> None:
    Path(place).mkdir(exist_ok=True)
    words = ["-o", options] if options else []
    subprocess.run(["mount", "-t", kind, *words, kind, place], check=True)


def run(job: dict[str, Any]) -> None:
    result = RESULTS / job["name"]
    left = result / "files"
    left.mkdir(parents=True)
    # A script may become another user on its way.
    left.chmod(0o777)
    user = pwd.getpwnam(job["user"])
    folder = Path("/job/jobs") / job["name"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": "/job/src:/job/site",
        "LC_ALL": "C.UTF-8",
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "OUT": str(left),
    }
    with open(result / "stdout", "wb") as stdout, open(result / "stderr", "wb") as stderr:
        process = subprocess.Popen(
            ["/bin/sh", "./script"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            start_new_session=True,
        )
        status = status_of(process.pid, job["timeout"])
        process.returncode = status
    (result / "status").write_text(str(status))


def status_of(pid: int, seconds: float) -> int:
    """The exit status, negative for a signal. Meanwhile orphans are buried; at the end nothing is left running."""
    status = None
    deadline = time.monotonic() + seconds
    while status is None and time.monotonic() < deadline:
        status = bury(pid)
        if status is None:
            time.sleep(POLL_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    deadline = time.monotonic() + LEFTOVER_SECONDS
    while children() and time.monotonic() < deadline:
        bury(pid)
        time.sleep(POLL_SECONDS)
    return TIMED_OUT if status is None else status


def bury(pid: int) -> int | None:
    """Take leave of each process that ended; the status of `pid` when it is one of them."""
    status = None
    while True:
        try:
            ended, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if ended == 0:
            return status
        if ended == pid:
            status = os.waitstatus_to_exitcode(found)


def children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    try:
        main()
    finally:
        # A reset without ceremony: QEMU ends there, and the results are on the disk or are not.
        Path("/proc/sysrq-trigger").write_text("b")
        time.sleep(60)
