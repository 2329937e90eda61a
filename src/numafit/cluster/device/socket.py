"""Sockets in the kubelet's folder for device plugins: whose they are, and whether one was made anew."""

import hashlib
import os
import socket
from pathlib import Path

from numafit.errors import InputError

ROOT = Path("/var/lib/kubelet")
PLUGINS = "device-plugins"
"""The folder of these sockets in the kubelet's root."""
KUBELET = "kubelet.sock"
LONGEST = 107
"""Bytes that the path of a unix socket has at most."""

Identity = tuple[int, int, int]
"""Of a file: another one under the same name differs."""


def identity(path: Path) -> Identity | None:
    """None where there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    # An inode number is given anew at once; the time tells the two apart.
    return found.st_dev, found.st_ino, found.st_ctime_ns


def own_socket(folder: Path, resource: str) -> Path:
    """One for each resource. A name that makes the path too long for the kernel is shortened to a digest."""
    path = folder / f"numafit-{resource.replace('/', '_')}.sock"
    if len(os.fsencode(path)) > LONGEST:
        path = folder / f"numafit-{hashlib.sha256(resource.encode()).hexdigest()[:12]}.sock"
    if len(os.fsencode(path)) > LONGEST:
        raise InputError(f"the path of a socket in it has more than {LONGEST} bytes", source=str(folder))
    return path


def require_unused(path: Path) -> None:
    """Raises InputError where somebody answers; what a killed process left behind is in nobody's way."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return
    raise InputError(
        "another process answers at this socket", source=str(path), cure="is this device plugin running already?"
    )
