"""A host as files: its /sys and /proc, a kubelet with its configuration, and its state."""

from pathlib import Path
from typing import Any

from tests.cluster.node.test_process import process
from tests.machine.read.sysfs.trees import MapTree, server

CONFIG = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
topologyManagerPolicy: restricted
"""
KUBELET = "var/lib/kubelet"


def host(root: Path, config: str = CONFIG) -> Path:
    """Two NUMA nodes of four cores with two threads each. Returns the kubelet's folder."""
    MapTree(server()).write(root)
    process(root, 20, "/usr/bin/kubelet", "--config=/etc/kubelet.yaml")
    (root / "etc").mkdir()
    (root / "etc" / "kubelet.yaml").write_text(config)
    folder = root / KUBELET
    (folder / "device-plugins").mkdir(parents=True)
    return folder


def node_object(name: str = "n1", version: str = "v1.36.4", **offers: str) -> dict[str, Any]:
    offered = {name.replace("_", "/"): amount for name, amount in offers.items()}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": f"of-{name}", "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "nodeInfo": {"kubeletVersion": version, "operatingSystem": "linux"},
            "capacity": offered,
            "allocatable": offered,
        },
    }
