"""Where the programs are looked for."""

from pathlib import Path

import pytest

from numafit.cluster.up.programs import CONTROL_PLANE, found_programs, openssl
from numafit.errors import InputError


def program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_folder_is_looked_into_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of Kubernetes brings no etcd: that one may come from elsewhere."""
    own = {name: program(tmp_path / "own", name) for name in CONTROL_PLANE[1:]}
    etcd = program(tmp_path / "path", "etcd")
    program(tmp_path / "path", "kube-scheduler")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert found_programs(tmp_path / "own") == {"etcd": etcd, **own}


def test_what_is_not_there_is_named_with_a_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as told:
        found_programs(None)
    assert str(told.value) == (
        "etcd, kube-apiserver, kube-controller-manager and kube-scheduler are not on the PATH (docs/cluster-up.md says "
        "where to get them; name their folder with --binaries or NUMAFIT_KUBE_BINARIES)"
    )
    for name in CONTROL_PLANE[1:]:
        program(tmp_path, name)
    with pytest.raises(InputError, match=rf"^etcd is neither in {tmp_path} nor on the PATH"):
        found_programs(tmp_path)
    with pytest.raises(InputError, match="there is no such folder"):
        found_programs(tmp_path / "none")
    with pytest.raises(InputError, match="the program openssl is not on the PATH"):
        openssl()
