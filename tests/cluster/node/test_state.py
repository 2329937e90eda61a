from pathlib import Path

import pytest

from numafit.cluster.node.state import StateReader
from numafit.decision.files import state_files
from numafit.decision.stage import Stage
from numafit.errors import InputError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, state_path
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on


def written(folder: Path, stage: Stage) -> None:
    (folder / "device-plugins").mkdir(exist_ok=True)
    for name, text in state_files(stage.node, stage.ledger).items():
        state_path(folder, name).write_text(text)


@pytest.fixture
def stage() -> Stage:
    return stage_on("gpu8-128cpu")


def test_what_the_files_say_is_read(stage: Stage, tmp_path: Path) -> None:
    busy = with_pods_on(stage, guaranteed("a", 2, gpus=1), guaranteed("b", 4))
    written(tmp_path, busy)
    state = StateReader().read(tmp_path, stage)
    assert (state.ledger.cpu.entries, state.ledger.memory.entries) == (
        busy.ledger.cpu.entries,
        busy.ledger.memory.entries,
    )
    assert list(state.ledger.active) == ["a", "b"]
    assert (state.good, state.notes) == (True, ())


@pytest.mark.parametrize("name", [CPU_FILE, DEVICE_FILE])
def test_a_damaged_file_leaves_the_last_good_value(stage: Stage, tmp_path: Path, name: str) -> None:
    written(tmp_path, with_pods_on(stage, guaranteed("a", 2, gpus=1)))
    reader = StateReader()
    before = reader.read(tmp_path, stage)
    path = state_path(tmp_path, name)
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    state = reader.read(tmp_path, stage)
    assert state.ledger == before.ledger
    assert not state.good
    assert "of before" in state.notes[0].text
    path.write_text(whole)
    assert reader.read(tmp_path, stage) == before


def test_damaged_from_the_beginning_it_is_an_error(stage: Stage, tmp_path: Path) -> None:
    written(tmp_path, stage)
    (tmp_path / CPU_FILE).write_text("{")
    with pytest.raises(InputError):
        StateReader().read(tmp_path, stage)


def test_a_state_over_which_no_kubelet_starts_is_told_as_it_stands(stage: Stage, tmp_path: Path) -> None:
    """The one that wrote it may still run, with a configuration that was not learnt."""
    written(tmp_path, with_pods_on(stage, guaranteed("a", 2)))
    other = stage_on("laptop")
    state = StateReader().read(tmp_path, other)
    assert list(state.ledger.cpu.entries) == ["a"]
    assert not state.good
    assert state.notes[0].code == "node-not-learnt"
