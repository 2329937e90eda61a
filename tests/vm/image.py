"""The root file system of the guests: a small Debian in an ext4 image, built once and kept outside the repository."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.packages import PATH, program

SUITE = "bookworm"
INCLUDED = ("numactl", "hwloc-nox", "procps", "python3", "systemd", "dbus", "dbus-user-session", "libpam-systemd")
LAUNCHERS = ("openmpi-bin", "slurmctld", "slurmd", "slurm-client", "munge", "python3-torch")
"""More packages, for those guests that need them: their image is another one."""
INIT = "/usr/sbin/vm-init"
SYSTEMD_JOBS = Path(__file__).with_name("guest_systemd.py")
SIZE, LARGE = "768M", "3G"
"""With more packages the image is large. The file is sparse; about 200 MB of the small one are written."""
BUILD_SECONDS = 600

FIRST_STEPS = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
tar -C / -xf /dev/nvme0n2
if grep -qsx systemd /sys/class/dmi/id/product_family; then
    exec /lib/systemd/systemd --unit=jobs.service
fi
exec /usr/bin/python3 /job/guest.py
"""
"""The rest is in `guest.py`, which comes with the jobs: the image changes with these lines and those for systemd.
The shape says in the tables of the firmware which of the two it wants."""

SERVICE = """[Unit]
Requires=dbus.socket
After=dbus.socket
DefaultDependencies=no
[Service]
Type=exec
ExecStart=/usr/bin/python3 /usr/sbin/vm-jobs
StandardOutput=file:/dev/console
StandardError=file:/dev/console
"""
"""The one thing that a guest with systemd starts, beside what D-Bus needs."""
MASKED = (
    *("systemd-journal-flush", "systemd-random-seed", "systemd-update-utmp", "systemd-sysusers", "systemd-binfmt"),
    *("systemd-machine-id-commit", "systemd-modules-load", "systemd-sysctl", "systemd-remount-fs", "systemd-pstore"),
    *("dev-hugepages.mount", "dev-mqueue.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount"),
    *("sys-kernel-config.mount", "sys-fs-fuse-connections.mount", "proc-sys-fs-binfmt_misc.automount"),
)
"""Units that cost a boot its time and give the jobs nothing."""

STEPS = (
    "--variant=minbase",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    '--customize-hook=chroot "$1" useradd --create-home --uid 1000 --shell /bin/sh worker',
    f"--customize-hook=upload vm-init {INIT}",
    f'--customize-hook=chroot "$1" chmod 0755 {INIT}',
    "--customize-hook=upload vm-jobs /usr/sbin/vm-jobs",
    "--customize-hook=upload jobs.service /etc/systemd/system/jobs.service",
    f'--customize-hook=chroot "$1" systemctl mask {" ".join(MASKED)}',
    # They run at each start and reload, and find nothing to make units of.
    '--customize-hook=rm -r "$1/lib/systemd/system-generators"',
    # Without a number of its own it would think that each boot is its first.
    '--customize-hook=chroot "$1" systemd-machine-id-setup',
)
# Without a journal and without checks the root file system is mounted at once; each boot starts from the same image.
FILE_SYSTEM = ("-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0")


def cache_folder() -> Path:
    """What is made once and kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numafit" / "vm"


def image_path(packages: Sequence[str] = ()) -> Path:
    """Named by its recipe: another recipe is another file."""
    own = (SUITE, _size(packages), FIRST_STEPS, SERVICE, SYSTEMD_JOBS.read_text())
    recipe = "\n".join((*own, *_steps(packages), *FILE_SYSTEM))
    return cache_folder() / f"{SUITE}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.ext4"


def _steps(packages: Sequence[str]) -> tuple[str, ...]:
    return (STEPS[0], f"--include={','.join((*INCLUDED, *packages))}", *STEPS[1:])


def _size(packages: Sequence[str]) -> str:
    return LARGE if packages else SIZE


def image(packages: Sequence[str] = ()) -> Path:
    """The image, built if it is not there. Of several processes one builds, the others wait for it."""
    path = image_path(packages)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _build(path, packages)
    return path


def _build(path: Path, packages: Sequence[str]) -> None:
    # Beside the image: a temporary folder may be mounted without device files, and a rename must stay on one disk.
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        folder = Path(work)
        # mmdebstrap's helpers run as another user.
        folder.chmod(0o755)
        (folder / "vm-init").write_text(FIRST_STEPS)
        (folder / "vm-jobs").write_text(SYSTEMD_JOBS.read_text())
        (folder / "jobs.service").write_text(SERVICE)
        root, new = folder / "root", folder / "new.ext4"
        _run([program("mmdebstrap"), "--quiet", *_steps(packages), SUITE, str(root)], folder)
        _run([program("mke2fs"), *FILE_SYSTEM, "-d", str(root), str(new), _size(packages)], folder)
        shutil.rmtree(root)
        new.replace(path)


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "PATH": PATH}
    done = subprocess.run(
        command, cwd=folder, env=environment, timeout=BUILD_SECONDS, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the image of the virtual machines cannot be built: {command[0]}: {done.stderr[-2000:]}")
