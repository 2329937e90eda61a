"""`numafit simulate`, called as a person calls it, on the node of the documentation."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.cli import files as inputs

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
RELEASE = ["--kube-version", "1.36.4"]
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]
GPUS = ["--device", "nvidia.com/gpu=g0@0,g1@1"]


def pod(name: str, cpu: str = "4", memory: str = "4Gi", **extra: str) -> str:
    limits = {"cpu": cpu, "memory": memory, **extra}
    container = {"name": "app", "image": "app", "resources": {"limits": limits}}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    return json.dumps(manifest)


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["simulate", "--check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_pod_that_fits_is_admitted(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, *GPUS, str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, out.splitlines()) == (
        0,
        [
            "POD            QOS         VERDICT   NUMA  CPUS      MEMORY  DEVICES",
            "default/train  Guaranteed  admitted  0     1-2,9-10  4Gi@0   g0",
            "",
            "LEFT         EXCLUSIVE CPUS  MEMORY   DEVICES",
            "NUMA node 0  3,11            11776Mi  -",
            "NUMA node 1  4-7,12-15       15872Mi  g1",
        ],
    )


def test_a_rejected_pod_ends_with_status_1_and_the_kubelets_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine CPUs fit only across both NUMA nodes: single-numa-node rejects."""
    path = tmp_path / "pod.json"
    path.write_text(pod("wide", cpu="9"))
    status, out, _ = run([*NODE, str(path)], capsys)
    assert status == 1
    assert "TopologyAffinityError" in out
    assert (
        "default/wide: 9 CPUs need nodes 0-1 together (at most 8 CPUs can be had on one node): "
        "`single-numa-node` rejects the pod. "
        "The kubelet says: Resources cannot be allocated with Topology locality\n"
    ) in out


def test_a_pod_that_the_managers_admit_may_still_not_fit_the_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Burstable: no manager cares, but 15 CPUs of 14 allocatable are not there (kubelet, all releases)."""
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "15"}}}
    path = tmp_path / "pod.json"
    path.write_text(
        json.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"}, "spec": {"containers": [container]}}
        )
    )
    status, out, _ = run([*NODE, "-o", "json", str(path)], capsys)
    decision = json.loads(out)["decisions"][0]
    assert (status, decision["reason"], decision["message"]) == (
        1,
        "OutOfcpu",
        "Node didn't have enough resource: cpu, requested: 15000, used: 0, capacity: 14000",
    )


def test_the_json_has_a_decision_per_pod_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "1.json").write_text(pod("one"))
    (tmp_path / "2.json").write_text(pod("two"))
    status, out, _ = run([*NODE, "-o", "json", str(tmp_path)], capsys)
    decisions = json.loads(out)["decisions"]
    assert status == 0
    assert [decision["pod"] for decision in decisions] == ["default/one", "default/two"]
    assert [decision["containers"]["app"]["cpus"] for decision in decisions] == ["1-2,9-10", "4-5,12-13"]
    assert set(decisions[0]) >= {"admitted", "qos", "merges", "containers", "defaultCPUSet", "files"}


def test_pods_of_the_state_files_keep_what_they_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pod.json").write_text(pod("one"))
    _, out, _ = run([*NODE, "-o", "json", str(tmp_path / "pod.json")], capsys)
    state = tmp_path / "kubelet"
    state.mkdir()
    for name, text in json.loads(out)["decisions"][0]["files"].items():
        (state / name).write_text(text)
    (tmp_path / "pod.json").write_text(pod("two"))
    status, out, _ = run([*NODE, "--state", str(state), str(tmp_path / "pod.json")], capsys)
    assert (status, out.splitlines()[1].split()[4]) == (0, "4-5,12-13")


def test_a_field_that_only_later_releases_know_is_said_to_be_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kubelet starts all the same."""
    config = tmp_path / "kubelet.yaml"
    config.write_text((EXAMPLES / "kubelet.yaml").read_text() + "containerRuntimeEndpoint: unix:///run/cri.sock\n")
    line = len(config.read_text().splitlines())
    words = [*NODE[:2], "--kubelet", str(config), "--kube-version", "1.26", str(EXAMPLES / "pod.yaml")]
    status, out, error = run(words, capsys)
    ignored = "containerRuntimeEndpoint is ignored by the kubelet v1.26: later kubelets know it"
    assert (status, error, out.splitlines()[-2:]) == (0, "", ["Notes:", f"- {config}:{line}: {ignored}"])


def test_a_configuration_that_only_the_flags_name_is_not_passed_over_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lies on the kubelet's machine; what stands in it may change every decision."""
    env = tmp_path / "kubelet.env"
    env.write_text('KUBELET_ARGS="--config=/var/lib/kubelet/config.yaml --kube-reserved=cpu=1"\n')
    words = [*NODE[:2], *RELEASE, "--kubelet-env", str(env), str(EXAMPLES / "pod.yaml")]
    status, out, error = run(words, capsys)
    named = "--config=/var/lib/kubelet/config.yaml is not looked at (give what it names, or a copy, by --kubelet)"
    assert (status, error, out.splitlines()[-3:-1]) == (0, "", ["Notes:", f"- {env}: {named}"])


def test_a_kubelet_that_does_not_start_says_so_in_its_own_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text((EXAMPLES / "kubelet.yaml").read_text().replace("412Mi", "411Mi"))
    status, _, error = run([*NODE[:2], "--kubelet", str(config), str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, error) == (
        2,
        f'numafit: {config}:17:3: reservedMemory: the kubelet would not start: the total amount "1Gi" of type "memory" '
        'is not equal to the value "1023Mi" determined by Node Allocatable feature (add 1Mi of memory to kubeReserved '
        "or systemReserved, or take 1Mi from reservedMemory)\n",
    )


BAD_INPUT = {
    "missing machine": (
        ["--machine", "/no/such/file", *NODE[2:], str(EXAMPLES / "pod.yaml")],
        "/no/such/file: no such file",
    ),
    "missing pods": ([*NODE, "/no/such/pod.yaml"], "/no/such/pod.yaml: cannot be read"),
    "bad version": ([*NODE, "--kube-version", "1.2", str(EXAMPLES / "pod.yaml")], "kubelet 1.2 is not covered"),
    "bad device": ([*NODE, "--device", "gpu", str(EXAMPLES / "pod.yaml")], "--device: gpu: is not RESOURCE=ID@NUMA"),
    "no state folder": ([*NODE, "--state", "/no/such", str(EXAMPLES / "pod.yaml")], "/no/such: is not a folder"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_sentence_and_status_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, text = BAD_INPUT[name]
    status, out, error = run(arguments, capsys)
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert text in error


BAD_FILES = {
    "broken yaml": ("kubelet.yaml", "a: [1\n", "kubelet.yaml:2"),
    "unknown field": (
        "kubelet.yaml",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolcy: static\n",
        "kubelet.yaml:3: cpuManagerPolcy: the kubelet v1.36.4 does not know this field",
    ),
    "impossible quantity": ("pod.json", pod("p", cpu="4 cores"), "resources.limits.cpu"),
    "cpu that does not exist": (
        "kubelet.yaml",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nreservedSystemCPUs: '99'\n",
        "kubelet.yaml:3:21: reservedSystemCPUs: the kubelet would not start: reserved-cpus: 99 is not a subset",
    ),
    "damaged state file": ("cpu_manager_state", '{"policyName":"static"', "could not restore state from checkpoint"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named_with_its_place(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, text, message = BAD_FILES[name]
    (tmp_path / file).write_text(text)
    config = tmp_path / "kubelet.yaml" if file == "kubelet.yaml" else EXAMPLES / "kubelet.yaml"
    pods = tmp_path / "pod.json" if file == "pod.json" else EXAMPLES / "pod.yaml"
    state = ["--state", str(tmp_path)] if file.endswith("state") else []
    status, _, error = run([*NODE[:2], "--kubelet", str(config), *state, str(pods)], capsys)
    assert (status, error.count("\n")) == (2, 1)
    assert message in error


def test_a_damaged_state_file_is_reported_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not for the kubelet's configuration, which is right."""
    state = tmp_path / "cpu_manager_state"
    state.write_text("{")
    status, _, error = run([*NODE, "--state", str(tmp_path), str(EXAMPLES / "pod.yaml")], capsys)
    assert status == 2
    assert error.startswith(f"numafit: {state}: the kubelet would not start: could not restore state from checkpoint")


def test_a_damaged_device_file_is_passed_over_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kubelet logs it and goes on."""
    (tmp_path / "kubelet_internal_checkpoint").write_text("{")
    status, out, _ = run([*NODE, "--state", str(tmp_path), str(EXAMPLES / "pod.yaml")], capsys)
    assert status == 0
    assert "\n- kubelet: the kubelet goes on without its kubelet_internal_checkpoint: " in out


def test_sources_that_disagree_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the answer, with what each says and what is taken."""
    status, out, error = run([*NODE, "--machine", "sketch:2 numa x 2 cores", str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, error) == (0, "")
    assert "- machine: which CPUs are online: " in out


@pytest.mark.parametrize("numa_nodes", ["", "{id: 0}, {id: 64}"])
def test_a_machine_that_no_kubelet_survives_is_refused(
    numa_nodes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without NUMA nodes nothing can be said; masks have 64 bits, and the kubelet (1.35) crashes beyond."""
    machine = tmp_path / "box.yaml"
    cpus = "[{numa: 0, socket: 0, cpus: 0-3}]" if numa_nodes else "[]"
    machine.write_text(f"format: numafit/machine/v1\nnumaNodes: [{numa_nodes}]\ncpus: {cpus}\n")
    status, _, error = run(["--machine", str(machine), str(EXAMPLES / "pod.yaml")], capsys)
    assert status == 2
    assert "NUMA node" in error


def test_replicas_without_end_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "app", "image": "app"}]}}
    spec = {"replicas": 2**31 - 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = tmp_path / "many.json"
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"}, "spec": spec}
    path.write_text(json.dumps(manifest))
    status, _, error = run([*NODE, str(path)], capsys)
    cure = "at most 200000 are played; are the replicas right?"
    assert (status, error) == (2, f"numafit: {path}: 2147483647 pods with those of Deployment many ({cure})\n")


def test_a_configuration_that_is_no_text_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_bytes(b"kind: KubeletConfiguration\n# caf\xe9\n")
    status, _, error = run([*NODE[:2], "--kubelet", str(path), str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, error) == (2, f"numafit: {path}:2:6: byte 0xe9 is not UTF-8 text (save the file as UTF-8)\n")


def test_a_file_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(inputs, "LARGEST_FILE", 1 << 20)
    status, _, error = run([*NODE, "/dev/zero"], capsys)
    assert (status, error) == (2, "numafit: /dev/zero: more than 1 MiB (is this the right file?)\n")


def test_the_example_kubelet_starts_on_a_machine_with_many_numa_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More than 8 NUMA nodes need `max-allowable-numa-nodes` (1.31)."""
    path = tmp_path / "pod.json"
    path.write_text(pod("one"))
    status, _, error = run(["--machine", "gb200", str(path)], capsys)
    assert status == 0
    assert "max-allowable-numa-nodes: '34'" in error


@pytest.mark.parametrize("state", ["cpu_manager_state", "memory_manager_state"])
def test_a_refused_state_file_is_named_with_the_way_out(
    state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not only the folder that it lies in; nor is it called a file in a wrong encoding."""
    run([*NODE, "--write-state", str(tmp_path), str(EXAMPLES / "pod.yaml")], capsys)
    path = tmp_path / state
    path.write_bytes(b"\xff" + path.read_bytes())
    status, _, error = run([*NODE, "--state", str(tmp_path), str(EXAMPLES / "pod.yaml")], capsys)
    assert status == 2
    assert f"numafit: {path}: the kubelet would not start: " in error
    assert f"numafit doctor --kubelet-dir {tmp_path}" in error
