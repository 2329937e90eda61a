"""A whole cluster as a fleet: memory, processor time to begin, and what a change of one node costs.

The API server is played by a process of its own: Nodes, ten pods on each as real ones look, and NodeTopologies that say
so, in a tenth as many states as there are nodes. Memory is what a process has more than without them, at its peak.
"""

import asyncio
import gc
import json
import multiprocessing
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from bench import Row
from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.topology.model import KIND, PATH
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.write import topology_of
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.catalogue.names import machine_named
from numafit.quantity import parse_quantity
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION
from numafit.workload.pod import Container, Pod

SIZES = (500, 1_000, 5_000)
"""Nodes."""
PODS, NODES_PER_STATE = 10, 10
MACHINE, GPU = "gpu8-128cpu", "nvidia.com/gpu"
MOST_MEMORY, PER_REPORT = 300.0, 2e-3
MOST = 8


class Measured(msgspec.Struct, frozen=True):
    memory: float
    begin: float
    report: float


def rows() -> Iterator[Row]:
    found: dict[int, Measured] = {}
    for size in SIZES:
        what, largest = f"live/{size} nodes and {size * PODS} pods", size == SIZES[-1]
        memory = partial(_measured, found, size, "memory")
        yield Row(f"{what}/memory at its peak", memory, MOST_MEMORY if largest else None, unit="MB", measured=True)
        yield Row(f"{what}/begin", partial(_measured, found, size, "begin"), None, measured=True)
        report = partial(_measured, found, size, "report")
        yield Row(f"{what}/one report, and where a pod goes", report, PER_REPORT if largest else None, measured=True)


def _measured(found: dict[int, Measured], size: int, field: str) -> float:
    if size not in found:
        context = multiprocessing.get_context("spawn")
        port = context.Queue()
        server = context.Process(target=_serve, args=(size, port), daemon=True)
        server.start()
        try:
            with context.Pool(1) as pool:
                found[size] = pool.apply(_followed, (port.get(), size))
        finally:
            server.kill()
            server.join()
    amount: float = getattr(found[size], field)
    return amount


def _followed(port: int, size: int) -> Measured:
    access = Access("a benchmark", ClusterEntry(server=f"http://127.0.0.1:{port}"), UserEntry())
    return asyncio.run(_copied(access, size))


async def _copied(access: Access, size: int) -> Measured:
    stage, _ = _stage(), gc.collect()
    before, began = _peak(), process_time()
    async with KubeApi(access, seconds=600) as api:
        live = LiveFleet(api, ApiHealth())
        running = asyncio.create_task(live.run())
        await live.synced.wait()
        begin = process_time() - began
        assert (len(live.fleet.nodes), len(live.pods)) == (size, size * PODS), live.troubles
        new = _pod("new", 8, 1)
        live.places(new, MOST)
        memory = (_peak() - before) / 1e6
        report = min(_reported(live, stage, new, number) for number in range(10))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return Measured(memory, begin, report)


def _reported(live: LiveFleet, stage: Stage, new: Pod, number: int) -> float:
    data = msgspec.json.encode(_topology(stage, number, chance=random.Random(1000 + number)))
    began = process_time()
    live.book.reported(f"node-{number}", live.book.read(read_topology(data)))
    live.places(new, MOST)
    return process_time() - began


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


# --- the cluster -----------------------------------------------------------------------------------------------------


def _stage() -> Stage:
    machine = machine_named(MACHINE)
    sources = ConfigSources(ConfigFile("kubelet.yaml", example_kubelet(machine)))
    return new_stage(Start(version=DEFAULT_VERSION, sources=sources, machine=machine))


def _pod(uid: str, cpus: int, gpus: int) -> Pod:
    texts = {"cpu": str(cpus), "memory": "4Gi", **({GPU: str(gpus)} if gpus else {})}
    amounts = {name: parse_quantity(text) for name, text in texts.items()}
    return Pod(uid, uid, (Container("main", amounts, amounts),), namespace="team")


def _shapes(chance: random.Random) -> list[tuple[int, int]]:
    return [(chance.choice((1, 2, 4, 6, 8)), chance.choice((0, 0, 0, 1))) for _ in range(PODS)]


def _topology(stage: Stage, number: int, chance: random.Random) -> Any:
    pods = [_pod(f"{number}-{index}", *shape) for index, shape in enumerate(_shapes(chance))]
    ledger = stage.play(pods).after
    return topology_of(f"node-{number}", msgspec.structs.replace(stage, ledger=ledger))


def _meta(name: str, namespace: str = "") -> dict[str, Any]:
    fields: dict[str, object] = {f"f:field-{index}": {"f:inner": {}, ".": {}} for index in range(60)}
    space = {"namespace": namespace} if namespace else {}
    labels = {"app": "train", "kubernetes.io/hostname": name} if not namespace else {"app": "train"}
    managed = [{"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": fields}]
    return {"name": name, **space, "uid": name, "resourceVersion": "1", "labels": labels, "managedFields": managed}


def _pod_object(states: int, number: int) -> bytes:
    node, index = divmod(number, PODS)
    cpus, gpus = _shapes(random.Random(node % states))[index]
    amounts = {"cpu": str(cpus), "memory": "4Gi", **({GPU: str(gpus)} if gpus else {})}
    more = [{"name": f"VARIABLE_{own}", "value": "something"} for own in range(30)]
    resources = {"requests": amounts, "limits": amounts}
    spec = {
        "nodeName": f"node-{node}",
        "containers": [{"name": "main", "image": "x", "env": more, "resources": resources}],
        "schedulerName": "default-scheduler",
    }
    return json.dumps(
        {"metadata": _meta(f"{node}-{index}", "team"), "spec": spec, "status": {"phase": "Running"}}
    ).encode()


def _node_object(number: int) -> bytes:
    amounts = {"cpu": "127", "memory": "1056378860Ki", GPU: "8", "pods": "110", "ephemeral-storage": "100Gi"}
    status = {"allocatable": amounts, "capacity": amounts, "nodeInfo": {"kubeletVersion": "v1.36.4"}}
    return json.dumps({"metadata": _meta(f"node-{number}"), "status": status}).encode()


def _topology_object(stage: Stage, states: int, number: int) -> bytes:
    value = msgspec.to_builtins(_topology(stage, number, random.Random(number % states)))
    return json.dumps({**value, "kind": KIND, "metadata": _meta(f"node-{number}")}).encode()


def _serve(size: int, port: Any) -> None:
    """`Any`: a queue between processes."""
    stage, states = _stage(), size // NODES_PER_STATE
    kinds = {
        "/api/v1/nodes": (_node_object, size),
        "/api/v1/pods": (partial(_pod_object, states), size * PODS),
        PATH: (partial(_topology_object, stage, states), size),
    }

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
            make, count = kinds[target.partition("?")[0]]
            if "phase%3DFailed" in target:
                count = 0
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
