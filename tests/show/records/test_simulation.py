"""A simulation as a record: which keys an answer has, and in which order."""

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.files import state_files
from numafit.decision.history.lines import read_events
from numafit.decision.history.situation import situation_of
from numafit.decision.history.step import Step
from numafit.decision.simulation import Simulation, play_events
from numafit.show.records.simulation import simulation_record
from tests.advice.stages import stage
from tests.decision.strategies import GPU, box, container, cpus, gpus, pod, running, settings


def crash() -> Simulation:
    """A device that the plugin no longer lists is held by a pod that is admitted again."""
    node, ledger = running(box(2, 4, devices=gpus(0, 1)), settings(topology="restricted"))
    held = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    held = replace(held, device=replace(held.device, devices={GPU: {"GPU1": gpus(0, 1)[1]}}))
    decision = admit(node, held, pod("p", container("app", {GPU: "1"})))
    return Simulation(situation_of(node, held, {}), (), (Step(decision, decision.ledger),))


def decisions(simulation: Simulation, *, with_files: bool = True) -> list[dict[str, Any]]:
    data = msgspec.json.encode(simulation_record(simulation, with_files=with_files))
    found: list[dict[str, Any]] = json.loads(data)["decisions"]
    return found


HEAD = ["pod", "qos", "uid", "admitted", "merges"]


@pytest.mark.parametrize(
    ("simulation", "keys"),
    [
        (
            stage().play([pod("a", cpus("app", "2", {GPU: "1"}), init=[cpus("first", "4")])]),
            [*HEAD, "pluginCalls", "containers", "defaultCPUSet", "files", "filesAfterStart"],
        ),
        (
            stage().play([pod("a", cpus("app", "9"))]),
            [*HEAD, "containers", "reason", "message", "defaultCPUSet", "files"],
        ),
        (crash(), [*HEAD, "reason", "message", "panic", "defaultCPUSet", "files"]),
    ],
    ids=["admitted", "rejected", "crash"],
)
def test_a_decision_has_the_keys_of_its_kind_in_their_order(simulation: Simulation, keys: list[str]) -> None:
    """Programs compare answers as text; what does not apply is left out, what is empty is not."""
    (found,) = decisions(simulation)
    assert list(found) == keys


def test_files_are_left_out_where_nobody_reads_them() -> None:
    """The rest is the same."""
    simulation = stage().play([pod("a", cpus("app", "2"))])
    (whole,), (short,) = decisions(simulation), decisions(simulation, with_files=False)
    assert short == {name: value for name, value in whole.items() if not name.startswith("files")}


def test_a_resource_without_free_devices_is_not_left() -> None:
    """Memory without a free byte is."""
    simulation = stage().play([pod("a", cpus("app", "2", {GPU: "1"}))])
    left = simulation_record(simulation).left
    assert [list(free.devices) for free in left] == [[], [GPU]]
    assert [[block.type for block in free.memory] for free in left] == [["memory"], ["memory"]]


def test_each_event_has_its_entry_with_those_decisions_that_it_caused() -> None:
    """Keys only where they say something; the same decisions stand flat beside it."""
    text = "add pod-a\nstop\nstop\nadd pod-b\nstart reboot plugins=late"
    pods = [pod("a", cpus("app", "2", {GPU: "1"})), pod("b", cpus("app", "2"))]
    simulation = play_events(stage().situation, read_events(text, "events", pods))
    answer = simulation_record(simulation, events=True, event_files=True)
    found = json.loads(msgspec.json.encode(answer))
    assert list(found) == ["kubeVersion", "reservedCPUs", "decisions", "events", "left", "stale", "notes"]
    assert [decision["event"] for decision in found["decisions"]] == ["add", "restart", "restart"]
    assert [decision for event in found["events"] for decision in event["decisions"]] == found["decisions"]
    assert [list(event) for event in found["events"]] == [
        ["event", "decisions", "files"],
        ["event", "decisions", "files"],
        ["event", "decisions", "files", "noEffect"],
        ["event", "decisions", "effects", "files"],
        ["event", "decisions", "effects", "files"],
    ]
    assert found["events"][2]["noEffect"] == "it is down already"
    assert found["events"][4]["effects"] == [
        {
            "kind": "lost-place",
            "pod": "default/pod-a",
            "text": "ran, and loses its place (UnexpectedAdmissionError)",
            "reason": "UnexpectedAdmissionError",
        }
    ]
    end = simulation.end
    assert found["events"][4]["files"] == state_files(end.node, end.ledger)
    assert set(found["events"][0]["files"]) == {
        "cpu_manager_state",
        "memory_manager_state",
        "kubelet_internal_checkpoint",
    }
