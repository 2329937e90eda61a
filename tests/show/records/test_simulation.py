"""A simulation as a record: which keys an answer has, and in which order."""

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.history.situation import situation_of
from numafit.decision.history.step import Step
from numafit.decision.simulation import Simulation
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
