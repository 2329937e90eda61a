"""`numafit cluster up`: which words go together. What it starts is tested in tests/kube."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from numafit.__main__ import main
from numafit.cli.options.simulated import simulated_groups
from numafit.cluster.sim.group import check_groups
from numafit.cluster.up.programs import CONTROL_PLANE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it needs Linux")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-o json -- kubectl get nodes", "-o: does not go with a COMMAND, which has the output"),
        ("--nodes none.yaml", "none.yaml: there is no such file (docs/kubelet-sim.md shows one)"),
        ("-- nosuchprogram x", "nosuchprogram: there is no such program (COMMAND is looked for on the PATH)"),
        ("--binaries none", "none: there is no such folder (docs/cluster-up.md says where"),
        ("", "etcd, kube-apiserver, kube-controller-manager and kube-scheduler are not on the PATH"),
    ],
)
def test_what_does_not_go_together_or_is_not_there_is_one_sentence(
    words: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NUMAFIT_KUBE_BINARIES", raising=False)
    assert main(["cluster", "up", *shlex.split(words)]) == 2
    assert capsys.readouterr().err.startswith(f"numafit: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "nodes: [{name: gpu, machine: dgx-h100, labls: {}}]",
            'nodes.yaml:1:40: nodes[0].labls: there is no field "labls"',
        ),
        (
            "nodes: [{name: gpu, machine: dgx-h100, kubelet: {cpuManagerPolicy: static}}]",
            "the kubelet of gpu does not start: ",
        ),
    ],
)
def test_a_mistake_in_the_file_of_nodes_is_told_before_anything_is_started(
    text: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "openssl"):
        (tmp_path / name).write_text("#!/bin/sh\ntouch started\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("NUMAFIT_KUBE_BINARIES", raising=False)
    Path("nodes.yaml").write_text(text)
    assert main(["cluster", "up", "--nodes", "nodes.yaml"]) == 2
    assert capsys.readouterr().err.startswith(f"numafit: {said}")
    assert not Path("started").exists()


def test_the_job_for_github_in_the_documentation_fetches_all_programs_and_has_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path("docs/kubelet-sim.md").read_text()
    job = next(block for block in page.split("```") if block.startswith("yaml\njobs:"))
    steps = [
        step["run"] for step in yaml.safe_load(job.removeprefix("yaml"))["jobs"]["topology"]["steps"] if "run" in step
    ]
    fetch, write = (next(step for step in steps if word in step) for word in ("curl", "cat >"))
    assert all(name in fetch for name in CONTROL_PLANE)
    monkeypatch.chdir(tmp_path)
    subprocess.run(["bash", "-e", "-c", write], check=True)
    groups = simulated_groups(Path("nodes.yaml"))
    check_groups(groups)
    assert [group.names for group in groups] == [("gpu-0", "gpu-1", "gpu-2")]
