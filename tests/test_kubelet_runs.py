"""Whole runs of the real kubelet 1.36.4: machine, configuration and manifests in, every pod must come out the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
RUNS = sorted((SHARED / "kubelet-runs").glob("*/result.json"))

if not RUNS:
    pytest.skip("the shared runs of the kubelet are not there", allow_module_level=True)


def node_of(run: Path) -> list[str]:
    """The options that describe it."""
    case = json.loads((run / "case.json").read_text())
    machine = SHARED / "captures" / (run / "machine").read_text().strip() / "sys.tgz"
    devices = [part for spec in case.get("devices") or () for part in ("--device", spec)]
    return ["--machine", str(machine), "--kubelet", str(run / "kubelet-config.json"), *devices]


def simulated(run: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    status = main(["simulate", *node_of(run), "-o", "json", str(run / "manifests")])
    captured = capsys.readouterr()
    assert status in (0, 1), captured.err
    decisions: list[dict[str, Any]] = json.loads(captured.out)["decisions"]
    return decisions


def blocks(entries: list[dict[str, Any]]) -> list[tuple[str, int, list[int]]]:
    return sorted((block["type"], block["size"], block["numaAffinity"]) for block in entries)


def places(decision: dict[str, Any]) -> dict[tuple[str, str], list[int]]:
    """(container, resource) -> the NUMA node of each device. Which of equal devices is taken is random."""
    return {
        (name, resource): sorted(node for nodes in devices.values() for node in nodes)
        for name, own in decision["containers"].items()
        for resource, devices in own.get("devices", {}).items()
    }


def recorded_places(step: dict[str, Any]) -> dict[tuple[str, str], list[int]]:
    entries = (step.get("device_checkpoint") or {}).get("Data", {}).get("PodDeviceEntries") or ()
    return {
        (entry["ContainerName"], entry["ResourceName"]): sorted(
            int(node) for node, ids in entry["DeviceIDs"].items() for _ in ids
        )
        for entry in entries
        if entry["PodUID"] == step["uid"]
    }


@pytest.mark.parametrize("result", RUNS, ids=lambda path: path.parent.name)
def test_every_pod_of_a_run_is_decided_as_the_kubelet_did(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, reason, message, exclusive CPUs, memory blocks, places of devices, the shared pool (1.36.4)."""
    steps = json.loads(result.read_text())["steps"]
    decisions = simulated(result.parent, capsys)
    assert [decision["pod"].partition("/")[2] for decision in decisions] == [step["pod"] for step in steps]
    for step, decision in zip(steps, decisions, strict=True):
        message = (step["message"] or "").removeprefix("Pod was rejected: ")
        verdict = (decision["admitted"], decision.get("reason"), decision.get("message", ""))
        assert verdict == (step["reason"] is None, step["reason"], message), step["pod"]
        if not decision["admitted"]:
            continue
        cpu = step["cpu_manager_state"]
        memory = step.get("memory_manager_state") or {}
        own_memory = memory.get("entries", {}).get(step["uid"], {})
        containers = decision["containers"].items()
        assert {name: own["cpus"] for name, own in containers if "cpus" in own} == cpu.get("entries", {}).get(
            step["uid"], {}
        )
        assert {name: blocks(own["memory"]) for name, own in containers if "memory" in own} == {
            name: blocks(own) for name, own in own_memory.items()
        }
        assert decision["defaultCPUSet"] == cpu["defaultCpuSet"]
        assert places(decision) == recorded_places(step)


@pytest.mark.parametrize("result", RUNS, ids=lambda path: path.parent.name)
def test_the_pods_that_a_kubelet_lists_come_to_sit_where_they_sat(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own list, with all that it and the API write: rejected pods are left out, the others play by their start."""
    run = result.parent
    status = main(["simulate", *node_of(run), "-o", "json", str(run / "pods.json")])
    assert status == 0, capsys.readouterr().err
    decisions = json.loads(capsys.readouterr().out)["decisions"]
    listed = {pod["metadata"]["name"]: pod for pod in json.loads((run / "pods.json").read_text())["items"]}
    alive = {name: pod["metadata"]["uid"] for name, pod in listed.items() if pod["status"]["phase"] != "Failed"}
    held = json.loads((run / "cpu_manager_state").read_text()).get("entries") or {}
    found = {
        decision["pod"].partition("/")[2]: {
            n: own["cpus"] for n, own in decision["containers"].items() if "cpus" in own
        }
        for decision in decisions
    }
    assert found == {name: held.get(uid, {}) for name, uid in alive.items()}


@pytest.mark.parametrize("result", RUNS, ids=lambda path: path.parent.name)
def test_the_pods_that_a_kubelet_rejected_are_rejected_again(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over those that run, whatever else came and went."""
    run = result.parent
    main(["simulate", *node_of(run), "-o", "json", "--rejected", str(run / "pods.json")])
    found = {
        decision["pod"].partition("/")[2]: decision.get("reason")
        for decision in json.loads(capsys.readouterr().out)["decisions"]
    }
    listed = json.loads((run / "pods.json").read_text())["items"]
    assert found == {pod["metadata"]["name"]: pod["status"].get("reason") for pod in listed}
