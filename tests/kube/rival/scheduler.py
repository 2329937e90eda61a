"""The rival's scheduler in the place of the stock one, configured as its own page advises: with its cache."""

import json
from pathlib import Path

from numafit.cluster.node.resource_topology import API_VERSION
from tests.kube.api import Api
from tests.kube.build import RIVAL, binaries
from tests.kube.control_plane import ControlPlane
from tests.kube.rival.publish import ResourceTopologies, define_resource_topologies

SCHEDULER = "kube-scheduler"
PLUGIN = "NodeResourceTopologyMatch"
RESYNC_SECONDS = 5
"""Fewer are not recommended there."""


def replace_scheduler(cluster: ControlPlane, folder: Path, resync_seconds: int = RESYNC_SECONDS) -> ResourceTopologies:
    """Who publishes what it reads: to be stopped at the end. Without `resync_seconds` it remembers no pod that a node
    has not yet reported, which is the plugin's default."""
    define_resource_topologies(cluster.api)
    _allow(cluster.api)
    publisher = ResourceTopologies(cluster.kubeconfig)
    publisher.start()
    if not publisher.ready.wait(120):
        raise AssertionError("no NodeResourceTopology was written")
    # It lists them once when it begins, so they are there before it.
    file = folder / "rival.json"
    file.write_text(json.dumps(configuration(cluster, resync_seconds)))
    cluster.processes[SCHEDULER].kill()
    cluster.processes[SCHEDULER].wait()
    program = binaries(RIVAL) / SCHEDULER
    cluster.start(SCHEDULER, [str(program), f"--config={file}", "--secure-port=0", "-v=2"])
    return publisher


def _allow(api: Api) -> None:
    """The scheduler's own role knows nothing of these objects."""
    group, name = "rbac.authorization.k8s.io", "rival"
    path = f"/apis/{group}/v1"
    rule = {"apiGroups": [API_VERSION.partition("/")[0]], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    api.post(f"{path}/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
    who = {"kind": "User", "name": f"system:{SCHEDULER}", "apiGroup": group}
    role = {"kind": "ClusterRole", "name": name, "apiGroup": group}
    api.post(f"{path}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": [who]})


def configuration(cluster: ControlPlane, resync_seconds: int) -> dict[str, object]:
    access = cluster.authority.folder / f"{SCHEDULER}.kubeconfig"
    own = {"name": PLUGIN, "args": {"cacheResyncPeriodSeconds": resync_seconds}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(access), "qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": [{"name": PLUGIN}]}},
                "pluginConfig": [own],
            }
        ],
    }
