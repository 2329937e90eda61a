"""Claims and slices in files beside those of pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from tests.cluster.claims.objects import claim, slice_of

NODE = ["--machine", "examples/small-node/machine.json", "--kubelet", "examples/small-node/kubelet.yaml"]


def pod(uid: str = "u-1") -> dict[str, Any]:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "claims": [{"name": "gpu"}]}
    spec = {
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
        "containers": [{"name": "main", "image": "a", "resources": resources}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ml", "uid": uid}, "spec": spec}


def written(path: Path, *items: dict[str, Any]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize("command", ["simulate", "explain", "advise", "fit"])
def test_a_pod_says_where_the_devices_of_its_claims_are(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one file or in several."""
    pods = written(tmp_path / "pods.json", pod())
    slices = slice_of({"gpu-3": {"resource.kubernetes.io/numaNode": {"int": 1}}})
    claims = written(tmp_path / "claims.json", claim("c", "u-1", "gpu-3"), slices)
    assert main([command, *NODE, pods, claims, "-o", "json"]) in (0, 1)
    notes = json.loads(capsys.readouterr().out)["notes"]
    (text,) = [note["text"] for note in notes if note["code"] == "claim-not-aligned"]
    assert text.startswith("it has gpu-3 of gpu.nvidia.com on NUMA node 1 by claims, and exclusive CPUs: nobody aligns")


def test_without_claims_it_says_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *NODE, written(tmp_path / "pods.json", pod())]) == 0
    assert 'container "main" has devices by claims and exclusive CPUs: nobody aligns these' in capsys.readouterr().out


def test_where_no_cpus_are_exclusive_nothing_is_to_be_aligned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubelet = tmp_path / "kubelet.yaml"
    kubelet.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    pods = written(tmp_path / "pods.json", pod())
    assert main(["explain", *NODE[:2], "--kubelet", str(kubelet), pods]) == 0
    assert "nobody aligns" not in capsys.readouterr().out


def test_a_claim_that_is_none_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = claim("c", "u-1", "gpu-3")
    bad["status"] = "given"
    claims = written(tmp_path / "claims.json", bad)
    assert main(["explain", *NODE, written(tmp_path / "pods.json", pod()), claims]) == 2
    error = capsys.readouterr().err
    assert "this is no ResourceClaim" in error
    assert error.count("\n") == 1
