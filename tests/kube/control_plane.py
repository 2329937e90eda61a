"""The control plane of `numafit cluster up`, and requests to it as whoever a test wants."""

import subprocess
from pathlib import Path

from numafit.cluster.up import control_plane
from numafit.cluster.up.folder import ClusterFolder
from numafit.cluster.up.programs import found_programs
from tests.kube.api import Api
from tests.kube.processes import start


class ControlPlane(control_plane.ControlPlane):
    """`api` speaks as a member of system:masters. Its folder goes with the test."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        folder.mkdir(parents=True)
        super().__init__(ClusterFolder(folder, kept=False), found_programs(binaries))
        self.binaries = binaries
        self.api: Api
        self._apis: list[Api] = []

    def _start(self) -> None:
        super()._start()
        self.api = self.api_as(control_plane.ADMIN, control_plane.ADMIN, control_plane.MASTERS)

    def api_as(self, name: str, user: str, group: str = "") -> Api:
        """For somebody whom RBAC knows; closed with the control plane, if not before."""
        api = Api(self.server, self.authority.certificate, *self.authority.issue(name, user, group))
        self._apis.append(api)
        return api

    def start_again(self, name: str) -> subprocess.Popen[bytes]:
        """One of its programs that has ended, with the same flags and over the same data; nothing is waited for."""
        command = self.processes[name].args
        assert isinstance(command, list)
        self.processes[name] = start(command, self.logs / f"{name}.log")
        return self.processes[name]

    def stop(self) -> None:
        for api in self._apis:
            api.close()
        super().stop()
