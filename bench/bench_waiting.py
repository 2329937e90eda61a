"""Many pods that wait: what a change of one node costs the placer, what a second costs, and memory.

The leader of `numafit place` on 500 nodes in 50 states with ten pods each, over an API server that takes everything; no
node has room for any of those that wait. Each number of pods has a process of its own.
"""

import asyncio
import gc
import json
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from bench import Row
from bench.bench_live import GPU, _stage, _topology
from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.fleet import LiveChange
from numafit.cluster.live.nodes import SentNode, node_of
from numafit.cluster.live.pods import PodKeeper, SentPod
from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.placer import Placer, PlacerOptions
from numafit.cluster.topology.read import read_topology

NODES, STATES = 500, 50
SIZES = (100, 1_000, 10_000)
"""Pods that wait."""
FEW, MANY = 10, 1_000
"""Kinds of pods, at most."""
CHANGES = 30
PER_CHANGE = 25e-3
"""The placer looks at kinds for 20 ms in one round at most, and goes on in the next."""


class Measured(msgspec.Struct, frozen=True):
    begin: float
    change: float
    second: float
    memory: float


class SilentApi(KubeApi):
    """It takes everything, and nobody is there."""

    async def _asked(
        self, method: str, path: str, parameters: Mapping[str, str], content: bytes = b"", kind: str = ""
    ) -> bytes:
        return b"{}"


class HeardBook(FleetBook):
    """A book that one listens to."""

    def __init__(self) -> None:
        super().__init__()
        self.synced = asyncio.Event()
        self.heard: list[Callable[[LiveChange], None]] = []

    def listen(self, heard: Callable[[LiveChange], None]) -> None:
        self.heard.append(heard)


def rows() -> Iterator[Row]:
    found: dict[tuple[int, int], Measured] = {}
    for size in SIZES:
        for kinds in (FEW, min(size, MANY)):
            what = f"waiting/{size} pods of {kinds} kinds"
            for name, field, budget in (
                ("all are decided once", "begin", None),
                ("a change of one node", "change", PER_CHANGE),
                ("who is told, each second", "second", None),
            ):
                yield Row(f"{what}/{name}", partial(_amount, found, size, kinds, field), budget, measured=True)
            yield Row(f"{what}/memory", partial(_amount, found, size, kinds, "memory"), unit="MB", measured=True)


def _amount(found: dict[tuple[int, int], Measured], size: int, kinds: int, field: str) -> float:
    if (size, kinds) not in found:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[size, kinds] = pool.apply(_measured, (size, kinds))
    amount: float = getattr(found[size, kinds], field)
    return amount


def _measured(size: int, kinds: int) -> Measured:
    return asyncio.run(_waited(size, kinds))


async def _waited(size: int, kinds: int) -> Measured:
    stage, book = _stage(), HeardBook()
    report = partial(_reported, book, stage)
    for number in range(NODES):
        meta = {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}"}}
        book.node_told(node_of(msgspec.convert({"metadata": meta, "status": {}}, SentNode)))
        report(number, number % STATES)
    api = SilentApi(Access("a benchmark", ClusterEntry(server="http://127.0.0.1:1"), UserEntry()))
    placer = Placer(api, book, PlacerOptions(), ApiHealth(), PlaceCounts(), lambda _: None)
    placer._leads = True
    gc.collect()
    before, began, keeper = _resident(), process_time(), PodKeeper()
    for number in range(size):
        pod = book.pod_told(keeper.kept(_pod(number, number % kinds)))
        _tell(book, LiveChange("pod", pod.uid, pod))
    await _quiet(placer)
    begin = process_time() - began
    assert sum(placer._counts.waiting.values()) == size, placer._counts.waiting
    taken = []
    for number in range(CHANGES):
        report(number, 1000 + number)
        _tell(book, LiveChange("node", f"node-{number}"))
        began = process_time()
        await placer.round()
        taken.append(process_time() - began)
        await _quiet(placer)
    assert placer._counts.released == {}
    began = process_time()
    told = placer._notices.due(placer._due(), time.monotonic() + 60)
    second = process_time() - began
    assert len(told) == size
    gc.collect()
    return Measured(begin, sorted(taken)[CHANGES // 2], second, (_resident() - before) / 1e6)


async def _quiet(placer: Placer) -> None:
    """Until everything that was heard is looked at: with many kinds that takes several rounds."""
    await placer.round()
    while placer._helped.unfinished or placer._queue.awake:
        await placer.round()


def _tell(book: HeardBook, change: LiveChange) -> None:
    for heard in book.heard:
        heard(change)


def _reported(book: FleetBook, stage: Any, number: int, seed: int) -> None:
    data = msgspec.json.encode(_topology(stage, number, random.Random(seed)))
    book.reported(f"node-{number}", book.read(read_topology(data)))


def _pod(number: int, kind: int) -> SentPod:
    """All GPUs of a node, most of its CPUs, and memory by its kind: the ten that are on each node are in its way."""
    amounts = {"cpu": "100", "memory": f"{1024 + kind}Mi", GPU: "8"}
    main = {"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
    meta = {
        "name": f"waits-{number}",
        "namespace": "team",
        "uid": f"waits-{number}",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "train"},
    }
    spec = {"containers": [main], "schedulingGates": [{"name": PLACE_GATE}], "schedulerName": "default-scheduler"}
    value = {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}
    return msgspec.json.decode(json.dumps(value).encode(), type=SentPod)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
