"""Containers and device plugins as a kubelet sees them: the program in `programs/cri`, asked through its socket."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.kube.mounts import inside
from tests.kube.processes import start, stop, until

READY_SECONDS = 20


class SeenContainer(NamedTuple):
    pod: str
    container: str
    attempt: int
    state: str
    cpus: str
    mems: str


class Outside:
    """It also holds the mounts of its node: they go when it ends."""

    def __init__(self, folder: Path, machine: Path, binaries: Path) -> None:
        self.runtime, control = folder / "cri.sock", folder / "control.sock"
        own = [str(binaries / "cri"), f"-runtime={self.runtime}", f"-control={control}"]
        self.process: subprocess.Popen[bytes] = start(inside(machine, folder / "sysctl", own), folder / "cri.log")
        self.client = httpx.Client(
            base_url="http://cri", transport=httpx.HTTPTransport(uds=str(control)), timeout=30, trust_env=False
        )

        def is_there() -> bool:
            if self.process.poll() is not None:
                raise RuntimeError(f"the runtime ended: {(folder / 'cri.log').read_text()[-1000:]}")
            return control.exists() and self.runtime.exists()

        until("the runtime listens", READY_SECONDS, is_there)

    def _ask(self, path: str, content: dict[str, Any] | None = None) -> Any:
        """`Any`: what it answers is JSON."""
        answer = self.client.get(path) if content is None else self.client.post(path, json=content)
        if answer.is_error:
            raise RuntimeError(f"{path}: {answer.text.strip()}")
        return answer.json()

    def containers(self) -> list[SeenContainer]:
        return sorted(SeenContainer(**own) for own in self._ask("/containers"))

    def exit(self, pod: str, container: str, code: int = 1) -> None:
        self._ask("/exit", {"pod": pod, "container": container, "code": code})

    def forget(self) -> None:
        """No container is left, as after a reboot."""
        self._ask("/forget", {})

    def start_plugin(self, resource: str, devices: Sequence[str]) -> None:
        """It registers with the kubelet that runs; one for that resource that runs already ends first."""
        self._ask("/plugin/start", _devices(resource, devices))

    def list_devices(self, resource: str, devices: Sequence[str]) -> None:
        self._ask("/plugin/list", _devices(resource, devices))

    def stop_plugin(self, resource: str) -> None:
        self._ask("/plugin/stop", _devices(resource, ()))

    def pod_resources(self) -> dict[str, Any]:
        content: dict[str, Any] = self._ask("/podresources")
        return content

    def stop(self) -> None:
        self.client.close()
        stop(self.process)


def _devices(resource: str, devices: Sequence[str]) -> dict[str, Any]:
    return {"resource": resource, "devices": [_device(own) for own in devices]}


def _device(text: str) -> dict[str, Any]:
    """`g0@0`, `n1@2+3` with several NUMA nodes, `!g2@1` unhealthy."""
    name, _, nodes = text.removeprefix("!").partition("@")
    return {
        "id": name,
        "nodes": [int(node) for node in nodes.split("+")] if nodes else [],
        "healthy": not text.startswith("!"),
    }
