"""What a machine needs for these tests, and how to get it."""

import os
import shutil
import subprocess
import sys

PROGRAMS = {"dockerd": "docker.io", "docker": "docker.io", "containerd": "containerd", "busybox": "busybox-static"}
"""Program -> Debian's package."""
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
INSTALL_SECONDS = 300


def program(name: str) -> str:
    """Its path; empty when it is not installed."""
    return shutil.which(name, path=PATH) or ""


def missing() -> str:
    """One sentence on what this machine lacks; empty when an engine can be started."""
    if sys.platform != "linux":
        return f"a Docker engine needs Linux, and this is {sys.platform}"
    if os.geteuid() != 0:
        return "only root can start a Docker engine"
    if len(os.sched_getaffinity(0)) < 2:
        return "two CPUs are needed, and this process may use one"
    packages = sorted({package for name, package in PROGRAMS.items() if not program(name)})
    return f"packages are not installed: apt-get install {' '.join(packages)}" if packages else ""


def install() -> str:
    """Install what is missing where root and apt-get allow it; returns what is missing then."""
    packages = sorted({package for name, package in PROGRAMS.items() if not program(name)})
    if not packages or os.geteuid() != 0 or not program("apt-get"):
        return missing()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            [program("apt-get"), *words],
            env=environment,
            timeout=INSTALL_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return f"`apt-get {words[0]}` failed: {done.stderr.strip()[-500:]}"
    return missing()
