"""The events of a run as a table, and told."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.__main__ import main
from numafit.decision.effects import told_events
from numafit.decision.history.lines import line_of, read_events
from numafit.decision.simulation import Simulation, play_events
from numafit.show.records.simulation import simulation_record
from numafit.show.records.story import events_explained
from numafit.show.table import Screen
from numafit.show.text.events import events_story, events_table
from tests.advice.stages import stage
from tests.decision.strategies import GPU, container, cpus, pod

TRAIN = pod("train", cpus("app", "2", {GPU: "1"}))
WIDE = pod("wide", cpus("app", "9"))
LATER = pod("later", cpus("app", "2", {GPU: "1"}))


def played(text: str) -> Simulation:
    pods = [own for own in (TRAIN, WIDE, LATER) if own.name in text]
    return play_events(stage().situation, read_events(text, "events", pods))


RUN = "add pod-train pod-wide\nstop\nadd pod-later\nstop\nstart reboot plugins=late"


def test_each_event_stands_above_its_decisions_and_effects() -> None:
    table, why, _ = events_table(played(RUN)).split("\n\n")
    assert table.splitlines() == [
        "   POD                QOS         VERDICT                   NUMA  CPUS  MEMORY  DEVICES",
        "1. add pod-train pod-wide",
        "   default/pod-train  Guaranteed  admitted                  0     1,9   1Gi@0   GPU0",
        "   default/pod-wide   Guaranteed  TopologyAffinityError     -     -     -       -",
        "2. stop",
        "3. add pod-later",
        "   default/pod-later: waits: the kubelet is down",
        "4. stop",
        "   no effect: it is down already",
        "5. start reboot plugins=late",
        "   default/pod-train  Guaranteed  UnexpectedAdmissionError  -     1,9   1Gi@0   GPU0",
        "   default/pod-later  Guaranteed  UnexpectedAdmissionError  -     -     -       -",
        "   default/pod-train: ran, and loses its place (UnexpectedAdmissionError)",
    ]
    assert [line.partition(":")[0] for line in why.splitlines()] == [
        "default/pod-wide (event 1)",
        "default/pod-train (event 5)",
        "default/pod-later (event 5)",
    ]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_on_a_screen_no_line_of_the_table_is_wider(width: int) -> None:
    """Long lines of events go on in the next line, and rows as in any table."""
    table = events_table(played(RUN), screen=Screen(width)).split("\n\n")[0]
    assert max(map(len, table.splitlines())) <= width
    assert table.splitlines()[1] == "1. add pod-train pod-wide"


def test_a_run_without_decisions_has_no_heads() -> None:
    assert events_table(play_events(stage().situation, read_events("stop", "events", []))).splitlines()[0] == "1. stop"


def test_who_keeps_his_place_is_told_in_a_line() -> None:
    """The merge of the second admission says nothing new."""
    told = events_story(played("add pod-train\nadd pod-wide\nrestart"), "default/pod-train").split("\n\n")
    assert told[-2:] == [
        "3. restart",
        "default/pod-train (Guaranteed): keeps its place\n  CPUs 1,9, 1Gi@0, GPU0",
    ]


def test_a_kubelet_that_does_not_start_again_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configuration that it refuses over the same state."""
    node = Path(__file__).resolve().parents[3] / "examples" / "small-node"
    (tmp_path / "none.yaml").write_text((node / "kubelet.yaml").read_text().replace("static", "none", 1))
    (tmp_path / "events").write_text("restart config=none.yaml\nadd train\n")
    arguments = [str(node), "--kube-version", "1.36", "--events", str(tmp_path / "events")]
    assert main(["simulate", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("   the kubelet does not start: ")
    assert lines[-1] == "- kubelet: it is down at the end, so default/train was not decided"
    assert lines[-2].startswith(f"- event 1: the kubelet does not start again: {tmp_path / 'none.yaml'}")
    assert main(["explain", *arguments, "--pod", "train"]) == 0
    assert capsys.readouterr().out.startswith("2. add train\n   default/train: waits: the kubelet is down\n")


NODE = Path(__file__).resolve().parents[3] / "examples" / "reboot"


def test_who_is_evicted_stands_above_whom_he_goes_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with a decision of its own, in the table, in JSON and in the story of both."""
    run = NODE / "critical"
    node = ["--machine", str(NODE / "machine.json"), "--kubelet", str(NODE / "kubelet.yaml"), "--kube-version", "1.36"]
    arguments = [*node, "--events", str(run / "events.txt"), str(run / "pods.yaml")]
    assert main(["simulate", *arguments]) == 0
    rows = [line.split()[:3] for line in capsys.readouterr().out.split("\n\n")[0].splitlines()[-4:]]
    assert rows == [
        ["3.", "add", "agent"],
        ["default/batch", "Burstable", "evicted"],
        ["kube-system/agent", "Burstable", "admitted"],
        ["default/web", "Burstable", "allocated"],
    ]
    assert main(["simulate", *arguments, "-o", "json"]) == 0
    last = json.loads(capsys.readouterr().out)["events"][-1]
    assert [(one["pod"], one["event"]) for one in last["decisions"]] == [
        ("default/batch", "evict"),
        ("kube-system/agent", "add"),
        ("default/web", "resize"),
    ]
    for name in ("batch", "agent"):
        assert main(["explain", *arguments, "--pod", name]) == 0
        assert "default/batch (Burstable): evicted, Preempting\n" in capsys.readouterr().out


def test_the_picture_of_each_event_has_its_number(tmp_path: Path) -> None:
    """And shows devices that came with an event."""
    events = ["--events", str(NODE / "events.txt"), "--picture", str(tmp_path / "after-{n}.svg")]
    assert main(["simulate", str(NODE), *events]) == 0
    pictures = {path.name: "n0" in path.read_text() for path in tmp_path.iterdir()}
    assert pictures == {f"after-{number}.svg": number > 1 for number in range(1, 9)}


def test_files_go_with_events_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(NODE), "--files"]) == 2
    assert "--files: goes with --events or --past, and -o json or yaml only" in capsys.readouterr().err


PODS = [
    pod("a", cpus("app", "2", {GPU: "1"})),
    pod("b", cpus("app", "2", {"lab.io/nic": "1"}), init=[cpus("first", "1")]),
    replace(pod("c", container("app", requests={"cpu": "5"})), priority=2_000_001_000),
    pod("d", container("app", requests={"cpu": "5"})),
    replace(pod("e", cpus("app", "1")), static=True),
]
LINES = (
    *(f"{word} pod-{own.uid}" for own in PODS for word in ("add", "remove")),
    *("reconcile", "restart", "restart reboot plugins=late", "restart plugins=never", "stop", "start"),
    *("plugin-start lab.io/nic n0@1", "devices lab.io/nic !n0@1", "plugin-stop lab.io/nic", f"plugin-stop {GPU}"),
    *("resize pod-d app requests.cpu=9", "resize pod-d app requests.cpu=1", "exit pod-a app", "exit pod-b app"),
    "capacity lab.io/thing=3",
)


@given(lines=st.lists(st.sampled_from(LINES), max_size=12))
def test_whatever_happens_is_told_alike_everywhere(lines: list[str]) -> None:
    """Each event once, with those of all decisions that it caused, in the table, the stories and the records."""
    events = read_events("\n".join(lines), "events", PODS)
    on = stage()
    simulation = play_events(on.situation, events)
    notes = on.notes_on(simulation)
    answer = simulation_record(simulation, notes, events=True, event_files=True)
    assert isinstance(answer.events, tuple)
    assert [event.event for event in answer.events] == [event.line for event in events]
    assert tuple(decision for event in answer.events for decision in event.decisions) == answer.decisions
    told = events_explained(simulation, "", notes)
    assert [story.pod for story in told.stories] == [decision.pod for decision in answer.decisions]
    table = events_table(simulation, notes, wide=True).splitlines()
    story = events_story(simulation).splitlines()
    for number, event in enumerate(events, 1):
        assert f"{number}.".ljust(len(str(len(events))) + 2) + event.line in table
        assert f"{number}. {event.line}" in story
    for own in PODS:
        for each in told_events(simulation, own.full_name):
            assert each.steps or each.effects or own.name in line_of(each.happened.event)
