"""How fast pods are scheduled that are all there: schedulers with different settings, with and without an extender.

All pods are there before the scheduler begins; what counts is the time from the first binding to the last. Nodes are
objects that nothing stands behind (`bare.py`). A way is a scheduler with its configuration, and what runs beside it.
Numbers of two runs say nothing about each other: ratios inside one do.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from numafit.cluster.extender.configuration import API_VERSION, SchedulerConfig, configuration
from numafit.cluster.kube.access import access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.up.control_plane import ControlPlane as UpControlPlane
from numafit.cluster.up.programs import SCHEDULER
from tests.kube.api import Json
from tests.kube.bare import define_topologies, make_nodes, stop_controllers
from tests.kube.build import binaries
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_ports, start, stop, until
from tests.kube.rates.used import process_seconds

PODS = 400
NAMESPACE = "/api/v1/namespaces/default/pods"
STALLED = 20.0
"""Seconds without a binding after which no more is waited for."""
FAST = {"qps": 5000, "burst": 5000}
"""So that a scheduler is not held back by the politeness of its client."""


class Way(NamedTuple):
    """`beside` starts what is needed, with a port of its own, and yields the processor time that it has used so far."""

    name: str
    config: Callable[[int], Json]
    beside: Callable[[ControlPlane, int, Path], "Iterator[Callable[[], float]]"] | None = None
    flags: tuple[str, ...] = ()
    """More of them for the scheduler."""
    polite: bool = False
    """Its client keeps to the 50 requests each second that it comes with."""


class Measured(NamedTuple):
    way: str
    nodes: int
    pods: int
    rate: float
    """Pods each second."""
    milliseconds: float
    """Processor time of what runs beside, for each pod."""
    all_milliseconds: float
    """… and of the control plane with it, from the first binding to the last: on a machine that does nothing else this
    is what bounds the rate, and others disturb it less."""
    bound: int


def stock(percentage: int | None) -> Callable[[int], Json]:
    def config(port: int) -> Json:
        own: Json = {"apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration"}
        return own if percentage is None else {**own, "percentageOfNodesToScore": percentage}

    return config


def asking(**options: object) -> Callable[[int], Json]:
    def config(port: int) -> Json:
        own = configuration(SchedulerConfig(f"http://127.0.0.1:{port}", seconds=20.0))
        for name, value in options.items():
            own[name] = value
        return own

    return config


def extender(*options: str) -> Callable[[ControlPlane, int, Path], Iterator[Callable[[], float]]]:
    def beside(cluster: ControlPlane, port: int, folder: Path) -> Iterator[Callable[[], float]]:
        with running_extender(cluster.kubeconfig, port, folder / "extender.log", *options) as process:
            yield lambda: process_seconds(process)

    return beside


@contextmanager
def running_extender(kubeconfig: Path, port: int, log: Path, *options: str) -> Iterator[int]:
    """Its process, once it knows the cluster."""
    (metrics,) = free_ports(1)
    command = [sys.executable, "-m", "numafit", "extender", f"--kubeconfig={kubeconfig}", f"--port={port}"]
    process = start([*command, f"--metrics-port={metrics}", *options], log)

    def ready() -> bool:
        assert process.poll() is None, log.read_text()
        place = f"http://127.0.0.1:{metrics}/readyz"
        with suppress(OSError), urllib.request.urlopen(place, timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    try:
        until("the extender is ready", 120, ready)
        yield process.pid
    finally:
        stop(process)


WAYS = (
    Way("stock, default sampling", stock(None)),
    Way("stock, all nodes", stock(100)),
    # With an extender a scheduler does not schedule equal pods in batches (1.35).
    Way("stock, all nodes, no batches", stock(100), flags=("--feature-gates=OpportunisticBatching=false",)),
    Way("extender, one node", asking(), extender()),
    Way("stock, all nodes, 50 requests/s", stock(100), polite=True),
    Way("extender, one node, 50 requests/s", asking(), extender(), polite=True),
)


BASES = ("stock, all nodes", "stock, all nodes, no batches", "stock, all nodes, 50 requests/s")


def pod_object(index: int) -> Json:
    """Guaranteed, with whole CPUs: of those that a kubelet with static policy keeps apart."""
    amounts = {"cpu": "2", "memory": "2Gi"}
    container = {"name": "main", "image": "none:1", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "metadata": {"name": f"rate-{index}"},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }


class Rates:
    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.nodes = 0
        stop_controllers(cluster)
        self._stop_scheduler()
        define_topologies(cluster)

    def _stop_scheduler(self) -> None:
        process = self.cluster.processes.pop(SCHEDULER, None)
        if process is not None:
            process.kill()
            process.wait()

    def grow(self, nodes: int) -> None:
        make_nodes(self.cluster, self.nodes, nodes - self.nodes)
        self.nodes = nodes

    def measure(self, way: Way, pods: int) -> Measured:
        (port,) = free_ports(1)
        content = way.config(port)
        kubeconfig = self.cluster.authority.kubeconfig(SCHEDULER, self.cluster.server, f"system:{SCHEDULER}")
        content |= {
            "clientConnection": {"kubeconfig": str(kubeconfig), **({} if way.polite else FAST)},
            "leaderElection": {"leaderElect": False},
        }
        file = self.folder / "scheduler.yaml"
        file.write_text(yaml.safe_dump(content))
        beside = contextmanager(way.beside)(self.cluster, port, self.folder) if way.beside else _nothing()
        with beside as seconds:
            asyncio.run(self._create(pods))
            used: list[tuple[float, float]] = []

            def look() -> None:
                own = seconds()
                used.append((own, own + sum(process_seconds(each.pid) for each in self.cluster.processes.values())))

            def begin() -> None:
                UpControlPlane.run(self.cluster, SCHEDULER, [f"--config={file}", "--secure-port=0", *way.flags])

            times = asyncio.run(self._bound(pods, begin, look))
            look()
            self._stop_scheduler()
            self.cluster.api.ask("DELETE", f"{NAMESPACE}?gracePeriodSeconds=0")
            until("the pods are gone", 60, lambda: not self.cluster.api.pods())
        rate = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0
        one, all_of_them = (1000 * (last - first) / max(len(times), 1) for first, last in zip(*used[:2], strict=True))
        return Measured(way.name, self.nodes, pods, rate, one, all_of_them, len(times))

    async def _create(self, pods: int) -> None:
        async with KubeApi(access(self.cluster.kubeconfig, None)) as api:
            await asyncio.gather(*(api.create(NAMESPACE, msgspec.json.encode(pod_object(own))) for own in range(pods)))

    async def _bound(self, pods: int, begin: Callable[[], None], first: Callable[[], None]) -> list[float]:
        """When each was seen bound; `first` is called with the first of them."""
        times: list[float] = []

        seen: set[str] = set()

        def look(pod: Json) -> None:
            if pod["spec"].get("nodeName") and pod["metadata"]["name"] not in seen:
                seen.add(pod["metadata"]["name"])
                times.append(time.monotonic())
                if len(times) == 1:
                    first()

        async def watch() -> None:
            async with KubeApi(access(self.cluster.kubeconfig, None)) as api:
                begun = False
                # A server may end a watch that cannot follow.
                while len(seen) < pods:
                    page = json.loads(await api.get(NAMESPACE))
                    for pod in page["items"]:
                        look(pod)
                    parameters = {"watch": "1", "resourceVersion": page["metadata"]["resourceVersion"]}
                    if not begun:
                        begin()
                        begun = True
                    async for line in api.lines(NAMESPACE, parameters):
                        look(json.loads(line)["object"])
                        if len(seen) == pods:
                            return

        task = asyncio.create_task(watch())
        began = time.monotonic()
        while not task.done() and time.monotonic() - max([began, *times[-1:]]) < STALLED:
            await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return times


@contextmanager
def _nothing() -> Iterator[Callable[[], float]]:
    yield lambda: 0.0


def scheduled(ways: Sequence[Way], sizes: Sequence[int], rounds: int, tell: Callable[[str], None]) -> list[Measured]:
    """The median of some rounds, in each of which every way comes once."""
    found: list[Measured] = []
    with (
        tempfile.TemporaryDirectory(prefix="numafit-rates-") as folder,
        ControlPlane(Path(folder) / "cluster", binaries()) as cluster,
    ):
        own = Rates(cluster, Path(folder))
        for size in sizes:
            own.grow(size)
            rows: dict[str, list[Measured]] = {}
            for _ in range(rounds):
                for way in ways:
                    row = own.measure(way, PODS)
                    rows.setdefault(way.name, []).append(row)
                    tell(f"  {size} nodes, {way.name}: {row.rate:.0f} pods/s, {row.bound} of {row.pods} bound")
            found += [_median(each) for each in rows.values()]
    return found


def _median(rows: Sequence[Measured]) -> Measured:
    return rows[0]._replace(
        rate=statistics.median(own.rate for own in rows),
        milliseconds=statistics.median(own.milliseconds for own in rows),
        all_milliseconds=statistics.median(own.all_milliseconds for own in rows),
        bound=min(own.bound for own in rows),
    )


def table(rows: Sequence[Measured], bases: Sequence[str]) -> str:
    """`bases`: the ways of which the others are a part, by the time it took and by the processor time of all."""
    titles = ["nodes", "way", "pods/s", "ms CPU a pod: beside it", "all"]
    titles += [f"of {base}: by time, by CPU" for base in bases]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    known = {(own.way, own.nodes): own for own in rows}
    for own in rows:
        cells = [f"{own.nodes:,}", own.way, f"{own.rate:.0f}", f"{own.milliseconds:.2f}", f"{own.all_milliseconds:.2f}"]
        for base in (known[name, own.nodes] for name in bases):
            cells.append(f"{own.rate / base.rate:.0%}, {base.all_milliseconds / own.all_milliseconds:.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
