"""Whole runs of real kubelets (1.36.3 and 1.36.4), step by step: everything that happens to a node."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from numafit.replay.outcomes import Json
from numafit.replay.runs.compare import unlike
from tests.runs.folder import arguments_of, read_run, runs_in

RUNS = [*runs_in("kubelet-runs2"), *runs_in("kubelet-runs")]
STARTS = ("bad-configs",)
"""Nothing happens in them but starts."""
CHANCE = ("out-of-static-pods",)
"""The order of static pods at a restart decides, and this run had another one than numafit takes."""

if not RUNS:
    pytest.skip("the shared runs of the kubelet are not there", allow_module_level=True)

PLAYED = [pytest.param(folder, id=folder.name) for folder in RUNS if folder.name not in STARTS]
SHOWN = ("decisions", "files", "crash")
"""What JSON has of an event; the rest is compared by replay."""
KINDS = {"add": "admission", "restart": "admission", "evict": "eviction", "resize": "resize"}


def said(entry: dict[str, Any]) -> Json:
    """An entry of `events` in the words of what was seen."""
    decisions = [
        {
            "pod": each["pod"],
            "kind": KINDS[each.get("event", "add")],
            "admitted": each["admitted"],
            "reason": each.get("reason", ""),
            "message": each.get("message", ""),
        }
        for each in entry["decisions"]
    ]
    return {"decisions": decisions} | {name: own for name, own in entry.items() if name not in ("event", "decisions")}


@pytest.mark.parametrize("folder", PLAYED)
def test_every_event_of_a_run_has_the_end_that_it_had(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the door: verdicts, victims, resizes, crashes, and the node after each event."""
    run = read_run(folder)
    status = main(["simulate", *arguments_of(run, tmp_path), "--files", "-o", "json"])
    captured = capsys.readouterr()
    assert status in (0, 1), captured.err
    events = json.loads(captured.out)["events"]
    assert [entry["event"] for entry in events] == [line for step in run.played.steps for line in step.lines]
    for number, (seen, entry) in enumerate(zip(run.expected, events, strict=True)):
        seen = {name: own for name, own in seen.items() if name in SHOWN}
        found = unlike(seen, said(entry), f"{number} {entry['event']}")
        if found is not None and folder.name in CHANCE and entry["event"].startswith("restart"):
            return
        assert found is None, str(found)


@pytest.mark.parametrize("folder", PLAYED)
def test_a_run_is_replayed_from_its_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the node's allocatable after each event, and where chance decides as it did."""
    status = main(["replay", str(folder)])
    captured = capsys.readouterr()
    assert status == 0, captured.out + captured.err
    (row,) = [line.split() for line in captured.out.splitlines() if " run " in line]
    expected = ["0", "1", "0", "0"] if folder.name in CHANCE else ["1", "0", "0", "0"]
    assert row[3:] == expected, captured.out


@pytest.mark.parametrize("folder", [pytest.param(own, id=own.name) for own in RUNS if own.name in CHANCE])
def test_what_chance_made_of_a_restart_is_among_the_outcomes_that_are_listed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = read_run(folder)
    assert main(["simulate", *arguments_of(run, tmp_path), "--outcomes", "100", "-o", "json"]) in (0, 1)
    events = json.loads(capsys.readouterr().out)["events"]
    number = next(i for i, entry in enumerate(events) if entry["event"].startswith("restart"))
    shown = {each["pod"]: each["admitted"] for each in events[number]["decisions"]}
    listed: dict[str, dict[str, bool]] = {}
    for each in events[number]["decisions"]:
        assert each.get("outcomes", {}).get("extent", "all") == "all"
        for other in each.get("outcomes", {}).get("others", ()):
            listed.setdefault(json.dumps(other["depends"]), dict(shown))[each["pod"]] = other["admitted"]
    seen = {each["pod"]: each["admitted"] for each in run.expected[number]["decisions"]}
    assert seen != shown
    assert seen in listed.values()
