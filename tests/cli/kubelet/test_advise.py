"""`numafit advise`, called as a person calls it, on the node of the documentation."""

import contextlib
import json
from pathlib import Path

import pytest
import yaml

from numafit.__main__ import main
from tests.workload.dumps import ended, owner

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
RELEASE = ["--kube-version", "1.36.4"]
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]
CROWDED = str(EXAMPLES / "crowded")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["advise", "--check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_advice_is_shown_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, "--pod", "train-1", "--most", "1", CROWDED], capsys)
    assert (status, out.splitlines()) == (
        1,
        [
            "default/train-1: rejected, TopologyAffinityError",
            "  6 CPUs would fit 1 node of an empty machine, but now need 2: nodes 0-1 (at most 4 CPUs can be had on "
            "one node): `single-numa-node` rejects the pod.",
            "",
            "  1. fewer: train: cpu 6 -> 4 (in all 2 pods)",
            "     then admitted: CPUs 4-5,12-13, 8Gi@1, GPU-1",
            "",
            "  4 more with --most 5",
        ],
    )


def test_a_pod_that_lies_well_ends_with_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, out) == (
        0,
        "default/train: nothing to change\n  now  admitted: CPUs 1-2,9-10, 4Gi@0, GPU-0\n",
    )


def test_the_patch_is_one_of_the_object_that_makes_the_pod(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, "--patch", CROWDED], capsys)
    assert status == 1
    assert out.startswith("# Deployment default/train, so that default/train-1 fits: train: cpu 6 -> 4\n")
    container = {"name": "train", "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}}
    assert yaml.safe_load(out) == {"spec": {"template": {"spec": {"containers": [container]}}}}


def test_the_json_has_every_proposal_with_its_decision_and_patch(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([*NODE, "-o", "json", CROWDED], capsys)
    advices = json.loads(out)["advice"]
    assert [advice["pod"] for advice in advices] == ["default/web", "default/train-0", "default/train-1"]
    proposals = advices[-1]["proposals"]
    assert [(proposal["kind"], proposal["patches"]) for proposal in proposals] == [
        ("fewer", "manifest"),
        ("move", None),
        ("replicas", "manifest"),
        ("reservation", "kubelet"),
        ("policy", "kubelet"),
    ]
    assert all(then["admitted"] for proposal in proposals for then in proposal["then"])
    assert [proposals[2]["patch"], proposals[3]["patch"]["reservedSystemCPUs"]] == [{"spec": {"replicas": 1}}, "4,12"]


def test_an_unknown_pod_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = run([*NODE, "--pod", "nobody", CROWDED], capsys)
    assert (status, out) == (2, "")
    assert "there is no pod nobody" in error


def crowd(folder: Path, number: int) -> str:
    """So many pods of 6 CPUs, of which the node has room for two."""
    limits = {"cpu": "6", "memory": "1Gi"}
    spec = {"containers": [{"name": "app", "resources": {"limits": limits}}]}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": spec} for i in range(number)]
    file = folder / "crowd.yaml"
    file.write_text(yaml.safe_dump_all(pods))
    return str(file)


def test_pods_of_one_shape_with_one_fault_get_one_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([*NODE, crowd(tmp_path, 7)], capsys)
    assert [line for line in out.splitlines() if line.startswith("default/")] == [
        "default/p0: nothing to change",
        "default/p1: nothing to change",
        "default/p2: rejected, TopologyAffinityError",
    ]
    assert (
        "  the same fault: 4 more pods of this shape (default/p3, default/p4, default/p5 and 1 more); "
        "--pod NAME advises on one of them"
    ) in out.splitlines()
    _, own, _ = run([*NODE, "--pod", "p6", crowd(tmp_path, 7)], capsys)
    assert own.startswith("default/p6: rejected, TopologyAffinityError\n")
    _, data, _ = run([*NODE, "-o", "json", crowd(tmp_path, 7)], capsys)
    assert json.loads(data)["advice"][-1]["same"] == ["default/p3", "default/p4", "default/p5", "default/p6"]


def test_each_advice_is_printed_as_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second advice fails here: the first stands on the terminal by then."""
    from numafit.cli.kubelet import advise as command

    several = command.advices

    def one_then_trouble(*arguments: object, **named: object) -> object:
        yield next(several(*arguments, **named))  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "advices", one_then_trouble)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        main(["advise", *NODE, crowd(tmp_path, 3)])
    assert capsys.readouterr().out.startswith("default/p0: nothing to change\n")


def test_pods_that_could_not_be_decided_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The machine has huge pages of 2Mi on one NUMA node only; a kubelet crashes at a pod that asks for them."""
    machine = json.loads((EXAMPLES / "machine.json").read_text())
    machine["numaNodes"][1]["hugepages"] = {}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    limits = [{"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}, {"cpu": "1", "memory": "1Gi"}]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "app", "resources": {"limits": own}}]},
        }
        for name, own in zip(("huge", "late"), limits, strict=True)
    ]
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all(pods))
    node = ["--machine", str(tmp_path / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml")]
    _, out, _ = run([*node, str(tmp_path / "pods.yaml")], capsys)
    assert out.startswith("default/huge: the kubelet would crash\n")
    assert (
        "- default/huge: the kubelet crashes over this pod: the pod asks for hugepages-2Mi, and a NUMA node of this "
        "machine does not have that page size, so default/late was not decided\n"
    ) in out
    _, data, _ = run([*node, "-o", "json", str(tmp_path / "pods.yaml")], capsys)
    assert json.loads(data)["undecided"] == ["default/late"]


@pytest.mark.parametrize(("kind", "told"), [("StatefulSet", True), ("Node", False)])
def test_a_patch_of_a_pod_that_an_object_made_names_that_object(
    kind: str, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pod itself cannot be patched, and its next one comes from the template; a Node has none."""
    made, file = ended("store-0"), tmp_path / "pod.json"
    made["metadata"]["ownerReferences"] = owner(kind, "store")
    limits = {"cpu": "12", "memory": "1Gi"}
    made["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
    file.write_text(json.dumps(made))
    _, out, _ = run([*NODE, "--patch", str(file)], capsys)
    assert (f"# {kind} store made this pod: the change belongs into its pod template\n" in out) is told
    assert "cpu: " in out
