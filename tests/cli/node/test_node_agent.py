"""`numafit node-agent`: what it prints, and which words go together. What it does is tested in cluster/node."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from numafit.__main__ import main
from tests.cluster.api_server import kubeconfig


def test_a_manifest_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node-agent", "--manifest", "--image", "example.com/numafit:1", "--namespace", "lab"]) == 0
    *_, daemons = yaml.safe_load_all(capsys.readouterr().out)
    assert (daemons["kind"], daemons["metadata"]["namespace"]) == ("DaemonSet", "lab")
    (container,) = daemons["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/numafit:1"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--manifest", "--manifest: an image is needed (name one with numafit in it by --image)"),
        ("--image x", "--image: goes with --manifest only"),
        ("--namespace x", "--namespace: goes with --manifest or --allow-switch only"),
        ("--stop-command x", "--stop-command: goes with --allow-switch only"),
        ("--kubeconfig /no/such/file", "/no/such/file"),
    ],
)
def test_what_does_not_go_together_is_refused(words: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node-agent", *shlex.split(words)]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            "--kubelet-config /no/such/file",
            "--kubelet-config: /no/such/file: cannot be read: No such file or directory",
        ),
        ("--recordings /dev/null/x", "--recordings: /dev/null/x: cannot be written in: Not a directory"),
    ],
)
def test_files_that_are_named_are_looked_at_before_it_begins(
    words: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = kubeconfig(tmp_path, "http://127.0.0.1:1")
    assert main(["node-agent", "--kubeconfig", str(config), *shlex.split(words)]) == 2
    assert why in capsys.readouterr().err


def test_without_its_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.startswith(("numafit.cluster.node", "numafit.cluster.kube", "lightkube")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lightkube", None)
    assert main(["node-agent", "--node-name", "n1"]) == 2
    assert "the Python package lightkube is needed" in capsys.readouterr().err


WITHOUT = """
import sys
for name in ("google", "grpc", "httpx2", "lightkube"):
    sys.modules[name] = None
from numafit.__main__ import main
sys.exit(main(["node-agent", "--manifest", "--image", "none:1"]))
"""


def test_without_its_extra_a_manifest_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is needed, which is not installed (install numafit with it" in done.stderr
