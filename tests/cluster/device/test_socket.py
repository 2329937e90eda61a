"""Sockets in the kubelet's folder."""

from pathlib import Path

import pytest

from numafit.cluster.device.socket import LONGEST, identity, own_socket
from numafit.errors import InputError


def test_a_file_made_anew_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "s"
    assert identity(path) is None
    path.touch()
    first = identity(path)
    assert first == identity(path)
    path.unlink()
    path.touch()
    assert identity(path) not in (None, first)


def test_each_resource_has_its_socket() -> None:
    folder = Path("/var/lib/kubelet/device-plugins")
    assert own_socket(folder, "example.com/fpga") == folder / "numafit-example.com_fpga.sock"


def test_a_long_name_is_shortened_and_a_long_folder_refused() -> None:
    """The kernel takes no longer path."""
    folder = Path("/var/lib/kubelet/device-plugins")
    names = {own_socket(folder, f"{'x' * 200}.com/{letter}") for letter in "ab"}
    assert len(names) == 2
    assert all(len(str(name)) <= LONGEST for name in names)
    with pytest.raises(InputError, match="more than 107 bytes"):
        own_socket(Path("/" + "x" * 100), "example.com/fpga")
