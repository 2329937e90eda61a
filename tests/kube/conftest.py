"""Tests with a cluster run only where its programs are built."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.build import binaries, missing, missing_for_kubelets
from tests.kube.captured import ARCHIVE
from tests.kube.control_plane import ControlPlane


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """Sockets lie in it, and the path of a socket has at most 107 characters."""
    folder = Path(tempfile.mkdtemp(prefix="numafit-kube-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(short_folder: Path) -> Iterator[ControlPlane]:
    if lacking := missing():
        pytest.skip(lacking)
    with ControlPlane(short_folder / "cluster", binaries()) as own:
        yield own


@pytest.fixture(scope="session")
def kubelets() -> None:
    """Asked for by tests that start one."""
    if lacking := missing_for_kubelets():
        pytest.skip(lacking)
    if not ARCHIVE.exists():
        pytest.skip("the captured machines are not there")
