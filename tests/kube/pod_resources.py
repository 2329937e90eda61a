"""`python -m tests.kube.pod_resources SOCKET CALL [NAME]`: what a PodResources socket answers, as JSON.

What speaks grpc does so apart from the tests.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import grpc
import grpc.aio
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.cluster.wire.services import GET_ALLOCATABLE_RESOURCES, GET_POD_RESOURCES, LIST_POD_RESOURCES, AnyCall
from tests.kube.api import Json

CALLS: Mapping[str, AnyCall] = {
    "list": LIST_POD_RESOURCES,
    "allocatable": GET_ALLOCATABLE_RESOURCES,
    "get": GET_POD_RESOURCES,
}


async def ask(call: str, socket: str, name: str = "") -> Json:
    """An error is its code and text."""
    request: Message = CALLS[call].request()
    if isinstance(request, wire.GetPodResourcesRequest):
        request.pod_name, request.pod_namespace = name, "default"
    async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
        try:
            return MessageToDict(await CALLS[call].ask(channel, request, 10))
        except grpc.aio.AioRpcError as error:
            return {"error": f"{error.code().name}: {error.details()}"}


def asked(call: str, socket: Path, name: str = "") -> Json:
    """By a process of its own."""
    command = [sys.executable, "-m", "tests.kube.pod_resources", str(socket), call, name]
    return cast(Json, json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask(sys.argv[2], sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else ""))))
