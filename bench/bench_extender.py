"""The extender: what one pod costs us, from the question of a scheduler to its binding, on fleets of several sizes.

Another process asks over one connection that stays, as a scheduler does, about one pod after the other; all are alike,
and each is seen bound soon after. Nodes are in up to 500 states. What is measured is our own processor time.
"""

import asyncio
import gc
import json
import multiprocessing
import socket
import ssl
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any, cast

import msgspec

from bench import Row
from numafit.cluster.extender.counts import ExtenderCounts
from numafit.cluster.extender.extender import Extender, ExtenderOptions
from numafit.cluster.extender.service import answering, at_once
from numafit.cluster.https.certificates import ServingFiles, tls_of
from numafit.cluster.https.server import HttpServer
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.needs import NeedAnswers
from numafit.cluster.live.nodes import SentNode, node_of
from numafit.cluster.live.pods import PodKeeper, SentPod
from numafit.cluster.topology.write import topology_of
from numafit.cluster.up.certificates import Authority
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.fleet.state import NodeState
from numafit.machine.catalogue.names import machine_named
from numafit.quantity import parse_quantity
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION
from numafit.workload.pod import Container, Pod

SIZES = (100, 1_000, 5_000)
PODS = 400
STATES = (25, 20)
"""One node has up to so many pods with one CPU, and with two."""
MOST = 2e-3


def rows() -> Iterator[Row]:
    for size in SIZES:
        of = f"extender/{size} nodes: a pod"
        yield Row(f"{of}, https with certificates", partial(_asked, size, True), MOST, measured=True)
        yield Row(f"{of}, http on loopback", partial(_asked, size, False), MOST, measured=True)
        yield Row(f"{of}, decided", partial(_decided, size, False), MOST, measured=True)
        yield Row(f"{of}, what is found after the answer", partial(_decided, size, True), MOST, measured=True)
    yield Row("extender/a pod, seen bound", _bound, MOST, measured=True)


# --- the fleet -------------------------------------------------------------------------------------------------------


def _pod(uid: str, cpus: int) -> Pod:
    amounts = {"cpu": parse_quantity(str(cpus)), "memory": parse_quantity("1Gi")}
    return Pod(uid, uid, (Container("main", amounts, amounts),))


@cache
def _states() -> list[NodeState]:
    """They are values: each fleet may have the same."""
    machine = machine_named("gpu8-128cpu")
    sources = ConfigSources(ConfigFile("kubelet.yaml", example_kubelet(machine)))
    stage = new_stage(Start(version=DEFAULT_VERSION, sources=sources, machine=machine))
    book = _fleet(0)[0].book
    return [book.read(topology_of("x", _with(stage, state))) for state in range(STATES[0] * STATES[1])]


def _with(stage: Stage, state: int) -> Stage:
    twos, ones = divmod(state, STATES[0])
    pods = [_pod(f"{cpus}-{own}", cpus) for cpus, number in ((1, ones), (2, twos)) for own in range(number)]
    return msgspec.structs.replace(stage, ledger=stage.play(pods).after)


def _fleet(size: int) -> tuple[LiveFleet, Extender]:
    live = LiveFleet(cast(KubeApi, None), ApiHealth())
    for number in range(size):
        name = f"node-{number}"
        live.book.node_told(node_of(msgspec.convert({"metadata": {"name": name}}, SentNode)))
        live.book.reported(name, _states()[number % len(_states())])
    live.synced.set()
    return live, Extender(live, NeedAnswers(live).needed, ExtenderOptions(), ExtenderCounts())


def _object(number: int, node: str = "") -> dict[str, Any]:
    amounts = {"cpu": "2", "memory": "2Gi"}
    container = {"name": "main", "image": "none:1", "resources": {"limits": amounts, "requests": amounts}}
    fields: dict[str, object] = {f"f:field-{index}": {"f:inner": {}, ".": {}} for index in range(20)}
    metadata = {"name": f"p{number}", "namespace": "team", "uid": f"u{number}", "managedFields": [{"fieldsV1": fields}]}
    spec = {"containers": [container], "priority": 0, **({"nodeName": node} if node else {})}
    return {"metadata": {**metadata, "resourceVersion": node or "1"}, "spec": spec, "status": {"phase": "Pending"}}


def _question(number: int, size: int) -> bytes:
    names = [f"node-{own}" for own in range(size)]
    return json.dumps({"Pod": _object(number), "Nodes": None, "NodeNames": names}).encode()


# --- what is measured ------------------------------------------------------------------------------------------------


def _decided(size: int, after: bool) -> float:
    _, extender = _fleet(size)
    questions = [_question(own, size) for own in range(PODS)]
    gc.collect()
    spent = {False: 0.0, True: 0.0}
    for own in questions:
        times = [process_time()]
        for each in (partial(extender.filter, own), extender.prepare):
            each()
            times.append(process_time())
        spent[False] += times[1] - times[0]
        spent[True] += times[2] - times[1]
    assert extender.counts.filtered["offered"] == PODS
    return spent[after] / PODS


def _bound() -> float:
    live, extender = _fleet(SIZES[0])
    names = [json.loads(extender.filter(_question(own, SIZES[0])))["NodeNames"][0] for own in range(PODS)]
    told = [msgspec.json.encode(_object(own, name)) for own, name in enumerate(names)]
    keeper, decoder = PodKeeper(), msgspec.json.Decoder(SentPod)
    began = process_time()
    for own in told:
        live.book.pod_told(keeper.kept(decoder.decode(own)))
    return (process_time() - began) / PODS


def _asked(size: int, secure: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="numafit-bench-") as folder:
        authority = Authority(Path(folder))
        server, client = authority.issue("s", "s", addresses="IP:127.0.0.1"), authority.issue("c", "c")
        context = tls_of(ServingFiles(*server, authority.certificate)) if secure else None
        shown = (authority.certificate, *client) if secure else None
        return asyncio.run(_answered(size, context, shown))


async def _answered(size: int, context: ssl.SSLContext | None, shown: tuple[Path, ...] | None) -> float:
    _, extender = _fleet(size)
    tls = (lambda: context) if context is not None else None
    server = HttpServer(answering(extender, prioritize=False), tls, at_once=at_once(extender))
    port = server.bind("127.0.0.1", 0)
    serving = asyncio.create_task(server.run())
    asking = multiprocessing.get_context("spawn").Process(target=_ask, args=(port, size, shown))
    asking.start()
    while not server.counts.connections:
        await asyncio.sleep(0.01)
    gc.collect()
    gc.freeze()
    began = process_time()
    while asking.is_alive():
        await asyncio.sleep(0.05)
    took = process_time() - began
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert (asking.exitcode, extender.counts.filtered["offered"]) == (0, PODS)
    return took / PODS


def _ask(port: int, size: int, shown: tuple[Path, Path, Path] | None) -> None:
    questions = [_question(own, size) for own in range(PODS)]
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if shown is not None:
        context = ssl.create_default_context(cafile=shown[0])
        context.load_cert_chain(*shown[1:])
        connection = context.wrap_socket(connection, server_hostname="127.0.0.1")
    for content in questions:
        head = (
            f"POST /filter HTTP/1.1\r\nHost: x\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: {len(content)}\r\n"
        )
        connection.sendall(f"{head}Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n".encode() + content)
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 200")
