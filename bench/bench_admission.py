"""The webhook: what a question costs us, over a connection that stays and over one that is made for it.

Another process asks, as an API server does, with a pod of one container; what is measured is our part of it.
"""

import asyncio
import json
import multiprocessing
import ssl
import time
from collections.abc import Iterator
from functools import partial
from time import process_time

from bench import Row
from numafit.cluster.admission.certificate import made_certificate
from numafit.cluster.admission.review import answer, gate_patch, reviewed_pod
from numafit.cluster.https.certificates import tls_from_memory
from numafit.cluster.https.messages import ServerAnswer, ServerRequest
from numafit.cluster.https.server import HttpServer

QUESTIONS = 1000
CONNECTIONS = 8
KEPT, ANEW = 1e-3, 5e-3
GATES = ("numafit.io/place",)


def rows() -> Iterator[Row]:
    yield Row("webhook/a question", partial(_asked, False), KEPT, measured=True)
    yield Row("webhook/a question over a new connection", partial(_asked, True), ANEW, measured=True)


def _question() -> bytes:
    amounts = {"cpu": "2", "memory": "1Gi"}
    volumes = [{"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]
    container = {"name": "main", "image": "example.com/app:1", "resources": {"limits": amounts, "requests": amounts}}
    metadata = {"generateName": "web-", "namespace": "team", "labels": {"app": "web"}, "managedFields": [{}] * 4}
    pod = {"metadata": metadata, "spec": {"containers": [container], "volumes": volumes, "priority": 0}}
    asked = {"uid": "u", "namespace": "team", "operation": "CREATE", "object": pod}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()


async def _answer(request: ServerRequest) -> ServerAnswer:
    uid, pod = reviewed_pod(request.content)
    return ServerAnswer(answer(uid, gate_patch(pod, GATES, "numafit") if pod is not None else b""))


def _asked(anew: bool) -> float:
    return asyncio.run(_measured(anew))


async def _measured(anew: bool) -> float:
    """Seconds of our own processor time for each question."""
    certificate = made_certificate(["127.0.0.1"], time.time())
    context = tls_from_memory(certificate.certificate, certificate.key)
    server = HttpServer(_answer, lambda: context)
    port = server.bind("127.0.0.1", 0)
    serving = asyncio.create_task(server.run())
    asking = multiprocessing.get_context("spawn").Process(target=_ask, args=(port, certificate.authority, anew))
    asking.start()
    while not server.counts.connections:
        await asyncio.sleep(0.01)
    began = process_time()
    while asking.is_alive():
        await asyncio.sleep(0.05)
    took = process_time() - began
    asking.join()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert asking.exitcode == 0
    return took / QUESTIONS


def _ask(port: int, authority: bytes, anew: bool) -> None:
    async def one(context: ssl.SSLContext, count: int) -> None:
        content = _question()
        head = f"POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        streams = None
        for _ in range(count):
            if streams is None:
                streams = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            reader, writer = streams
            writer.write(head + content)
            answered = await reader.readuntil(b"\r\n\r\n")
            assert answered.startswith(b"HTTP/1.1 200")
            length = next(line for line in answered.lower().splitlines() if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            if anew:
                writer.close()
                await asyncio.gather(writer.wait_closed(), return_exceptions=True)
                streams = None

    async def all_of_them() -> None:
        context = ssl.create_default_context(cadata=authority.decode())
        await asyncio.gather(*(one(context, QUESTIONS // CONNECTIONS) for _ in range(CONNECTIONS)))

    asyncio.run(all_of_them())
