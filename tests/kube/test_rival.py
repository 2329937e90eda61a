"""The topology-match plugin of scheduler-plugins beside the placer, where it is built."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.build import binaries, missing, missing_for_rival
from tests.kube.counted.ways import RIVAL
from tests.kube.rival.cases import CASES
from tests.kube.rival.judge import RAN, REJECTED, WAITS, judged

pytestmark = pytest.mark.real


@pytest.fixture
def folder() -> Iterator[Path]:
    """Outside the folders of pytest, whose names are too long for sockets."""
    if lacking := missing():
        pytest.skip(lacking)
    own = Path(tempfile.mkdtemp(prefix="numafit-rival-"))
    yield own
    shutil.rmtree(own, ignore_errors=True)


def test_the_rival_lets_through_what_kubelets_reject_and_keeps_what_they_would_take(folder: Path) -> None:
    if lacking := missing_for_rival():
        pytest.skip(lacking)
    found, by_hand = judged(RIVAL, folder, binaries())
    assert by_hand == {case.name: RAN if case.admitted else REJECTED for case in CASES}
    assert found == {case.name: by_hand[case.name] if case.let_through else WAITS for case in CASES}


def test_the_placer_lets_through_what_the_kubelet_takes_and_nothing_else(folder: Path) -> None:
    found, by_hand = judged("place", folder, binaries())
    assert by_hand == {case.name: RAN if case.admitted else REJECTED for case in CASES}
    assert found == {case.name: RAN if case.admitted else WAITS for case in CASES}
