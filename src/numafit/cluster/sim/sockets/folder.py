"""Where the sockets of a simulated node lie: below its folder as below /var/lib/kubelet."""

import os
import stat
from pathlib import Path

from numafit.cluster.device.socket import KUBELET, LONGEST, PLUGINS, require_unused
from numafit.errors import InputError
from numafit.ledger.state_files import DEVICE_FILE

POD_RESOURCES = "pod-resources"
_FOLDER_MODE = 0o750


def plugins_socket(folder: Path) -> Path:
    return folder / PLUGINS / KUBELET


def pod_resources_socket(folder: Path) -> Path:
    return folder / POD_RESOURCES / KUBELET


def require_short(folder: Path) -> None:
    """Raises InputError where the kernel takes no socket there: its path is too long."""
    longest = max(len(os.fsencode(path.absolute())) for path in (plugins_socket(folder), pod_resources_socket(folder)))
    if longest > LONGEST:
        cure = f"use a state folder with a path that is {longest - LONGEST} bytes shorter, or a shorter node name"
        message = f"the path of a socket in it has {longest} bytes, and {LONGEST} is the most that Linux takes"
        raise InputError(message, source=str(folder), cure=cure)


def make_folders(folder: Path) -> None:
    """Raises InputError, also where another process answers at one of the sockets."""
    require_short(folder)
    for path in (plugins_socket(folder), pod_resources_socket(folder)):
        try:
            path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder: {error.strerror}", source=str(path.parent)) from None
        require_unused(path)


def remove_stale(folder: Path, *, sockets_only: bool) -> None:
    """What a starting kubelet removes from the plugins' folder, which tells plugins to register again.

    With `sockets_only` sockets, else all files but the checkpoint. What cannot be removed is left.
    """
    for path in sorted((folder / PLUGINS).iterdir()):
        try:
            mode = path.stat().st_mode
            if path.name == DEVICE_FILE or stat.S_ISDIR(mode) or (sockets_only and not stat.S_ISSOCK(mode)):
                continue
            path.unlink()
        except OSError:
            continue
