"""The names of the kubelet's state files, where each lies in its folder, and their texts."""

from pathlib import Path

from numafit.errors import InputError

CPU_FILE = "cpu_manager_state"
MEMORY_FILE = "memory_manager_state"
DEVICE_FILE = "kubelet_internal_checkpoint"
STATE_FILES = (CPU_FILE, MEMORY_FILE, DEVICE_FILE)

DEVICE_PLUGINS = "device-plugins"
"""The folder of the device manager: its file lies beside the sockets of the plugins."""

LARGEST_FILE = 64 << 20


def state_path(folder: Path, name: str) -> Path:
    return folder / DEVICE_PLUGINS / name if name == DEVICE_FILE else folder / name


def read_state_files(folder: Path) -> dict[str, str]:
    """The texts of those that are there. Raises InputError for one that is there and cannot be read."""
    found = {name: _text(state_path(folder, name)) for name in STATE_FILES}
    return {name: text for name, text in found.items() if text is not None}


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"more than {LARGEST_FILE >> 20} MiB", source=str(path))
    return data.decode("utf-8", "replace")
