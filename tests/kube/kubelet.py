"""A real kubelet on a captured machine, joined to a control plane, and what can be done to it and its pods."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.kube.api import MERGE, STRATEGIC, Json
from tests.kube.build import RELEASE, binaries
from tests.kube.control_plane import ControlPlane
from tests.kube.mounts import entered, own_cgroup, seen_from, set_pages, unpacked
from tests.kube.outside import Outside
from tests.kube.processes import free_ports, start, stop, until

START_SECONDS = 60
STOP_SECONDS = 10
FOLDER = "/var/lib/kubelet"
STATE_FILES = {
    "cpu_manager_state": "cpu_manager_state",
    "memory_manager_state": "memory_manager_state",
    "device_checkpoint": "device-plugins/kubelet_internal_checkpoint",
    "allocated_pods_state": "allocated_pods_state",
}
HOUSEKEEPING = b'"SyncLoop (housekeeping)"'
"""The kubelet writes it every two seconds once all its sources are ready."""

BASE: Json = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
    "authorization": {"mode": "Webhook"},
    "address": "127.0.0.1",
    "readOnlyPort": 0,
    "healthzPort": 0,
    "cgroupDriver": "cgroupfs",
    "failCgroupV1": False,
    "failSwapOn": False,
    "fileCheckFrequency": "500ms",
    "syncFrequency": "2s",
    "cpuManagerReconcilePeriod": "1s",
    "imageMinimumGCAge": "24h",
    "imageGCHighThresholdPercent": 100,
    "enforceNodeAllocatable": ["pods"],
    "nodeStatusUpdateFrequency": "1s",
    "nodeStatusReportFrequency": "10s",
    "volumeStatsAggPeriod": "-1s",
    "shutdownGracePeriod": "0s",
    "evictionPressureTransitionPeriod": "5s",
    "kubeReserved": {"cpu": "500m", "memory": "128Mi"},
    "systemReserved": {"cpu": "500m", "memory": "128Mi"},
    "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%"},
}
"""Quick where a kubelet has a period. Reserved memory of the NUMA nodes must add up to 256 MiB. Memory that is used is
that of the real machine, so nobody is evicted for it."""

POD: Json = {
    "hostNetwork": True,
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 1,
    "enableServiceLinks": False,
    "automountServiceAccountToken": False,
    "tolerations": [{"operator": "Exists"}],
}
"""What all pods have in their spec."""


class KubeletNode:
    """`archive` is a captured machine; `config` overrides fields of BASE; `pages` are huge ones of 2 MiB, by NUMA node.

    All that is done to it is done by one thread: its processes end with that.
    """

    def __init__(
        self,
        cluster: ControlPlane,
        folder: Path,
        name: str,
        archive: Path,
        config: Mapping[str, Any],
        release: str = RELEASE,
        pages: Mapping[int, int] | None = None,
    ) -> None:
        self.cluster, self.folder, self.name = cluster, folder, name
        self.program = binaries(release) / "kubelet"
        folder.mkdir(parents=True)
        self.api = cluster.api
        self.node_api = cluster.api_as(f"node-{name}", f"system:node:{name}", "system:nodes")
        self.kubeconfig = cluster.authority.kubeconfig(name, cluster.server, f"system:node:{name}", "system:nodes")
        self.log = folder / "kubelet.log"
        self.config = folder / "kubelet-config.json"
        self.plugins: dict[str, tuple[str, ...]] = {}
        """Those that there are outside, with their lists."""
        self.registered: set[str] = set()
        """Those that the kubelet that runs has heard of."""
        self.process: subprocess.Popen[bytes] | None = None
        self.cgroup = own_cgroup(name)
        self.cgroup.make()
        self.machine = unpacked(archive, folder / "machine")
        self.pages = dict(pages or {})
        set_pages(self.machine, self.pages)
        self.outside = Outside(folder, self.machine, cluster.binaries)
        own = {
            "port": free_ports(1)[0],
            "authentication": {**BASE["authentication"], "x509": {"clientCAFile": str(cluster.authority.certificate)}},
            "cgroupRoot": f"/{self.cgroup.name}",
            "containerRuntimeEndpoint": f"unix://{self.outside.runtime}",
            "volumePluginDir": str(folder / "volumes"),
        }
        self.base: Json = changed({**BASE, **own}, config)

    @property
    def lib(self) -> Path:
        return seen_from(self.outside.process.pid, FOLDER)

    def start(self, config: Mapping[str, Any] | None = None, *, plugins: str = "first") -> bool:
        """False where it ended instead. `plugins`: first, late or never, as in an event file."""
        self.config.write_text(json.dumps(changed(self.base, config or {}), indent=1))
        socket = self.lib / "device-plugins" / "kubelet.sock"
        begun = self.log.stat().st_size if self.log.exists() else 0
        self.begin()
        if not until("plugins can register", START_SECONDS, lambda: self.ended or socket.exists(), 0.01):
            return False
        if plugins == "first" and not self.ended:
            self.register_plugins()
        until(
            "the kubelet keeps house",
            START_SECONDS,
            lambda: self.ended or self.read_log(begun).count(HOUSEKEEPING) >= (2 if plugins == "late" else 1),
        )
        if plugins == "late" and not self.ended:
            self.register_plugins()
        if not self.ended:
            until("the node is ready", START_SECONDS, lambda: self.ended or self.is_ready())
        return not self.ended

    def begin(self) -> None:
        """The process alone, with the configuration that lies there; nothing is waited for."""
        (self.lib / "device-plugins" / "kubelet.sock").unlink(missing_ok=True)
        flags = [f"--config={self.config}", f"--kubeconfig={self.kubeconfig}", f"--hostname-override={self.name}"]
        command = entered(self.outside.process.pid, self.folder / "here", [str(self.program), *flags, "-v=4"])
        self.process = start(command, self.log)

    def register_plugins(self) -> None:
        for resource, devices in self.plugins.items():
            self.start_plugin(resource, devices)

    @property
    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def stop(self) -> None:
        if self.process is not None:
            stop(self.process, STOP_SECONDS)
        for resource in self.registered:
            # its socket goes with the kubelet that it registered with
            self.outside.stop_plugin(resource)
        self.registered.clear()

    def reboot(self) -> None:
        """While the kubelet is down."""
        self.outside.forget()

    def is_ready(self) -> bool:
        node = self.node()
        conditions = node["status"].get("conditions", ()) if node else ()
        return any(own["type"] == "Ready" and own["status"] == "True" for own in conditions)

    def node(self) -> Json | None:
        return self.api.get(f"/api/v1/nodes/{self.name}")

    def allocatable(self) -> dict[str, str]:
        own: dict[str, str] = ((self.node() or {}).get("status") or {}).get("allocatable") or {}
        return own

    def read_log(self, begin: int = 0) -> bytes:
        with self.log.open("rb") as file:
            file.seek(begin)
            return file.read()

    def state_files(self) -> dict[str, Any]:
        return {name: _json(self.lib / path) for name, path in STATE_FILES.items()}

    # plugins

    def start_plugin(self, resource: str, devices: Sequence[str]) -> None:
        self.plugins[resource] = tuple(devices)
        self.outside.start_plugin(resource, devices)
        self.registered.add(resource)

    def list_devices(self, resource: str, devices: Sequence[str]) -> None:
        self.plugins[resource] = tuple(devices)
        self.outside.list_devices(resource, devices)

    def stop_plugin(self, resource: str) -> None:
        del self.plugins[resource]
        self.registered.remove(resource)
        self.outside.stop_plugin(resource)

    # pods

    def pods(self) -> dict[str, Json]:
        return self.api.pods(node=self.name)

    def add(self, pod: Json) -> Json:
        """Bound to this node; returned as the API server keeps it."""
        spec = {**POD, **pod["spec"], "nodeName": self.name}
        return self.api.post("/api/v1/namespaces/default/pods", {**pod, "spec": spec})

    def remove(self, names: Sequence[str]) -> None:
        """While the kubelet is down by force: else they would come once more when it starts, and go only then."""
        force = "?gracePeriodSeconds=0" if self.ended else ""
        for name in names:
            self.api.delete(f"/api/v1/namespaces/default/pods/{name}{force}")

    def gone(self, names: Sequence[str]) -> bool:
        return not set(names) & set(self.pods())

    def resize(self, pod: str, container: str, resources: Mapping[str, Any]) -> httpx.Response:
        content = {"spec": {"containers": [{"name": container, "resources": dict(resources)}]}}
        return self.api.ask("PATCH", f"/api/v1/namespaces/default/pods/{pod}/resize", content, STRATEGIC)

    def list_capacity(self, resource: str, amount: int) -> None:
        content = {"status": {"capacity": {resource: str(amount)}}}
        path = f"/api/v1/nodes/{self.name}/status"
        answer = self.api.ask("PATCH", path, content, MERGE)
        if answer.is_error:
            raise RuntimeError(f"{path}: {answer.text[:500]}")

    def close(self) -> None:
        """The node goes, with its pods."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for name in self.pods():
            self.api.delete(f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
        self.api.delete(f"/api/v1/nodes/{self.name}")
        self.node_api.close()
        self.outside.stop()
        self.cgroup.remove()


def changed(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> Json:
    """A configuration with other fields; null removes one."""
    return {name: value for name, value in {**base, **overrides}.items() if value is not None}


def _json(path: Path) -> Any:
    """`Any`: a file of the kubelet's; None where it is not there or is being written."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
