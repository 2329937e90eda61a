"""Programs that tests on real systems need, and Debian's packages that bring them."""

import os
import shutil
import subprocess
from collections.abc import Iterable

PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
INSTALL_SECONDS = 600


def program(name: str) -> str:
    """Its path; empty when it is not installed."""
    return shutil.which(name, path=PATH) or ""


def install_packages(packages: Iterable[str]) -> str:
    """Where root and apt-get allow it, else nothing happens; returns why it failed, if it did."""
    if os.geteuid() != 0 or not program("apt-get"):
        return ""
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
    return ""
