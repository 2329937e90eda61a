"""What a machine needs for these tests, and how to get it."""

import os
import sys

from tests.packages import install_packages, program

PROGRAMS = {"dockerd": "docker.io", "docker": "docker.io", "containerd": "containerd", "busybox": "busybox-static"}
"""Program -> Debian's package."""


def missing() -> str:
    """One sentence on what this machine lacks; empty when an engine can be started."""
    if sys.platform != "linux":
        return f"a Docker engine needs Linux, and this is {sys.platform}"
    if os.geteuid() != 0:
        return "only root can start a Docker engine"
    if len(os.sched_getaffinity(0)) < 2:
        return "two CPUs are needed, and this process may use one"
    packages = _packages()
    return f"packages are not installed: apt-get install {' '.join(packages)}" if packages else ""


def install() -> str:
    """Install what is missing where root and apt-get allow it; returns what is missing then."""
    packages = _packages()
    return (install_packages(packages) if packages else "") or missing()


def _packages() -> list[str]:
    return sorted({package for name, package in PROGRAMS.items() if not program(name)})
