"""Nodes beside a control plane: `numafit kubelet-sim` as one more of its programs."""

import sys
import time
from pathlib import Path
from typing import Any

from numafit.cluster.up.control_plane import ControlPlane

NAME = "kubelet-sim"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
QUIET_SECONDS = 1.5
"""So long no further node has come: the file of nodes is known to the program alone."""
NODE_SECONDS = 120


def start_nodes(cluster: ControlPlane, file: Path) -> list[str]:
    """Their names, once they are Ready. It speaks as the administrator: one process plays many nodes."""
    before = {name: _renewed(lease) for name, lease in _by_name(cluster, LEASES).items()}
    command = [sys.executable, "-m", "numafit", NAME, str(file.absolute()), "--kubeconfig", str(cluster.kubeconfig)]
    cluster.start(NAME, command)
    last, since = [""], time.monotonic()

    def all_there() -> list[str] | None:
        nonlocal last, since
        ready, waiting = _living(cluster, before)
        if ready != last or waiting:
            last, since = ready, time.monotonic()
        return ready if ready and time.monotonic() - since > QUIET_SECONDS else None

    return cluster.wait_for("all nodes are Ready", all_there, NODE_SECONDS)


def _living(cluster: ControlPlane, before: dict[str, str]) -> tuple[list[str], bool]:
    """The names of nodes that are Ready, and whether there are others. A node of an earlier start that nobody plays
    any more says it is Ready for a while: its lease stays as it was."""
    leases = _by_name(cluster, LEASES)
    fresh = {name for name, lease in leases.items() if _renewed(lease) != before.get(name)}
    nodes = {name: node for name, node in _by_name(cluster, NODES).items() if name in fresh}
    ready = sorted(name for name, node in nodes.items() if is_ready(node))
    return ready, len(ready) < len(nodes)


def is_ready(node: dict[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(own["type"] == "Ready" and own["status"] == "True" for own in conditions)


def _by_name(cluster: ControlPlane, path: str) -> dict[str, dict[str, Any]]:
    """`Any`: objects of the API."""
    listed = cluster.probe.get(path) or {"items": []}
    return {own["metadata"]["name"]: own for own in listed["items"]}


def _renewed(lease: dict[str, Any]) -> str:
    return str((lease.get("spec") or {}).get("renewTime"))
