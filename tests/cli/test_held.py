"""A folder in memory reads like any other."""

from pathlib import Path

import pytest

from numafit.cli.files import manifest_paths, read_bytes, read_text
from numafit.cli.held import HeldPath
from numafit.errors import InputError

FOLDER = HeldPath.folder("node gpu-1", {"pods.json": b"{}", "kubelet.yaml": b"a: 1", "README.md": b"text"})


def test_its_files_are_listed_and_read() -> None:
    assert FOLDER.is_dir()
    assert isinstance(FOLDER, Path)
    paths = manifest_paths([FOLDER])
    assert [str(path) for path in paths] == ["node gpu-1/kubelet.yaml", "node gpu-1/pods.json"]
    assert [path.stem for path in paths] == ["kubelet", "pods"]
    assert [read_text(path) for path in paths] == ["a: 1", "{}"]
    assert all(path.is_file() and path.exists() and not path.is_dir() for path in paths)


def test_what_is_not_in_it_is_not_there() -> None:
    path = FOLDER / "machine.yaml"
    assert not path.exists()
    assert not path.is_file()
    with pytest.raises(InputError) as error:
        read_bytes(path)
    assert str(error.value) == "node gpu-1/machine.yaml: cannot be read: No such file"
