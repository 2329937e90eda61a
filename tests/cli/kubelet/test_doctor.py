"""`numafit doctor`, called as a person calls it, on the node of the documentation."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
MACHINE = ["--machine", str(EXAMPLES / "machine.json")]
RELEASE = ["--kube-version", "1.36.4"]
NODE = [*MACHINE, "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]
POD = str(EXAMPLES / "pod.yaml")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["doctor", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def checkup(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run([*arguments, "-o", "json"], capsys)[1])
    return found


@pytest.fixture
def kubelet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The folder of a kubelet on whose node the pod of the documentation runs."""
    folder = tmp_path / "kubelet"
    assert main(["simulate", *NODE, POD, "--write-state", str(folder)]) == 0
    (folder / "config.yaml").write_text((EXAMPLES / "kubelet.yaml").read_text())
    capsys.readouterr()
    return folder


@pytest.mark.parametrize("command", [["doctor"], ["simulate", POD], ["lint"]])
def test_a_machine_whose_memory_nobody_tells_is_no_reason_not_to_start(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As lscpu describes it, and many a sketch; the answer says what stands in for it."""
    sketch = ["--machine", "sketch:2 sockets x 4 cores x 2 threads, gpu 0@0"]
    name = "--kubelet" if command != ["lint"] else POD
    assert main([*command, *sketch, *RELEASE, name, str(EXAMPLES / "kubelet.yaml")]) in (0, 1)
    out = capsys.readouterr().out
    assert "would not start" not in out
    assert "1Ti on each stands in" in out


def spoil(path: Path) -> str:
    text = path.read_text().replace('"checksum":', '"checksum":1')
    path.write_text(text)
    path.chmod(0o600)
    return text


def test_a_healthy_node_ends_with_status_0(kubelet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The configuration is found where kubeadm puts it."""
    status, out, _ = run([*MACHINE, *RELEASE, "--kubelet-dir", str(kubelet), POD], capsys)
    assert (status, out) == (
        0,
        "The kubelet v1.36.4 would start. Its configuration fits the machine, and so does its state "
        "(cpu_manager_state, memory_manager_state, kubelet_internal_checkpoint): 1 pod stands in them.\n",
    )


def test_without_state_files_only_the_configuration_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(NODE, capsys)
    assert (status, out) == (
        0,
        "The kubelet v1.36.4 would start. Its configuration fits the machine; no state files were looked at.\n",
    )
    assert run([*MACHINE, *RELEASE, "--config", NODE[3]], capsys)[1] == out


def test_an_error_is_shown_with_its_way_out(kubelet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = kubelet / "config.yaml"
    config.write_text(config.read_text().replace("cpuManagerPolicy: static", "cpuManagerPolicy: none"))
    status, out, _ = run([*MACHINE, "--kubelet-dir", str(kubelet)], capsys)
    lines = out.splitlines()
    assert (status, lines[:1], lines[2:4]) == (
        1,
        ["The kubelet v1.36.4 would not start."],
        [
            "1. error cpu-state-refused: cpu_manager_state",
            '   could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy '
            '"static", please drain this node and delete the CPU manager checkpoint file '
            '"/var/lib/kubelet/cpu_manager_state" before restarting Kubelet',
        ],
    )
    assert "     3. rm /var/lib/kubelet/cpu_manager_state" in lines


REFUSED = {
    "unknown gate": (
        "featureGates: {Nonsense: true}\n",
        "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: unrecognized feature "
        "gate: Nonsense",
    ),
    "validation": (
        "topologyManagerPolicy: all\n",
        "failed to validate kubelet configuration, error: invalid configuration: topologyManagerPolicy "
        '(--topology-manager-policy) "all" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
    ),
    "reservation": ("reservedSystemCPUs: '99'\n", "reserved-cpus: 99 is not a subset of online-cpus: 0-15"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_configuration_is_a_finding_in_the_kubelets_words(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = REFUSED[name]
    config = tmp_path / "kubelet.yaml"
    config.write_text(f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{text}")
    found = checkup([*MACHINE, "--kubelet", str(config)], capsys)
    assert (found["starts"], [(one["code"], one["text"]) for one in found["findings"]]) == (
        False,
        [("config-refused", message)],
    )


def test_a_field_that_the_kubelet_ignores_is_a_finding_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolcy: static\n"
    )
    status, out, _ = run([*MACHINE, "--kubelet", str(config)], capsys)
    assert status == 1
    assert f"1. warning unknown-field: {config}:3:1\n   the kubelet v1.36.4 does not know cpuManagerPolcy" in out


def test_repair_writes_beside_the_old_file(kubelet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The old one is left as it is; the new one can be read by as few people."""
    good = (kubelet / "cpu_manager_state").read_text()
    bad = spoil(kubelet / "cpu_manager_state")
    status, out, _ = run([*MACHINE, "--kubelet-dir", str(kubelet), "--repair"], capsys)
    repaired = kubelet / "cpu_manager_state.repaired"
    assert (status, (kubelet / "cpu_manager_state").read_text(), repaired.read_text()) == (1, bad, good)
    assert repaired.stat().st_mode & 0o777 == 0o600
    assert f"Written: {repaired}" in out


def test_repair_with_yes_keeps_every_old_file(kubelet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kubelet / "memory_manager_state"
    good = path.read_text()
    first = spoil(path)
    arguments = [*MACHINE, "--kubelet-dir", str(kubelet), "--repair", "--yes"]
    found = checkup(arguments, capsys)
    assert [(one["file"], one["written"]) for one in found["repairs"]] == [("memory_manager_state", str(path))]
    assert (path.read_text(), path.with_name("memory_manager_state.old").read_text()) == (good, first)
    second = spoil(path)
    run(arguments, capsys)
    assert path.with_name("memory_manager_state.old").read_text() == first
    assert path.with_name("memory_manager_state.old.1").read_text() == second
    assert run([*MACHINE, "--kubelet-dir", str(kubelet)], capsys)[0] == 0


def test_repair_of_a_healthy_node_writes_nothing(kubelet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in kubelet.rglob("*"))
    assert run([*MACHINE, "--kubelet-dir", str(kubelet), "--repair", "--yes"], capsys)[0] == 0
    assert sorted(path.name for path in kubelet.rglob("*")) == before


def api_pod(uid: str, **metadata: object) -> dict[str, object]:
    spec = {"containers": [{"name": "app", "image": "app"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": uid, **metadata}, "spec": spec}


def test_entries_without_an_owner_are_found(kubelet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod of the kubelet's own manifests owns what stands under its hash, not under the UID of its mirror."""
    state = json.loads((kubelet / "cpu_manager_state").read_text())
    (uid,) = state["entries"]
    pods = tmp_path / "pods.json"
    arguments = [*MACHINE, "--kubelet-dir", str(kubelet), str(pods)]
    pods.write_text(json.dumps(api_pod("x")))
    assert [one["text"] for one in checkup(arguments, capsys)["findings"]] == [f"no pod has the UID {uid}"]
    mirror = api_pod("x", annotations={"kubernetes.io/config.hash": uid})
    pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [mirror]}))
    assert checkup(arguments, capsys)["findings"] == []


BAD_INPUT = {
    "no configuration": (MACHINE, "no kubelet configuration is given"),
    "no folder": ([*NODE, "--kubelet-dir", "/no/such"], "/no/such: is not a folder"),
    "two configurations": ([*NODE, "--config", "other.yaml"], "--config: "),
    "yes alone": ([*NODE, "--yes"], "--yes: goes with --repair only"),
    "missing file": ([*MACHINE, "--kubelet", "/no/such.yaml"], "/no/such.yaml: cannot be read"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_sentence_and_status_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, text = BAD_INPUT[name]
    status, out, error = run(arguments, capsys)
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert text in error


def test_pods_without_a_uid_are_bad_input(kubelet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every entry would seem to have no owner, and --repair would drop them all."""
    pods = tmp_path / "pods.yaml"
    pods.write_text(Path(POD).read_text().replace("name: train", "name: other"))
    status, _, error = run([*MACHINE, "--kubelet-dir", str(kubelet), "--repair", str(pods)], capsys)
    assert (status, list(kubelet.rglob("*.repaired"))) == (2, [])
    assert "a pod has no UID" in error


SEVERAL = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
featureGates: {Nonsense: true}
kubeReserved: {cpu: few, memory: 1Gi}
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
"""


def test_a_wrong_gate_a_wrong_reservation_and_a_wrong_sum_are_told_in_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And beside them an unknown flag and a drop-in file that cannot be read; each with its place."""
    config, env, folder = tmp_path / "kubelet.yaml", tmp_path / "kubelet.env", tmp_path / "drop-ins"
    config.write_text(SEVERAL)
    env.write_text("ARGS=--nonsense=1\n")
    folder.mkdir()
    (folder / "10.conf").write_text("a: [\n")
    options = ["--kubelet", str(config), "--kubelet-env", str(env), "--config-dir", str(folder)]
    found = checkup([*MACHINE, *options], capsys)
    assert [(one["code"], Path(one["place"]).name, one["line"], one["column"]) for one in found["findings"]] == [
        ("config-refused", "kubelet.env", 1, 6),
        ("config-refused", "kubelet.yaml", 3, 26),
        ("config-refused", "10.conf", 2, 1),
        ("config-refused", "kubelet.yaml", 4, 21),
        ("memory-refused", "kubelet.yaml", 6, 17),
    ]
    assert found["findings"][0]["text"] == "failed to parse kubelet flag: unknown flag: --nonsense"
    assert {one["check"]: one["because"] for one in found["unchecked"]} == {
        "drop-ins": [str(folder / "10.conf")],
        "capacity": ["kubeReserved.cpu"],
    }


@pytest.mark.parametrize("state", ["cpu_manager_state", "memory_manager_state"])
def test_a_state_file_that_is_no_text_is_a_damaged_one(
    state: str, kubelet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Go's decoder takes any byte inside a text, and then the checksum differs (1.20 to 1.36)."""
    path = kubelet / state
    path.write_bytes(path.read_bytes().replace(b'"policyName":"', b'"policyName":"\xff'))
    found = checkup([*MACHINE, "--kubelet-dir", str(kubelet)], capsys)
    (error,) = found["findings"]
    assert error["place"] == state
    assert "could not restore state from checkpoint: " in error["text"]
    assert "The checksum is not that of the contents" in error["why"]
    assert f"rm /var/lib/kubelet/{state}" in error["cure"]
    path.write_bytes(b"\xff\xfe")
    (error,) = checkup([*MACHINE, "--kubelet-dir", str(kubelet)], capsys)["findings"]
    assert "looking for beginning of value" in error["text"]


def test_repair_keeps_the_bytes_of_a_file_that_is_no_text(kubelet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kubelet / "cpu_manager_state"
    path.write_bytes(path.read_bytes().replace(b'"checksum":', b'"\xff":1,"checksum":1'))
    before = path.read_bytes()
    run([*MACHINE, "--kubelet-dir", str(kubelet), "--repair", "--yes"], capsys)
    assert path.with_name("cpu_manager_state.old").read_bytes() == before
    assert run([*MACHINE, "--kubelet-dir", str(kubelet)], capsys)[0] == 0


def test_a_machine_without_numa_nodes_is_told_of_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lspci` tells neither CPUs nor NUMA nodes, and the configuration reserves memory on two of them."""
    machine, config = tmp_path / "lspci.txt", tmp_path / "kubelet.yaml"
    machine.write_text("0000:0a:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100] [10de:20b0] (rev a1)\n")
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmemoryManagerPolicy: Static\n"
        "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]\n"
    )
    found = checkup(["--machine", str(machine), "--kubelet", str(config)], capsys)
    assert "memory-refused" in [one["code"] for one in found["findings"]]


@pytest.mark.parametrize("kind", ["pipe", "link to nothing", "link to a folder"])
def test_a_drop_in_that_the_kubelet_could_not_read_is_not_passed_over(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kubelet reads every *.conf that is no folder, and does not start where that fails (1.28 to 1.36)."""
    path, config = tmp_path / "10.conf", tmp_path / "kubelet.yaml"
    config.write_text(SEVERAL)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "nothing" if kind == "link to nothing" else tmp_path.parent)
    assert main(["doctor", *MACHINE, "--kubelet", str(config), "--config-dir", str(tmp_path)]) == 2
    assert "10.conf: is no file that can be read, and the kubelet would" in capsys.readouterr().err


def test_a_pipe_among_the_state_files_is_not_waited_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text(SEVERAL)
    os.mkfifo(tmp_path / "cpu_manager_state")
    assert main(["doctor", *MACHINE, "--state", str(tmp_path)]) == 2
    assert "cpu_manager_state: cannot be read: it is a pipe" in capsys.readouterr().err


NUMACTL = """available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 16000 MB
node 1 cpus: 4 5 6 7
node 1 size: 16000 MB
node distances:
node 0 1
0: 10 21
1: 21 10
"""


def test_what_is_guessed_of_the_machine_and_matters_to_the_start_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """numactl tells no cores; whose CPUs share a socket matters where the policy picks the reserved CPUs."""
    (tmp_path / "numactl.txt").write_text(NUMACTL)
    config = tmp_path / "kubelet.json"
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    static = {**head, "cpuManagerPolicy": "static"}
    found = []
    for own in ({"reservedSystemCPUs": "0"}, {"kubeReserved": {"cpu": "1"}}):
        config.write_text(json.dumps({**static, **own}))
        arguments = ["--machine", str(tmp_path / "numactl.txt"), "--kubelet", str(config), *RELEASE]
        found.append([note["code"] for note in checkup(arguments, capsys)["notes"]])
        assert run([*arguments, "--strict"], capsys)[0] == 2
    config.write_text(json.dumps(head))
    assert checkup(arguments, capsys)["notes"] == []
    assert found == [["cores-guessed"], ["cores-guessed", "sockets-guessed"]]


def test_a_pod_that_its_node_no_longer_suits_is_rejected_at_the_start(
    kubelet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody took the label away; only the Node object tells that."""
    pod, node = tmp_path / "pod.yaml", tmp_path / "node.json"
    pod.write_text(Path(POD).read_text().replace("spec:\n", "spec:\n  nodeSelector: {disk: ssd}\n"))
    given = [*MACHINE, *RELEASE, "--kubelet-dir", str(kubelet), str(pod)]
    assert checkup(given, capsys)["findings"] == []
    told = {
        "metadata": {"name": "one", "labels": {"disk": "hdd"}},
        "status": {"nodeInfo": {"kubeletVersion": "v1.36.4"}},
    }
    node.write_text(json.dumps({"apiVersion": "v1", "kind": "Node", **told}))
    (finding,) = checkup([*given, "--node-object", str(node)], capsys)["findings"]
    assert finding["code"] == "rejected-at-start"
    assert finding["details"] == [
        "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    ]
