"""`numafit measure` as it is typed, on whatever machine runs the tests."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.host.measure.survey import MachineSurvey

QUICK = ["--size", "1Mi", "--rounds", "1"]


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def typed(*words: str) -> int:
    return main(["measure", *words])


@pytest.mark.parametrize(
    "words",
    [
        ["--size", "1Ki"],
        ["--size", "much"],
        ["--rounds", "0"],
        ["--node", "0"],
        ["--cpus", "1"],
        ["--kept", "--", "true"],
        ["-o", "svg", "--", "true"],
        ["--kept"],
    ],
)
def test_bad_input_is_one_sentence(words: list[str], ledger: Path) -> None:
    """And nothing is measured or made."""
    assert typed(*words) == 2
    assert not ledger.exists()


def test_a_machine_is_measured_and_kept(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure of it is of this machine; `machine show` shows it."""
    assert typed(*QUICK, "-o", "json") == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["pairs"]
    assert all(pair["bytesPerSecond"]["middle"] > 0 for pair in measured["pairs"])
    assert [file.name for file in ledger.iterdir()] == [f"measured-{measured['machine']}.json"]
    assert typed("--kept", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out) == measured
    assert main(["machine", "show"]) == 0
    assert f"measured {measured['at']}" in capsys.readouterr().out
    assert main(["machine", "show", "--machine", "laptop"]) == 0
    assert "measured" not in capsys.readouterr().out


def test_one_node_is_said_to_have_nothing_to_compare(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A command is not run for nothing."""
    assert typed(*QUICK, "-o", "json") == 0
    if json.loads(capsys.readouterr().out)["comparable"]:
        pytest.skip("this machine has several NUMA nodes")
    assert typed("--", "touch", str(tmp_path / "run")) == 0
    assert capsys.readouterr().out == "one NUMA node has memory: there is nothing to compare, and touch was not run\n"
    assert typed("-o", "json", "--", "true") == 0
    assert json.loads(capsys.readouterr().out)["comparable"] is False
    assert not (tmp_path / "run").exists()


def test_ctrl_c_shows_what_is_there_and_keeps_nothing(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A survey that was kept before stays."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MachineSurvey, "_check_places", stop)
    assert typed(*QUICK, "-o", "json") == 130
    measured = json.loads(capsys.readouterr().out)
    assert (measured["whole"], bool(measured["pairs"])) == (False, True)
    assert not ledger.exists()


def test_what_cannot_be_kept_is_shown_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "file"))
    assert typed(*QUICK) == 0
    found = capsys.readouterr()
    assert "read bandwidth" in found.out
    assert "not kept: " in found.err
