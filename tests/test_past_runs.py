"""Whole runs of the real kubelet: the past that is read from its log gives the decisions that its events give."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
RUNS = sorted([*(SHARED / "kubelet-runs").glob("*/case.json"), *(SHARED / "kubelet-runs2").glob("*/case.json")])

UNTOLD = {
    "bad-configs": "no kubelet of it meets a pod",
    "device-unhealthy": "the log has the number of healthy devices, not which they are",
    "node-extended": "the log does not tell that somebody listed a resource in the Node object",
    "resize-static": "the log does not tell what a refused resize asked for",
    "restart-config": "the log does not tell a whole configuration",
    "state-files": "the log does not tell who changed state files",
}
"""Run -> what its log cannot tell."""

ORDERED = ("out-of-static-pods",)
"""Runs in which the kubelet admits static pods in an order that only its log tells."""
UNEQUAL = {
    "node-hugepages-none": "nobody tells how large the disk is",
}

if not RUNS:
    pytest.skip("the shared runs of the kubelet are not there", allow_module_level=True)


def device_list(devices: list[str]) -> str:
    return ",".join(devices)


def node_of(run: Path, case: dict[str, Any]) -> list[str]:
    """The options that describe it, without devices."""
    own = run / "sys.tgz"
    machine = own if own.is_file() else SHARED / "captures" / (run / "machine").read_text().strip() / "sys.tgz"
    return ["--machine", str(machine), "--kubelet", str(run / "kubelet-config.json"), "--kube-version", "1.36"]


def plugins_of(case: dict[str, Any], *, later: bool) -> list[str]:
    """As options; `later`: with those that start in the run."""
    specs = list(case.get("devices") or ())
    specs += [f"{own['resource']}={device_list(own['devices'])}" for own in case.get("plugins") or ()]
    if later:
        started = [event for event in case.get("events", ()) if event["op"] == "plugin-start"]
        specs += [f"{event['resource']}={device_list(event['devices'])}" for event in started]
    return [part for spec in specs for part in ("--device", spec)]


def lines_of(event: dict[str, Any]) -> list[str]:
    """In the words of --events."""
    match event["op"]:
        case "add":
            return [f"add {event['pod']}"]
        case "remove":
            return [f"remove {' '.join(event['pods'])}"]
        case "restart":
            options = [f"plugins={event['plugins']}"] if "plugins" in event else []
            words = " ".join([*options, *(["reboot"] if event.get("reboot") else [])])
            gone, came = event.get("remove"), event.get("add")
            if not gone and not came:
                return [f"restart {words}"]
            between = [f"remove {' '.join(gone)}"] if gone else []
            return ["stop", *between, *([f"add {' '.join(came)}"] if came else []), f"start {words}"]
        case "devices" | "plugin-start" | "plugin-restart":
            return [f"{event['op']} {event['resource']} {device_list(event['devices'])}"]
        case "resize":
            amounts = [
                f"{kind}.{name}={own}" for kind, all_of in event["resources"].items() for name, own in all_of.items()
            ]
            return [f"resize {event['pod']} {event['container']} {' '.join(amounts)}"]
        case "exit":
            return [f"exit {event['pod']} {event.get('container', '')}"]
    raise AssertionError(event)


def events_of(run: Path, case: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that reached the kubelet. A pod whose containers end at once goes by itself."""
    if "events" not in case:
        return [{"op": "add", "pod": pod["metadata"]["name"]} for pod in case["pods"]]
    pods = {pod["metadata"]["name"]: pod["spec"] for pod in case["pods"]}
    steps = json.loads((run / "result.json").read_text())["steps"]
    found = []
    for event, step in zip(case["events"], steps, strict=True):
        if step.get("api", {}).get("status", 200) >= 400:
            continue
        found.append(event)
        own = pods.get(event.get("pod"), {}).get("containers", ())
        if event["op"] == "add" and all(container.get("command") == ["exit-0"] for container in own):
            found.append({"op": "remove", "pods": [event["pod"]]})
    return found


def decisions(run: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[list[Any], dict[str, Any]]:
    status = main(["simulate", "-o", "json", *arguments])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    answer = json.loads(captured.out)
    fields = ("event", "pod", "admitted", "reason", "message", "containers", "defaultCPUSet")
    return [{field: own.get(field) for field in fields} for own in answer["decisions"]], answer


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parent.name)
def test_the_past_from_a_log_is_decided_as_the_events_of_the_run(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kubelet 1.36.3 and 1.36.4: pods, restarts, reboots, plugins, exits, resizes, all from the lines of the log."""
    run = path.parent
    case = json.loads(path.read_text())
    if run.name in UNTOLD:
        pytest.skip(UNTOLD[run.name])
    node = node_of(run, case)
    env = tmp_path / "kubelet.env"
    if case.get("flags"):
        env.write_text(f'KUBELET_ARGS="{" ".join(case["flags"])}"\n')
        node += ["--kubelet-env", str(env)]
    events = tmp_path / "events"
    happened = events_of(run, case)
    events.write_text("\n".join(line for event in happened for line in lines_of(event)))
    static = case.get("mode", "static") == "static"
    added = {name for event in happened for name in (event.get("pod"), *event.get("add", ()))}
    given = [str(file) for file in sorted((run / "manifests").iterdir()) if file.stem.partition("-")[2] in added]
    manifests = [part for file in given for part in ("--static", file)] if static else given
    log = ["--past", str(run / "kubelet.log.gz")]
    expected, _ = decisions(run, [*node, *plugins_of(case, later=False), "--events", str(events), *manifests], capsys)
    written = tmp_path / "written"
    log += ["--write-events", str(written)]
    found, answer = decisions(run, [*node, *plugins_of(case, later=True), *log, *given], capsys)
    if run.name not in ORDERED:
        assert found == expected
    if not static:
        again, _ = decisions(run, [*node, *plugins_of(case, later=False), "--events", str(written), *given], capsys)
        assert again == found
    differences = [note["text"] for note in answer["notes"] if note["code"] == "node-was-otherwise"]
    if run.name not in UNEQUAL:
        assert differences == []
        assert answer["agreement"]["same"] == answer["agreement"]["told"] > 0
