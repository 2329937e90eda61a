"""The ways: which programs of numafit run, or which scheduler, on a control plane and a fleet of their own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.controllers import controlling
from tests.kube.counted.fleet import HOLDERS, RESTRICTED, fill, group
from tests.kube.counted.owners import prepare
from tests.kube.counted.watched import Watched
from tests.kube.processes import free_ports, start, stop, until
from tests.kube.rival.publish import ResourceTopologies
from tests.kube.rival.scheduler import replace_scheduler
from tests.kube.simulation import SimProcess, simulated

WAYS = ("stock", "guard", "place", "extender")
RIVAL = "rival"
"""Beside them, where it is built."""


class Way:
    def __init__(self, name: str, cluster: ControlPlane, sim: SimProcess, folder: Path) -> None:
        self.name, self.cluster, self.sim, self.folder = name, cluster, sim, folder
        self.watched = Watched(cluster.kubeconfig)
        self.programs: dict[str, subprocess.Popen[bytes]] = {}
        self.publisher: ResourceTopologies | None = None
        """Of the rival."""

    def numafit(self, name: str, *arguments: str, kubeconfig: bool = True) -> Path:
        """Starts one; its log."""
        log = self.folder / f"{name}.log"
        access = [f"--kubeconfig={self.cluster.kubeconfig}"] if kubeconfig else []
        self.programs[name] = start([sys.executable, "-m", "numafit", *arguments, *access], log)
        return log

    def check(self) -> None:
        if self.publisher is not None:
            self.publisher.check()
            self.cluster.check()
        for name, process in self.programs.items():
            if process.poll() is not None:
                raise AssertionError(f"{name} ended: {(self.folder / f'{name}.log').read_text()[-2000:]}")


def _nothing(_: Way) -> None:
    return


def _guard(way: Way) -> None:
    metrics = free_ports(1)[0]
    way.numafit("guard", "guard", "--enforce", "--by=policy", f"--metrics-port={metrics}")
    _until_ready(way, metrics)


def _place(way: Way) -> None:
    port, metrics = free_ports(2)
    url = f"--url=https://127.0.0.1:{port}"
    way.numafit("place", "place", url, "--address=127.0.0.1", f"--port={port}", f"--metrics-port={metrics}")
    _until_ready(way, metrics)


def _extender(way: Way) -> None:
    port, metrics = free_ports(2)
    at = "--address=127.0.0.1"
    way.numafit("extender", "extender", at, f"--port={port}", f"--metrics-port={metrics}")
    _until_ready(way, metrics)
    cluster, scheduler = way.cluster, "kube-scheduler"
    file = way.folder / "scheduler.yaml"
    command = [sys.executable, "-m", "numafit", "scheduler-config", f"--url=http://127.0.0.1:{port}"]
    access = cluster.authority.folder / f"{scheduler}.kubeconfig"
    made = subprocess.run([*command, f"--scheduler-kubeconfig={access}"], capture_output=True, text=True, check=True)
    file.write_text(made.stdout)
    cluster.processes[scheduler].kill()
    cluster.processes[scheduler].wait()
    cluster.run(scheduler, [f"--config={file}", "--leader-elect=false", "--secure-port=0"])


def _rival(way: Way) -> None:
    way.publisher = replace_scheduler(way.cluster, way.folder)


BEGIN: dict[str, Callable[[Way], None]] = {
    "stock": _nothing,
    "guard": _guard,
    "place": _place,
    "extender": _extender,
    RIVAL: _rival,
}


def _until_ready(way: Way, port: int) -> None:
    import httpx

    def ready() -> bool:
        way.check()
        try:
            return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success
        except httpx.TransportError:
            return False

    try:
        until("it is ready", 60, ready)
    except TimeoutError:
        logs = "".join(own.read_text()[-1000:] for own in way.folder.glob("*.log"))
        raise AssertionError(f"it is not ready: {logs}") from None


@contextmanager
def begun(
    name: str,
    folder: Path,
    binaries: Path,
    leaving_seconds: float,
    groups: Sequence[Json] = (),
    policy: str = RESTRICTED,
    controllers: Sequence[str] = (),
) -> Iterator[Way]:
    """A cluster whose fleet is filled, and whose programs are ready. `groups`: these nodes instead, with nobody.
    `controllers`: those of others that run there, too."""
    with standing(name, folder, binaries, list(groups) or [group(policy)]) as way, ExitStack() as stack:
        for release in controllers:
            stack.enter_context(controlling(way.cluster, folder / release, release))
        count = 0 if groups else fill(way.cluster.api, leaving_seconds)
        prepare(way.cluster.api)
        until("all holders run", 120, lambda: _running(way.cluster, count))
        way.watched.start()
        way.watched.ready.wait(30)
        BEGIN[name](way)
        yield way


@contextmanager
def standing(name: str, folder: Path, binaries: Path, groups: list[Json]) -> Iterator[Way]:
    """A cluster with its nodes, and nobody on them."""
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    folder.mkdir(parents=True, exist_ok=True)
    with ControlPlane(folder / "c", binaries) as cluster:
        definition = [sys.executable, "-m", "numafit", "kubelet-sim", "--definition"]
        crd = subprocess.run(definition, capture_output=True, check=True).stdout
        kubectl = [str(binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "apply", "-f", "-"]
        subprocess.run(kubectl, input=crd, check=True, capture_output=True)
        cluster.api.post("/api/v1/namespaces", {"metadata": {"name": "numafit"}})
        with simulated(cluster.kubeconfig, folder / "sim", groups, "--topology") as sim:
            way = Way(name, cluster, sim, folder)
            try:
                yield way
            finally:
                for process in way.programs.values():
                    stop(process)
                if way.publisher is not None:
                    way.publisher.stop()
                if way.watched.is_alive():
                    way.watched.stop()


def _running(cluster: ControlPlane, count: int) -> bool:
    phases = [pod["status"].get("phase") for pod in cluster.api.pods(HOLDERS).values()]
    return phases.count("Running") + phases.count("Succeeded") == count
