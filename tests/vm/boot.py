"""Boot a virtual machine, let it run jobs, and bring back their results; every wait has an end."""

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.packages import program
from tests.vm.cargo import Job, cargo
from tests.vm.guest import MARK
from tests.vm.image import INIT, image
from tests.vm.parts import kernel, missing
from tests.vm.results import Result, results, unpacked
from tests.vm.shape import Shape

ATTEMPTS = 2
"""Under software emulation about one boot in sixteen was seen to crash, and two boots to hang before the kernel said a
word."""
BOOT_SECONDS = 120.0
"""For the boot alone; jobs have their own time. On two shared cores it takes some 7 s with 16 CPUs, 30 s with 128."""
GRACE_SECONDS = 60.0
"""What a guest may take longer than the time of a job, to end it; then it hangs."""
LOOK_SECONDS = 0.5
RESULT_BYTES = 64 << 20
DISKS = "0000:00:10.0"
"""Where the guest finds its disks."""

KERNEL_WORDS = (
    *("console=ttyS0", "quiet", "root=/dev/nvme0n1", "rw", f"init={INIT}", MARK),
    # A panic resets the machine, and QEMU ends instead.
    "panic=-1",
    # Time savers under emulation.
    *("mitigations=off", "no5lvl", "nowatchdog", "rcupdate.rcu_cpu_stall_suppress=1"),
)


_STEPS = re.compile(r"^guest: [0-9.]+ s: (job \S+|done)\r?$", re.MULTILINE)


class BootError(RuntimeError):
    """The machine did not come up, or did not end; the message holds the end of its console."""


def run_jobs(
    shape: Shape,
    jobs: Sequence[Job],
    folder: Path,
    boot_seconds: float = BOOT_SECONDS,
    *,
    packages: Sequence[str] = (),
) -> dict[str, Result]:
    """`packages` are Debian's, beside those that each guest has; the first such guest has an image built for it.

    The result of each job by its name. They run one after the other in one machine; `folder` must be new or empty
    and gets the console, QEMU's command line and the results. A machine that crashes or hangs is tried once more: that
    says nothing about the jobs."""
    lacking = missing()
    if lacking:
        raise BootError(lacking)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.tar").write_bytes(cargo(shape, jobs))
    command = command_line(shape, image(packages), folder)
    (folder / "qemu-cmdline.txt").write_text(" ".join(command) + "\n")
    limits = {job.name: job.timeout + GRACE_SECONDS for job in jobs}
    for attempt in range(1, ATTEMPTS + 1):
        console = folder / f"console-{attempt}.txt"
        end = _boot(command, folder, console, limits, boot_seconds)
        whole = unpacked(folder / "results.img", folder / "results")
        (folder / "results.img").unlink()
        if whole:
            (folder / "job.tar").unlink()
            return results(folder / "results", jobs)
    raise BootError(f"the machine ended without results, {end}; its console:\n{_end_of(console)}")


def command_line(shape: Shape, root: Path, folder: Path) -> list[str]:
    return [
        # QEMU goes with this process, however that one ends.
        *(program("setpriv"), "--pdeathsig", "KILL", program("qemu-system-x86_64")),
        *("-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"),
        # Threads of one core show only on Intel's models. KVM inside of a virtual machine may hang.
        *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,vendor=GenuineIntel"),
        *shape.arguments(),
        # The kernel has drivers for NVMe built in, and for no other disk. One queue: one per CPU costs a boot its time.
        *("-device", "nvme,id=disks,serial=disks,bus=pcie.0,addr=0x10,max_ioqpairs=1"),
        *_disk(1, f"file={root},snapshot=on"),
        *_disk(2, f"file={folder / 'job.tar'},readonly=on"),
        *_disk(3, f"file={folder / 'results.img'},cache=unsafe"),
        *("-kernel", str(kernel()), "-append", " ".join(KERNEL_WORDS)),
    ]


def _disk(number: int, drive: str) -> list[str]:
    return [
        *("-drive", f"if=none,id=disk{number},format=raw,{drive}"),
        *("-device", f"nvme-ns,drive=disk{number},bus=disks,nsid={number}"),
    ]


def _boot(command: Sequence[str], folder: Path, console: Path, limits: Mapping[str, float], boot_seconds: float) -> str:
    """How it ended, in words."""
    with (folder / "results.img").open("wb") as disk:
        disk.truncate(RESULT_BYTES)
    # What the guest writes to its root goes to a file that QEMU has deleted already.
    environment = {**os.environ, "TMPDIR": str(folder)}
    with console.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            return _watched(process, console, limits, boot_seconds)
        finally:
            process.kill()
            process.wait()


def _watched(process: subprocess.Popen[bytes], console: Path, limits: Mapping[str, float], boot_seconds: float) -> str:
    """Each job has its own time, by the lines that the guest writes when it begins one."""
    step, since = "", time.monotonic()
    while True:
        try:
            return f"QEMU with status {process.wait(LOOK_SECONDS)}"
        except subprocess.TimeoutExpired:
            now = _step(console)
        if now != step:
            step, since = now, time.monotonic()
        limit = limits.get(step, GRACE_SECONDS) if step else boot_seconds
        if time.monotonic() - since > limit:
            return f"hanging for {limit:g} s " + (f"in the job {step}" if step in limits else step or "in its boot")


def _step(console: Path) -> str:
    """The job that the guest is at, `at its end` behind the last one, empty before the first."""
    found = _STEPS.findall(console.read_text(errors="replace"))
    return "" if not found else found[-1].removeprefix("job ") if found[-1] != "done" else "at its end"


def _end_of(console: Path) -> str:
    return console.read_text(errors="replace")[-3000:]
