"""The names of the kubelet's state files, and where each lies in its folder."""

from pathlib import Path

CPU_FILE = "cpu_manager_state"
MEMORY_FILE = "memory_manager_state"
DEVICE_FILE = "kubelet_internal_checkpoint"
STATE_FILES = (CPU_FILE, MEMORY_FILE, DEVICE_FILE)

DEVICE_PLUGINS = "device-plugins"
"""The folder of the device manager: its file lies beside the sockets of the plugins."""


def state_path(folder: Path, name: str) -> Path:
    return folder / DEVICE_PLUGINS / name if name == DEVICE_FILE else folder / name
