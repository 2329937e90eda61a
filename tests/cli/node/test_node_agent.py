"""`numafit node-agent`: what it prints, and which words go together. What it does is tested in cluster/node."""

import shlex
import sys

import pytest
import yaml

from numafit.__main__ import main


def test_a_manifest_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node-agent", "--manifest", "--image", "registry.example.com/numafit:1", "--namespace", "lab"]) == 0
    *_, daemons = yaml.safe_load_all(capsys.readouterr().out)
    assert (daemons["kind"], daemons["metadata"]["namespace"]) == ("DaemonSet", "lab")
    (container,) = daemons["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/numafit:1"


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


def test_without_its_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.startswith(("numafit.cluster.node", "numafit.cluster.kube", "lightkube")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lightkube", None)
    assert main(["node-agent", "--node-name", "n1"]) == 2
    assert "the Python package lightkube is needed" in capsys.readouterr().err
