"""Copies of a cluster's pods and nodes: memory and processor time over their number, against typed and plain objects.

The API server is played by a process of its own that sends the same page again and again under other names: objects of
6 kB with two containers and managed fields, as real ones have. Memory is what a process has more than without them.
"""

import asyncio
import gc
import json
import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from bench import Row
from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.reflector import Reflector

SIZES = (10_000, 25_000, 50_000)
NODES_PER_POD = 0.1
MOST_MEMORY = 150.0
"""MB for 50,000 pods and 5,000 nodes."""
PER_OBJECT = 200e-6
OTHERS = 2_000
"""Objects by which the others are measured: they would not all fit."""


class BenchResources(msgspec.Struct, frozen=True, gc=False):
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class BenchContainer(msgspec.Struct, frozen=True, gc=False):
    name: str
    resources: BenchResources = BenchResources()


class BenchSpec(msgspec.Struct, frozen=True, gc=False):
    nodeName: str = ""
    containers: tuple[BenchContainer, ...] = ()


class BenchStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class BenchPod(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: BenchSpec = BenchSpec()
    status: BenchStatus = BenchStatus()


class BenchNodeStatus(msgspec.Struct, frozen=True, gc=False):
    allocatable: dict[str, str] = {}


class BenchNode(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    status: BenchNodeStatus = BenchNodeStatus()


def rows() -> Iterator[Row]:
    found: dict[int, tuple[float, float]] = {}
    for size in SIZES:
        what = f"kube/{size} pods and {round(size * NODES_PER_POD)} nodes"
        limit = max(MOST_MEMORY * size / SIZES[-1], MOST_MEMORY / 3)
        yield Row(f"{what}/memory", partial(_memory, found, size), limit, unit="MB", measured=True)
        yield Row(f"{what}/time per object", partial(_time, found, size), PER_OBJECT, measured=True)
    yield Row("kube/memory per pod, plain objects to ours", partial(_ratio, _plain), None, unit="x", measured=True)
    yield Row("kube/memory per pod, lightkube to ours", partial(_ratio, _typed), None, unit="x", measured=True)


def _memory(found: dict[int, tuple[float, float]], size: int) -> float:
    context = multiprocessing.get_context("spawn")
    port = context.Queue()
    server = context.Process(target=_serve, args=(size, port), daemon=True)
    server.start()
    try:
        found[size] = _in_process(partial(_reflected, port.get(), size))
    finally:
        server.kill()
        server.join()
    return found[size][0]


def _time(found: dict[int, tuple[float, float]], size: int) -> float:
    return found[size][1]


def _ratio(decode: Callable[[bytes], object]) -> float:
    return _in_process(partial(_decoded, decode))[0] / _in_process(partial(_decoded, _ours))[0]


# --- what is measured, each in a process of its own ------------------------------------------------------------------


def _in_process(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(measure)


def _reflected(port: int, size: int) -> tuple[float, float]:
    """MB, and seconds of processor time per object."""
    access = Access("a benchmark", ClusterEntry(server=f"http://127.0.0.1:{port}"), UserEntry())
    return asyncio.run(_copied(access, size))


async def _copied(access: Access, size: int) -> tuple[float, float]:
    health = ApiHealth()
    async with KubeApi(access) as api:
        before, began = _resident(), process_time()
        pods = Reflector(api, "/pods", BenchPod, lambda change: None, health=health)
        nodes = Reflector(api, "/nodes", BenchNode, lambda change: None, health=health)
        running = [asyncio.create_task(own.run()) for own in (pods, nodes)]
        await asyncio.gather(pods.synced.wait(), nodes.synced.wait())
        taken = process_time() - began
        gc.collect()
        there = len(pods.items) + len(nodes.items)
        assert there == size + round(size * NODES_PER_POD)
        for task in running:
            task.cancel()
        return (_resident() - before) / 1e6, taken / there


def _decoded(decode: Callable[[bytes], object]) -> tuple[float, float]:
    decode(_pod(0))
    before, began = _resident(), process_time()
    kept = [decode(_pod(number)) for number in range(OTHERS)]
    return (_resident() - before) / 1e6, (process_time() - began) / len(kept)


def _ours(data: bytes) -> object:
    return msgspec.json.decode(data, type=BenchPod)


def _plain(data: bytes) -> object:
    return json.loads(data)


def _typed(data: bytes) -> object:
    from lightkube.resources.core_v1 import Pod

    return Pod.from_dict(json.loads(data))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


# --- the objects -----------------------------------------------------------------------------------------------------


def _serve(size: int, port: Any) -> None:
    """`Any`: a queue between processes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            target = head.split(" ")[1]
            if "watch=1" in target:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                continue
            make, count = (_pod, size) if target.startswith("/pods") else (_node, round(size * NODES_PER_POD))
            begin = int(target.partition("continue=")[2] or 0)
            end = min(begin + 500, count)
            rest = str(end) if end < count else ""
            items = b",".join(make(number) for number in range(begin, end))
            body = b'{"metadata":{"resourceVersion":"1","continue":"%s"},"items":[%s]}' % (rest.encode(), items)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


def _meta(name: str, number: int) -> dict[str, Any]:
    fields: dict[str, object] = {f"f:field-{index}": {"f:inner": {}, ".": {}} for index in range(60)}
    return {
        "name": name,
        "namespace": "team",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(number),
        "labels": {"app": "train", "pod-template-hash": "5d8b7c9f6d"},
        "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": fields}],
    }


def _pod(number: int) -> bytes:
    resources = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    containers = [
        {
            "name": name,
            "image": f"images.invalid/team/{name}:1.2.3",
            "args": [f"--option-{index}=value" for index in range(20)],
            "env": [{"name": f"VARIABLE_{index}", "value": "something"} for index in range(10)],
            "resources": {"requests": resources, "limits": resources},
        }
        for name in ("train", "sidecar")
    ]
    spec = {"nodeName": f"node-{number % 5000}", "containers": containers, "schedulerName": "default-scheduler"}
    conditions = [{"type": own, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"} for own in "abcd"]
    status = {"phase": "Running", "conditions": conditions}
    return json.dumps({"metadata": _meta(f"train-{number}", number), "spec": spec, "status": status}).encode()


def _node(number: int) -> bytes:
    amounts = {"cpu": "255", "memory": "1056378860Ki", "nvidia.com/gpu": "8", "pods": "110", "hugepages-1Gi": "0"}
    status = {"allocatable": amounts, "capacity": amounts}
    return json.dumps({"metadata": _meta(f"node-{number}", number), "status": status}).encode()
