"""A run as the options and the event file of `numafit simulate`."""

import json
from pathlib import Path
from typing import Any

import msgspec

from numafit.cli.kubelet.run_folder import expected_events, is_static, node_options
from numafit.replay.outcomes import Json
from numafit.replay.runs.steps import BASE, Played, played

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


class WholeRun(msgspec.Struct, frozen=True):
    folder: Path
    case: dict[str, Any]
    steps: list[dict[str, Any]]
    played: Played

    @property
    def expected(self) -> list[Json]:
        """One entry for each line of the event file."""
        return expected_events(self.played, self.steps, static=is_static(self.case))


def runs_in(name: str) -> list[Path]:
    return sorted(result.parent for result in (SHARED / name).glob("*/result.json"))


def read_run(folder: Path) -> WholeRun:
    case, result = (json.loads((folder / name).read_text()) for name in ("case.json", "result.json"))
    return WholeRun(folder, case, result["steps"], played(case, json.loads((folder / BASE).read_text())))


def arguments_of(run: WholeRun, work: Path) -> list[str]:
    """What a person would type; files that a run does not have as such are written to `work`."""
    options = node_options(run.folder, run.case)
    arguments = ["--machine", str(options.machines[0]), "--kubelet", str(options.kubelet)]
    arguments += ["--kube-version", str(options.kube_version)]
    for name, value in (("--config-dir", options.config_dir), ("--kubelet-env", options.kubelet_env)):
        arguments += [name, str(value)] if value is not None else []
    for devices in options.devices:
        arguments += ["--device", devices]
    allocatable = run.steps[0].get("node_allocatable")
    if allocatable:
        (work / "node.json").write_text(json.dumps(_node(str(options.kube_version), allocatable)))
        arguments += ["--node-object", str(work / "node.json")]
    for name, config in run.played.configs.items():
        (work / name).write_text(json.dumps(config))
    events = work / "events"
    events.write_text("\n".join(line for step in run.played.steps for line in step.lines) + "\n")
    return [*arguments, "--events", str(events), *_manifests(run, work)]


def _node(version: str, allocatable: dict[str, str]) -> dict[str, Any]:
    """The disk alone: the rest is computed."""
    status = {
        "nodeInfo": {"kubeletVersion": version},
        "allocatable": {"ephemeral-storage": allocatable["ephemeral-storage"]},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "status": status}


def _manifests(run: WholeRun, work: Path) -> list[str]:
    """Those that an event adds. Static pods say so, with the UIDs that the kubelet gave them."""
    lines = [line for step in run.played.steps for line in step.lines if line.startswith("add ")]
    added = {name for line in lines for name in line.split()[1:]}
    uids = {step["pod"]: step["uid"] for step in run.steps if step.get("uid")}
    paths = []
    for path in sorted((run.folder / "manifests").iterdir()):
        manifest = json.loads(path.read_text())
        metadata = manifest["metadata"]
        if metadata["name"] not in added:
            continue
        if is_static(run.case):
            metadata["uid"] = uids[metadata["name"]]
            metadata.setdefault("annotations", {})["kubernetes.io/config.source"] = "file"
        (work / path.name).write_text(json.dumps(manifest))
        paths.append(str(work / path.name))
    return paths
