"""`numafit compare`, called as a person calls it, on the node of the documentation."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
RELEASE = ["--kube-version", "1.36.4"]
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]
POD = str(EXAMPLES / "pod.yaml")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["compare", "--check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def config(folder: Path, old: str, new: str) -> list[str]:
    path = folder / "other.yaml"
    path.write_text((EXAMPLES / "kubelet.yaml").read_text().replace(old, new))
    return ["--with-kubelet", str(path)]


def test_an_upgrade_that_changes_nothing_still_names_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, "--kube-version", "1.27", "--with-kube-version", "1.36", POD], capsys)
    assert status == 0
    assert out.startswith("No decision changes: 1 pod is as before\n")
    assert "  device hints name only NUMA nodes that host such a device: no -> yes (since 1.36)\n" in out


def test_another_configuration_shows_the_decisions_that_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is pinned any more with the CPU manager's policy none."""
    other = config(tmp_path, "cpuManagerPolicy: static", "cpuManagerPolicy: none")
    status, out, _ = run([*NODE, *other, POD], capsys)
    assert (status, out.splitlines()) == (
        1,
        [
            "1 of 1 decisions change",
            "",
            "default/train",
            "  train cpus: 1-2,9-10 -> shared",
            "",
            "Settings that differ",
            "  cpuManagerPolicy: static -> none",
        ],
    )


def test_a_kubelet_that_would_not_start_is_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = config(tmp_path, "412Mi", "411Mi")
    status, out, _ = run([*NODE, *other, "-o", "json", POD], capsys)
    result = json.loads(out)
    assert (status, result["starts"]) == (1, False)
    assert 'the total amount "1Gi" of type "memory" is not equal' in result["message"]
    assert result["place"].endswith(": reservedMemory")
    assert result["cure"].startswith("add 1Mi of memory to kubeReserved or systemReserved, or take 1Mi from")
    _, text, _ = run([*NODE, *other, POD], capsys)
    assert text.splitlines()[1:3] == [f"    place: {result['place']}", f"    cure: {result['cure']}"]


def test_an_empty_file_makes_no_kubelet_that_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "kubelet.yaml"
    other.write_text("")
    status, out, _ = run([*NODE, "--with-kubelet", str(other), POD], capsys)
    assert status == 1
    assert out.splitlines()[:2] == [
        f'Then the kubelet would not start: kubelet config file "{other}" was empty',
        f"    place: {other}",
    ]


def test_another_machine_may_have_no_room(capsys: pytest.CaptureFixture[str]) -> None:
    """The first kubelet's own words still have to fit: without a configuration each machine gets the example."""
    arguments = ["--machine", str(EXAMPLES / "machine.json"), "--with-machine", "laptop", "-o", "json", POD]
    status, out, _ = run(arguments, capsys)
    result = json.loads(out)
    assert (status, result["changed"]) == (1, 1)
    assert [item["what"] for item in result["settings"]][:2] == ["reservedMemory", "kubeReserved"]


BAD_INPUT = {
    "nothing to compare with": ([*NODE, POD], "there is nothing to compare with"),
    "standard input": ([*NODE, "--with-kube-version", "1.30", "-"], "standard input: can be read only once"),
    "a bad version": ([*NODE, "--with-kube-version", "1.2", POD], "kubelet 1.2 is not covered"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_sentence_and_status_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, text = BAD_INPUT[name]
    status, out, error = run(arguments, capsys)
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert text in error


def test_a_pod_behind_a_crash_is_not_said_to_be_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both kubelets crash over the first, and decide the second neither time."""
    for name, more in {"a-boom": {"hugepages-32Mi": "64Mi"}, "b-later": {}}.items():
        container = {"name": "app", "image": "i", "resources": {"limits": {"cpu": "1", "memory": "1Gi", **more}}}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
        (tmp_path / f"{name}.json").write_text(json.dumps(manifest))
    _, out, _ = run([*NODE, "--with-kube-version", "1.34", str(tmp_path)], capsys)
    assert out.startswith("No decision changes: 1 pod is as before; 1 is decided neither time\n")
