import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from numafit.quantity import parse_quantity
from numafit.workload.pod import Container, Pod, PodResources, Resources, qos_class
from tests.replay.pods import pod_from_recording

ORACLE = Path(__file__).resolve().parents[2].parent / "shared" / "oracle"


def amounts(**texts: str) -> Resources:
    return {name: parse_quantity(text) for name, text in texts.items()}


def pod(
    *containers: tuple[Resources, Resources],
    init: tuple[tuple[Resources, Resources], ...] = (),
    resources: PodResources | None = None,
    status_qos: str = "",
) -> Pod:
    return Pod(
        uid="u",
        name="p",
        containers=tuple(Container(f"c{i}", *both) for i, both in enumerate(containers)),
        init_containers=tuple(Container(f"i{i}", *both) for i, both in enumerate(init)),
        resources=resources,
        status_qos=status_qos,
    )


FULL = amounts(cpu="2", memory="1Gi")
NOTHING: Resources = {}
DEVICES = {"example.com/a": parse_quantity("1"), "example.com/b": parse_quantity("1")}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (pod((NOTHING, NOTHING)), "BestEffort"),
        (pod((DEVICES, DEVICES)), "BestEffort"),
        (pod((amounts(cpu="0"), amounts(cpu="0"))), "BestEffort"),
        (pod((amounts(memory="100Mi"), amounts(memory="200Mi"))), "Burstable"),
        (pod((FULL, NOTHING)), "Burstable"),
        (pod((NOTHING, FULL)), "Burstable"),
        (pod((FULL, FULL)), "Guaranteed"),
        (pod((amounts(cpu="2000m", memory="1024Mi"), FULL)), "Guaranteed"),
        (pod((FULL, FULL), (NOTHING, NOTHING)), "Burstable"),
        (pod((FULL, FULL), init=((NOTHING, NOTHING),)), "Burstable"),
        (pod((FULL, FULL), init=((FULL, FULL),)), "Guaranteed"),
        (pod((amounts(cpu="1", memory="1Gi"), amounts(cpu="1"))), "Burstable"),
    ],
)
def test_follows_cpu_and_memory_of_all_containers(wanted: Pod, expected: str) -> None:
    """Only positive cpu and memory count, init containers too, and each container needs both limits (1.20 to 1.36)."""
    assert qos_class(wanted, pod_level=True, status=True) == expected


def test_compares_sums_and_not_containers() -> None:
    """Two containers that differ in opposite directions would be Guaranteed, if the API server let them through."""
    low, high = amounts(cpu="1", memory="1Gi"), amounts(cpu="2", memory="1Gi")
    assert qos_class(pod((low, high), (high, low)), pod_level=False, status=False) == "Guaranteed"


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        (FULL, FULL, "Guaranteed"),
        (FULL, NOTHING, "Burstable"),
        (amounts(cpu="2"), amounts(cpu="2"), "Burstable"),
        (NOTHING, NOTHING, "BestEffort"),
    ],
)
def test_looks_only_at_pod_level_resources_where_there_are_any(
    requests: Resources, limits: Resources, expected: str
) -> None:
    """With the gate PodLevelResources (on by default since 1.34); without it they do not exist."""
    wanted = pod((amounts(cpu="1"), amounts(cpu="3")), resources=PodResources(requests, limits))
    assert qos_class(wanted, pod_level=True, status=True) == expected
    assert qos_class(wanted, pod_level=False, status=True) == "Burstable"


def test_takes_the_class_of_the_status_since_1_29() -> None:
    wanted = pod((FULL, FULL), status_qos="BestEffort")
    assert qos_class(wanted, pod_level=True, status=True) == "BestEffort"
    assert qos_class(wanted, pod_level=True, status=False) == "Guaranteed"


@pytest.mark.parametrize(("version", "pod_level"), [("v1.20.1", False), ("v1.36.4", True)])
def test_agrees_with_the_recordings(version: str, pod_level: bool) -> None:
    """The class that the kubelet itself noted for each pod it was given."""
    recordings = ORACLE / version / "node.jsonl.gz"
    if not recordings.is_file():
        pytest.skip(f"no recordings of kubelet {version} here")
    with gzip.open(recordings, "rt") as lines:
        cases = [json.loads(line) for line in islice(lines, 60)]
    differences = []
    seen = 0
    for case in cases:
        gates = case["input"]["config"].get("featureGates") or {}
        gate = gates.get("PodLevelResources", pod_level)
        for step, expected in zip(case["input"]["steps"], case["expect"].get("steps") or [], strict=False):
            if step["op"] == "add" and "qos" in expected:
                seen += 1
                found = qos_class(pod_from_recording(step["pod"]), pod_level=gate, status=True)
                if found != expected["qos"]:
                    differences.append((case["id"], step["pod"]["name"], found, expected["qos"]))
    assert (differences, seen > 100) == ([], True)
