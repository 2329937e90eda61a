"""Scenarios of recordings, played."""

import json
from typing import Any

import pytest

from numafit.errors import InputError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.managers.protocol import Choices
from numafit.replay.cases.scenario import Scenario
from numafit.settings.versions import parse_version

GPU = "nvidia.com/gpu"
MACHINE = {
    "numaNodes": [{"id": i, "memoryBytes": 11 << 30} for i in (0, 1)],
    "cpus": [{"cpu": i, "core": i, "socket": i // 4, "numa": i // 4} for i in range(8)],
}
CONFIG = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "best-effort",
    "nodeAllocatableReservation": {"cpu": "1", "memory": "1Gi"},
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}
DEVICES = [{"resource": GPU, "id": "GPU0", "numa": [0]}, {"resource": GPU, "id": "GPU1", "numa": [1]}]
PLUGINS = [{"resource": GPU, "preferredAllocation": "none", "response": "empty"}]


def add(uid: str, **limits: str) -> dict[str, Any]:
    amounts = {"memory": "1Gi", **limits}
    containers = [{"name": "app", "requests": amounts, "limits": amounts}]
    return {"op": "add", "pod": {"uid": uid, "name": uid, "containers": containers}}


def play(*steps: dict[str, Any], version: str = "v1.36.4", **scenario: Any) -> dict[str, Any]:
    given = {"machine": MACHINE, "config": CONFIG, "devices": DEVICES, "plugins": PLUGINS, "steps": steps, **scenario}
    played = Scenario(json.loads(json.dumps(given)), parse_version(version)).play()
    assert json.loads(json.dumps(played)) == played
    return played


def test_a_start_reports_all_files() -> None:
    """The device file is written by the registration of the plugin."""
    played = play()
    assert (played["start"]["defaultCPUSet"], played["steps"]) == ("0-7", None)
    assert set(played["start"]["files"]) == {CPU_FILE, MEMORY_FILE, DEVICE_FILE}


def test_a_start_that_fails_has_no_steps() -> None:
    """Stage and message, as the kubelet would log them."""
    assert play(add("p", cpu="2"), config={"cpuManagerPolicy": "static"}) == {
        "start": {
            "error": {
                "stage": "cpumanager.NewManager",
                "message": "[cpumanager] unable to determine reserved CPU resources for static policy",
            }
        }
    }


def test_initial_files_are_found_by_the_start() -> None:
    """Here one of another policy."""
    text = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
    assert play(initialFiles={CPU_FILE: text})["start"]["error"]["stage"] == "cpumanager.Start"


def test_pods_come_and_go() -> None:
    """Added, removed with a tick of the loop, removed without, and a tick on its own."""
    steps = play(
        add("a", cpu="2"),
        {"op": "remove", "uid": "a", "reconcile": True},
        add("b", cpu="3"),
        {"op": "remove", "uid": "b"},
        {"op": "reconcile"},
    )["steps"]
    assert [step["op"] for step in steps] == ["add", "remove", "add", "remove", "reconcile"]
    assert [step["defaultCPUSet"] for step in steps] == ["0,3-7", "0-7", "0,4-7", "0,4-7", "0-7"]
    assert [sorted(step["files"]) for step in steps] == [
        [CPU_FILE, MEMORY_FILE],
        [CPU_FILE],
        [CPU_FILE, MEMORY_FILE],
        [],
        [CPU_FILE],
    ]
    assert (steps[0]["qos"], steps[1]["uid"]) == ("Guaranteed", "a")


def test_memory_of_init_containers_goes_when_the_next_one_starts() -> None:
    """The file after the start of the containers differs from the one after the admission."""
    step = add("p", cpu="1")
    step["pod"]["initContainers"] = [{**step["pod"]["containers"][0], "name": "setup"}]
    record = play(step)["steps"][0]
    assert '"setup"' in record["files"][MEMORY_FILE]
    assert '"setup"' not in record["filesAfterStart"][MEMORY_FILE]


def test_a_plugin_sends_a_new_list() -> None:
    """The file shows it at once."""
    steps = play({"op": "devices", "resource": GPU, "devices": [{"id": "GPU1", "numa": [1], "healthy": False}]})[
        "steps"
    ]
    assert '"RegisteredDevices":{"nvidia.com/gpu":[]}' in steps[0]["files"][DEVICE_FILE]


@pytest.mark.parametrize("plugins_first", [True, False])
def test_a_restart_admits_all_pods_again(plugins_first: bool) -> None:
    """Nothing changed, so no file did."""
    limits = {"cpu": "2", GPU: "1"}
    steps = play(add("p", **limits), {"op": "restart", "pluginsFirst": plugins_first})["steps"]
    assert [(each["uid"], each["admitted"]) for each in steps[1]["readmit"]] == [("p", True)]
    assert (steps[1]["defaultCPUSet"], steps[1]["files"]) == ("0,3-7", {})


def test_a_restart_that_fails_ends_the_scenario() -> None:
    """A strict reservation left nothing in the shared pool (1.32 and later)."""
    config = {**CONFIG, "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}
    steps = play(add("p", cpu="7"), {"op": "restart"}, {"op": "reconcile"}, config=config)["steps"]
    assert steps[1:] == [
        {"op": "restart", "error": {"stage": "cpumanager.Start", "message": "default cpuset cannot be empty"}}
    ]


def test_a_crash_ends_the_scenario() -> None:
    """A page size that no node lists (1.21 to 1.36)."""
    limits = {"cpu": "1", "hugepages-2Mi": "2Mi"}
    steps = play(add("p", **limits), {"op": "reconcile"})["steps"]
    assert [step["panic"] for step in steps] == ["runtime error: invalid memory address or nil pointer dereference"]


def test_each_admission_has_choices_of_its_own() -> None:
    """Step -1 is the start; in a restart pod -1 is the start and the others are counted."""
    asked: list[tuple[int, int]] = []

    def choices(step: int, index: int) -> Choices:
        asked.append((step, index))
        return Choices()

    steps = [add("a", cpu="1"), add("b", cpu="1"), {"op": "restart"}]
    Scenario({"machine": MACHINE, "config": CONFIG, "steps": steps}, parse_version("v1.36.4"), choices).play()
    assert asked == [(-1, -1), (0, 0), (1, 0), (2, -1), (2, 0), (2, 1)]


def test_a_step_without_its_pod_is_bad_input() -> None:
    """One sentence with the place."""
    with pytest.raises(InputError, match=r"^steps\[0\]\.pod: a step that adds a pod has no pod"):
        play({"op": "add"})
