"""What a machine needs to boot these virtual machines: programs, a kernel, an image; and how to get them."""

import os
import platform
import sys
from pathlib import Path

from tests.packages import install_packages, program

PACKAGES = (
    "debian-archive-keyring",
    "e2fsprogs",
    "linux-image-cloud-amd64",
    "mmdebstrap",
    "qemu-system-x86",
    "util-linux",
)
"""Debian's; KVM is not used, so any x86-64 machine will do."""

PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "setpriv": "util-linux"}
BUILDERS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
"""Program -> package; builders are needed only until the image is there."""

BROKEN_KERNELS = ("6.1.0-55",)
"""Releases in which ext4 falls over a page that memory pressure took away (6.1.192: ext4_mb_load_buddy_gfp)."""
SOUND_KERNEL = "linux-image-6.1.0-50-cloud-amd64"
"""Where Debian has no newer one than a broken one."""

GUEST_PYTHON = (3, 11)
"""Debian bookworm's; compiled packages of the host are carried into the guest."""


def kernel() -> Path | None:
    """The newest of Debian's cloud kernels; it has NVMe and ext4 built in, and starts without an initramfs."""
    found = [path for path in Path("/boot").glob("vmlinuz-*-cloud-amd64") if os.access(path, os.R_OK)]
    return max((path for path in found if not _is_broken(path)), key=_version, default=None)


def _is_broken(path: Path) -> bool:
    return path.name.removeprefix("vmlinuz-").removesuffix("-cloud-amd64") in BROKEN_KERNELS


def _version(path: Path) -> list[int]:
    return [int(part) for part in path.name.replace("-", ".").split(".") if part.isdigit()]


def missing() -> str:
    """One sentence on what this machine lacks; empty when a virtual machine can be booted."""
    from tests.vm.image import image_path

    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"the virtual machines need Linux on x86-64, and this is {sys.platform} on {platform.machine()}"
    if sys.version_info[:2] != GUEST_PYTHON:
        wanted = ".".join(map(str, GUEST_PYTHON))
        return f"the guests have Python {wanted}, and this is {platform.python_version()}: make .venv with {wanted}"
    built = image_path().exists()
    programs = PROGRAMS if built else PROGRAMS | BUILDERS
    packages = {package for name, package in programs.items() if not program(name)}
    if kernel() is None:
        packages.add(SOUND_KERNEL)
    if packages:
        return f"the virtual machines need more packages: apt-get install {' '.join(sorted(packages))}"
    if not built and os.geteuid() != 0:
        return f"only root can build the virtual machines' image {image_path()}: run `python -m tests.vm` as root"
    return ""


def install() -> str:
    """Install what is missing where root and apt-get allow it; returns what is missing then."""
    if not missing():
        return ""
    failed = install_packages(PACKAGES)
    if not failed and kernel() is None:
        failed = install_packages((SOUND_KERNEL,))
    return failed or missing()
