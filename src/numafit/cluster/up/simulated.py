"""Nodes beside a control plane: `numafit kubelet-sim` as one more of its programs."""

import re
import sys
from pathlib import Path
from typing import Any

from numafit.cluster.up.control_plane import ControlPlane

NAME = "kubelet-sim"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODE_SECONDS = 300
"""A thousand of them take a while."""
_ALL_THERE = re.compile(r"^(\d+) nodes? (?:is|are) ready", re.MULTILINE)
"""What it prints when it has told the API server of each; which ones are in its file only it knows."""


def define_kind(cluster: ControlPlane, definition: str, name: str, path: str) -> None:
    """`definition`: a CustomResourceDefinition `name` as YAML; returns once its objects are served at `path`."""
    cluster.wait_for("a kind is defined", lambda: cluster.probe.apply(f"{DEFINITIONS}/{name}", definition))
    cluster.wait_for("a kind is served", lambda: cluster.probe.get(path))


def start_nodes(cluster: ControlPlane, file: Path) -> list[str]:
    """Their names, once they are Ready. It speaks as the administrator: one process plays many nodes."""
    before = {name: _renewed(lease) for name, lease in _by_name(cluster, LEASES).items()}
    command = [sys.executable, "-m", "numafit", NAME, str(file.absolute())]
    command += ["--kubeconfig", str(cluster.kubeconfig), "--state", str(cluster.folder / "nodes")]
    cluster.start(NAME, command)

    def all_there() -> list[str] | None:
        told = _ALL_THERE.search(cluster.log(NAME))
        if told is None:
            return None
        ready = _ready(cluster, before)
        return ready if len(ready) >= int(told[1]) else None

    return cluster.wait_for("all nodes are Ready", all_there, NODE_SECONDS)


def _ready(cluster: ControlPlane, before: dict[str, str]) -> list[str]:
    """A node of an earlier start that nobody plays any more says for a while that it is Ready: its lease stays as it
    was."""
    leases = _by_name(cluster, LEASES)
    fresh = {name for name, lease in leases.items() if _renewed(lease) != before.get(name)}
    return sorted(name for name, node in _by_name(cluster, NODES).items() if name in fresh and is_ready(node))


def is_ready(node: dict[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(own["type"] == "Ready" and own["status"] == "True" for own in conditions)


def _by_name(cluster: ControlPlane, path: str) -> dict[str, dict[str, Any]]:
    """`Any`: objects of the API."""
    listed = cluster.probe.get(path) or {"items": []}
    return {own["metadata"]["name"]: own for own in listed["items"]}


def _renewed(lease: dict[str, Any]) -> str:
    return str((lease.get("spec") or {}).get("renewTime"))
