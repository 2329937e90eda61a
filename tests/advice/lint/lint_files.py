"""Files for the tests of lint, small and by hand; most of them with one mistake."""

import json
from collections.abc import Mapping
from typing import Any

from numafit.advice.lint.findings import Finding
from numafit.advice.lint.lint import LintFile, lint
from numafit.machine.model import Machine
from numafit.settings.versions import parse_version

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
GOOD = HEAD + (
    "cpuManagerPolicy: static\nmemoryManagerPolicy: Static\ntopologyManagerPolicy: restricted\n"
    'kubeReserved: {cpu: "1", memory: 924Mi}\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n'
)


def findings(
    *texts: str | bytes, version: str = "1.36", machine: Machine | None = None, named: bool = True
) -> tuple[Finding, ...]:
    """The files are called `file0`, `file1`, …"""
    sources = [
        LintFile(f"file{index}", text.encode() if isinstance(text, str) else text, named)
        for index, text in enumerate(texts)
    ]
    return lint(sources, parse_version(version), machine).findings


def codes(*texts: str | bytes, version: str = "1.36", machine: Machine | None = None) -> list[str]:
    return [each.code for each in findings(*texts, version=version, machine=machine)]


def one(code: str, *texts: str | bytes, version: str = "1.36", machine: Machine | None = None) -> Finding:
    """The only finding of this code."""
    found = [each for each in findings(*texts, version=version, machine=machine) if each.code == code]
    assert len(found) == 1, found
    return found[0]


def pod(containers: list[Mapping[str, Any]], **spec: Any) -> str:
    """`Any`: any JSON that a manifest may hold."""
    body = {"containers": containers, **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": body}, indent=1)


def container(
    name: str = "app", limits: Mapping[str, Any] | None = None, requests: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Four CPUs and a gibibyte unless limits are given."""
    resources: dict[str, Any] = {"limits": {"cpu": "4", "memory": "1Gi"} if limits is None else limits}
    if requests is not None:
        resources["requests"] = requests
    return {"name": name, "image": name, "resources": resources, **more}


def variables(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]
