"""`numafit fit`, called as a person calls it, on the node of the documentation."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
RELEASE = ["--kube-version", "1.36.4"]
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["fit", "--check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_count_says_what_runs_out_and_what_is_stranded(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, out.splitlines()) == (
        0,
        [
            "default/train: 2 more pods fit",
            "  the next is rejected: TopologyAffinityError: Resources cannot be allocated with Topology locality",
            "  stopped by the topology policy single-numa-node",
            "  runs out: nvidia.com/gpu: 1 nvidia.com/gpu needed, free 0 on node 0, 0 on node 1",
            "",
            "LEFT         STRANDED",
            "NUMA node 0  2 CPUs, 11776Mi",
            "NUMA node 1  4 CPUs, 11776Mi",
        ],
    )


def test_a_shape_that_does_not_fit_at_all_ends_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text((EXAMPLES / "pod.yaml").read_text().replace('cpu: "4"', 'cpu: "9"'))
    status, out, _ = run([*NODE, "-o", "json", str(path)], capsys)
    (shape,) = json.loads(out)["shapes"]
    assert (status, shape["admitted"], shape["reason"]) == (1, 0, "TopologyAffinityError")
    assert shape["limits"] == [{"resource": "cpu", "needed": 9, "short": {"0": 6, "1": 8}, "kind": "large", "free": 14}]
    assert shape["stop"]["rule"] == "topology-policy"


def test_the_replicas_of_a_deployment_are_one_shape(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([*NODE, "-o", "json", str(EXAMPLES / "crowded")], capsys)
    assert [shape["pod"] for shape in json.loads(out)["shapes"]] == ["default/web", "default/train-0"]


def test_policies_scopes_and_options_stand_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Without alignment both GPUs are given out just the same; an option that the policy forbids does not start."""
    _, out, _ = run([*NODE, "--compare", str(EXAMPLES / "pod.yaml")], capsys)
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["POLICY", "SCOPE", "OPTION", "default/train", "RUNS", "OUT"]
    assert rows[1] == ["none", "-", "-", "2", "(1)", "nvidia.com/gpu"]
    assert rows[7] == ["*", "single-numa-node", "pod", "-", "2", "nvidia.com/gpu"]
    assert [row[3] for row in rows if row[1:3] == ["pod", "+align-by-socket"]] == ["-"]


def test_a_crash_is_told_in_words_and_nobody_behind_it_is_said_not_to_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The memory manager dereferences nil over a page size that a NUMA node does not have (seen in 1.36.4)."""
    sizes = {"before": {}, "boom": {"hugepages-32Mi": "64Mi"}, "after": {"ephemeral-storage": "1"}}
    for number, (name, more) in enumerate(sizes.items()):
        limits = {"cpu": "1", "memory": "1Gi", **more}
        container = {"name": "app", "image": "i", "resources": {"limits": limits}}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
        (tmp_path / f"{number}.json").write_text(json.dumps(manifest))
    blame = "the pod asks for hugepages-32Mi, and a NUMA node of this machine does not have that page size"
    _, out, _ = run([*NODE, str(tmp_path)], capsys)
    assert out.split("\n\n")[:3] == [
        "default/before: at least 1 more pod fits\n  counting ended before one was rejected",
        f"default/boom: no more pods fit\n  at the next the kubelet would crash: {blame}",
        "default/after: not counted\n  counting ended before one was rejected",
    ]
    note = f"the kubelet crashes over this pod: {blame}, so default/before, default/after were not counted further"
    assert f"- default/boom: {note}\n" in out
    assert run([*NODE, "--strict", str(tmp_path)], capsys)[0] == 2
    _, out, _ = run([*NODE, "--compare", str(tmp_path)], capsys)
    (given,) = [line.split() for line in out.splitlines() if line.startswith("*")]
    assert given[4:7] == ["1+", "0", "0+"]


def test_a_note_about_a_pod_stands_at_its_count_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpus": "1"}
    container = {"name": "app", "image": "i", "resources": {"limits": limits}}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    (tmp_path / "pod.json").write_text(json.dumps(manifest))
    _, out, _ = run([*NODE, str(tmp_path), "-o", "json"], capsys)
    found = json.loads(out)
    assert [note["code"] for note in found["shapes"][0]["notes"]] == ["resource-not-offered"]
    assert found["shapes"][0]["notes"][0] in found["notes"]
