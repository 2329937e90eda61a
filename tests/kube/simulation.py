"""`numafit kubelet-sim` as a process of its own, and somebody who has the rights that it prints."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numafit.cluster.sim.rights import RIGHTS
from numafit.document import read_documents
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import start, stop, until

GPU = "lab.io/gpu"


class SimProcess:
    def __init__(self, kubeconfig: Path, folder: Path, groups: list[Json]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.log, self.state = folder / "nodes.json", folder / "sim.log", folder / "state"
        self.file.write_text(json.dumps({"format": "numafit/nodes/v1", "nodes": groups}))
        self.kubeconfig = kubeconfig
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        self.log.write_text("")
        command = [sys.executable, "-m", "numafit", "kubelet-sim", str(self.file), f"--kubeconfig={self.kubeconfig}"]
        self.process = start([*command, f"--state={self.state}", *more], self.log)
        until("the nodes are ready", 60, lambda: self._ended() or "ready" in self.log.read_text())

    def _ended(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"it ended: {self.log.read_text()}")
        return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int | None:
        assert self.process is not None
        stop(self.process, 10)
        return self.process.returncode


@contextmanager
def simulated(kubeconfig: Path, folder: Path, groups: list[Json], *more: str) -> Iterator[SimProcess]:
    own = SimProcess(kubeconfig, folder, groups)
    own.start(*more)
    try:
        yield own
    finally:
        if own.process is not None and own.process.poll() is None:
            own.kill()


@contextmanager
def allowed_simulator(cluster: ControlPlane) -> Iterator[Path]:
    """A kubeconfig of somebody who may do what `--rights` says, and nothing else."""
    rights = [own.value for own in read_documents(RIGHTS)]
    group = "/apis/rbac.authorization.k8s.io/v1"
    made: list[str] = []

    def make(path: str, content: Json) -> None:
        cluster.api.post(path, content)
        made.append(f"{path}/{content['metadata']['name']}")

    for own in rights:
        assert isinstance(own, dict)
        space = own["metadata"].get("namespace")
        place = f"{group}/namespaces/{space}" if space else group
        make(f"{place}/{own['kind'].lower()}s", own)
        subject = {"kind": "User", "name": "simulator", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": own["kind"], "name": own["metadata"]["name"], "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": "simulator"}, "roleRef": reference, "subjects": [subject]}
        make(f"{place}/{own['kind'].lower()}bindings", binding)
    yield cluster.authority.kubeconfig("simulator", cluster.server, "simulator")
    for path in made:
        cluster.api.delete(path)
