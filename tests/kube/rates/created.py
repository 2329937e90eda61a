"""How fast pods are created and bound, with the placer and without it.

Two makers: a ReplicaSet, with controller manager and scheduler as they come (20 and 50 requests each second), and a
client that asks as fast as it is answered, with a scheduler that no such limit holds back.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from numafit.cluster.extender.configuration import API_VERSION
from numafit.cluster.kube.access import access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.up.programs import CONTROLLER_MANAGER, SCHEDULER
from tests.kube.api import Json
from tests.kube.bare import define_topologies, make_nodes, stop_controllers
from tests.kube.build import binaries
from tests.kube.control_plane import ControlPlane
from tests.kube.placing import NAMESPACE, PlacerProcess, aligned, forget_webhook, make_namespace, replica_set
from tests.kube.processes import until
from tests.kube.rates.used import between, process_seconds

PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
MAKERS = {"a ReplicaSet": 150, "a client in a hurry": 300}
"""And how many pods each makes."""
HURRIED = "a client in a hurry"
AT_ONCE = 16
FAST = {"qps": 5000, "burst": 5000}
PLACER = "placer"
WAYS = ("stock", PLACER)
STALLED = 30.0
"""Seconds without a binding after which no more is waited for."""


class Created(NamedTuple):
    nodes: int
    maker: str
    way: str
    created: float
    """Each second."""
    bound: float
    """Each second, from the first that was created to the last that was bound."""
    delay: float
    """Seconds from creation to binding, as a watch sees both; the median."""
    milliseconds: Mapping[str, float]
    """Processor time for each pod, by process."""
    pods: int


class _Meta(msgspec.Struct):
    name: str = ""
    resourceVersion: str = ""


class _Spec(msgspec.Struct):
    nodeName: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Line(msgspec.Struct):
    object: _Pod


class _List(msgspec.Struct):
    metadata: _Meta
    items: list[_Pod]


_LINE = msgspec.json.Decoder(_Line)


class CreatedRates:
    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.cluster, self.folder, self.nodes, self.number = cluster, folder, 0, 0
        make_namespace(cluster, NAMESPACE)
        command = cluster.processes[CONTROLLER_MANAGER].args
        assert isinstance(command, list)
        stop_controllers(cluster)
        # Others would find that no kubelet stands behind the nodes.
        cluster.start(CONTROLLER_MANAGER, [*command, "--controllers=replicaset-controller"])
        define_topologies(cluster)

    def grow(self, nodes: int) -> None:
        make_nodes(self.cluster, self.nodes, nodes - self.nodes)
        self.nodes = nodes

    def measure(self, maker: str, way: str, pods: int) -> Created:
        self.number += 1
        with self._scheduler(hurried=maker == HURRIED), self._beside(way) as processes:
            return asyncio.run(self._measured(maker, way, pods, processes))

    @contextmanager
    def _scheduler(self, *, hurried: bool) -> Iterator[None]:
        before = self.cluster.processes.pop(SCHEDULER, None)
        if before is not None:
            before.kill()
            before.wait()
        kubeconfig = self.cluster.authority.kubeconfig(SCHEDULER, self.cluster.server, f"system:{SCHEDULER}")
        content = {
            "apiVersion": API_VERSION,
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), **(FAST if hurried else {})},
            "leaderElection": {"leaderElect": False},
        }
        file = self.folder / "scheduler.yaml"
        file.write_text(yaml.safe_dump(content))
        self.cluster.run(SCHEDULER, [f"--config={file}", "--secure-port=0"])
        yield

    @contextmanager
    def _beside(self, way: str) -> Iterator[dict[str, int]]:
        """Name and number of each process that counts."""
        processes = {name: own.pid for name, own in self.cluster.processes.items()}
        if way != PLACER:
            yield processes
            return
        placer = PlacerProcess(self.cluster.kubeconfig, self.folder, f"placer-{self.number}")
        placer.start()
        try:
            until("the placer is ready", 120, placer.ready)
            until("it decides", 60, lambda: "this replica decides" in placer.log.read_text())
            until("the API server asks it", 60, placer.leads)
            assert placer.process is not None
            yield {**processes, PLACER: placer.process.pid}
        finally:
            placer.stop()
            forget_webhook(self.cluster)

    async def _measured(self, maker: str, way: str, pods: int, processes: Mapping[str, int]) -> Created:
        def used() -> dict[str, float]:
            return {name: process_seconds(own) for name, own in processes.items()}

        async with KubeApi(access(self.cluster.kubeconfig, None), connections=AT_ONCE) as api:
            # One pod first: connections are open then, and the scheduler has begun.
            await self._made(api, HURRIED, 1, "first")
            before = used()
            began, ended = await self._made(api, maker, pods, "rate")
            spent = between(before, used())
            if maker != HURRIED:
                await api.delete(f"{SETS}/rate", b'{"propagationPolicy": "Background"}')
            await api.delete(PODS, b'{"gracePeriodSeconds": 0}')
            while b'"uid"' in await api.get(PODS):
                await asyncio.sleep(0.2)
        seen = [ended[name] - began[name] for name in began]
        first, last = min(began.values()), max(ended.values())
        return Created(
            self.nodes,
            maker,
            way,
            (pods - 1) / (max(began.values()) - first),
            (pods - 1) / (last - first),
            statistics.median(seen),
            {name: 1000 * seconds / pods for name, seconds in spent.items()},
            pods,
        )

    async def _made(self, api: KubeApi, maker: str, pods: int, name: str) -> tuple[dict[str, float], dict[str, float]]:
        """When each was seen for the first time, and when it was seen bound."""
        began: dict[str, float] = {}
        ended: dict[str, float] = {}
        begun = asyncio.Event()

        def look(pod: _Pod, now: float) -> None:
            began.setdefault(pod.metadata.name, now)
            if pod.spec.nodeName:
                ended.setdefault(pod.metadata.name, now)

        async def watch() -> None:
            # A server may end a watch that cannot follow.
            while len(ended) < pods:
                listed = msgspec.json.decode(await api.get(PODS), type=_List)
                for pod in listed.items:
                    if pod.metadata.name.startswith(name):
                        look(pod, time.monotonic())
                begun.set()
                parameters = {"watch": "1", "resourceVersion": listed.metadata.resourceVersion}
                async for line in api.lines(PODS, parameters):
                    look(_LINE.decode(line).object, time.monotonic())
                    if len(ended) == pods:
                        return

        async def stalls(watching: "asyncio.Task[None]") -> None:
            latest = (0, time.monotonic())
            while not watching.done():
                await asyncio.sleep(0.5)
                if len(ended) != latest[0]:
                    latest = (len(ended), time.monotonic())
                if time.monotonic() - latest[1] > STALLED:
                    watching.cancel()
                    raise AssertionError(f"{len(ended)} of {pods} pods were bound, and then no more")

        watching = asyncio.create_task(watch())
        stalling = asyncio.create_task(stalls(watching))
        await begun.wait()
        if maker == HURRIED:
            await asyncio.gather(*(api.create(PODS, _pod(f"{name}-{index}")) for index in range(pods)))
        else:
            await api.create(SETS, msgspec.json.encode(replica_set(name, pods, _spec())))
        await asyncio.wait({watching, stalling}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done() and not watching.cancelled():
            watching.result()
        await stalling
        return began, ended


def _spec() -> Json:
    return aligned(2, "2Gi", terminationGracePeriodSeconds=0)


def _pod(name: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name}, "spec": _spec()})


def created(sizes: Sequence[int], rounds: int, tell: Callable[[str], None], pods: int = 0) -> list[Created]:
    """The medians of some rounds, in each of which every way comes once, in turns first. `pods`: where it is not 0, so
    many are made."""
    found: list[Created] = []
    with (
        tempfile.TemporaryDirectory(prefix="numafit-rates-") as folder,
        ControlPlane(Path(folder) / "cluster", binaries()) as cluster,
    ):
        own = CreatedRates(cluster, Path(folder))
        for size in sizes:
            own.grow(size)
            rows: dict[tuple[str, str], list[Created]] = {(maker, way): [] for maker in MAKERS for way in WAYS}
            for number in range(rounds):
                for maker in MAKERS:
                    for way in WAYS if number % 2 == 0 else reversed(WAYS):
                        row = own.measure(maker, way, pods or MAKERS[maker])
                        rows[maker, way].append(row)
                        used = ", ".join(f"{name} {own:.1f}" for name, own in row.milliseconds.items())
                        tell(
                            f"  {size} nodes, {maker}, {way}: created {row.created:.1f}/s, bound {row.bound:.1f}/s, "
                            f"after {row.delay * 1000:.0f} ms; ms CPU a pod: {used}"
                        )
            found += [_median(each) for each in rows.values()]
    return found


def _median(rows: Sequence[Created]) -> Created:
    return rows[0]._replace(
        created=statistics.median(own.created for own in rows),
        bound=statistics.median(own.bound for own in rows),
        delay=statistics.median(own.delay for own in rows),
        milliseconds={name: statistics.median(own.milliseconds[name] for own in rows) for name in rows[0].milliseconds},
    )


def table(rows: Sequence[Created]) -> str:
    titles = ["nodes", "pods by", "way", "created/s", "bound/s", "of stock: created, bound", "delay, ms"]
    names = list(dict.fromkeys(name for row in rows for name in row.milliseconds))
    lines = [f"| {' | '.join([*titles, *(f'{name}, ms CPU a pod' for name in names)])} |"]
    lines.append("|---" * (len(titles) + len(names)) + "|")
    known = {(own.nodes, own.maker, own.way): own for own in rows}
    for own in rows:
        base = known[own.nodes, own.maker, WAYS[0]]
        cells = [f"{own.nodes:,}", own.maker, own.way, f"{own.created:.1f}", f"{own.bound:.1f}"]
        cells += [f"{own.created / base.created:.0%}, {own.bound / base.bound:.0%}", f"{own.delay * 1000:.0f}"]
        cells += [f"{own.milliseconds[name]:.1f}" if name in own.milliseconds else "" for name in names]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
