"""`numafit device-plugin`: what would be offered, and which words go together. Serving is tested in cluster/device."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from numafit.__main__ import main

LIST = """\
format: numafit/devices/v1
resources:
  - name: example.com/fpga
    devices:
      - {id: f0, numa: [1], envs: {FPGA: f0}}
      - {id: f1, healthy: false, nodes: [{hostPath: /no/such/file}]}
"""


def test_a_dry_run_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.yaml").write_text(LIST)
    assert main(["device-plugin", str(tmp_path / "d.yaml"), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "RESOURCE          DEVICE  HEALTH     NUMA     A CONTAINER GETS",
        "example.com/fpga  f0      healthy    1        FPGA=f0",
        "example.com/fpga  f1      unhealthy  unknown  /no/such/file",
    ]


def test_a_dry_run_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device-plugin", "--machine", "dgx-h100", "--replicas", "2", "--dry-run", "-o", "json"]) == 0
    (resource,) = json.loads(capsys.readouterr().out)["resources"]
    assert (resource["resource"], resource["replicas"], len(resource["devices"])) == ("nvidia.com/gpu", 2, 8)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "it is not said which devices"),
        ("x.yaml --nvidia", "FILE and --nvidia do not go together"),
        ("--pci-class 02", "it is not said what pods ask for"),
        ("--pci-class 2 --resource a.b/c", '--pci-class: "2" is not a PCI class (write it like 0302)'),
        ("--pci-vendor xx --resource a.b/c", '--pci-vendor: "xx" is not a vendor (write it like 10de)'),
        ("--pci-vendor 10de --resource c", '"c" is not a name of a resource'),
        ("--machine dgx-h100 --resource a.b/c", "--resource: goes with --pci-class"),
        ("--machine dgx-h100 --pass-device-specs", "--pass-device-specs: goes with --nvidia only"),
        ("--machine dgx-h100 --fail-on-init-error false", "--fail-on-init-error: goes with --nvidia only"),
        ("--nvidia --device-list-strategy env", '--device-list-strategy: there is no "env"'),
        ("x.yaml --replicas 2", "--replicas: does not go with a FILE"),
        ("--machine dgx-h100 -o json", "-o: goes with --dry-run only"),
        ("x.yaml --dry-run", "x.yaml: "),
        ("--machine dgx-h100 --kubelet-dir /no/such", "/no/such/device-plugins: there is no such folder"),
        ("--machine 'sketch:1 socket x 2 cores' --dry-run", "the machine has no devices that a plugin could offer"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    words: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["device-plugin", *shlex.split(words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_without_its_packages_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--dry-run` needs none of them."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    for name in [name for name in sys.modules if name.startswith(("numafit.cluster.device", "numafit.cluster.wire"))]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["device-plugin", "--machine", "dgx-h100", "--kubelet-dir", str(tmp_path)]) == 2
    assert "the Python package grpcio is needed" in capsys.readouterr().err
