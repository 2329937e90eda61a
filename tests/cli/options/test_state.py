from pathlib import Path

import pytest

from numafit.cli.options.state import state_of, state_paths
from numafit.errors import InputError


def test_the_device_managers_file_lies_in_a_folder_of_its_own(tmp_path: Path) -> None:
    devices = tmp_path / "device-plugins"
    devices.mkdir()
    (devices / "kubelet_internal_checkpoint").write_text("{}")
    (tmp_path / "cpu_manager_state").write_text("cpus")
    (tmp_path / "other").write_text("")
    assert state_of(tmp_path) == {"cpu_manager_state": "cpus", "kubelet_internal_checkpoint": "{}"}
    assert state_paths(tmp_path)["kubelet_internal_checkpoint"].parent == devices


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        state_of(tmp_path / "there")
