"""A simulated kubelet with its sockets, as a process of its own that does what its standard input says.

What speaks grpc does so apart from the tests. One line of JSON is an order, one line is its answer:

    {"add": POD}           POD of the API server comes; answered with its phase and reason
    {"remove": UID}        it is gone
    {"restart": true}      the kubelet starts again over its state files
    {"files": true}        the state files
    {"ask": CALL, "at": SOCKET, "name": NAME}
                           List, GetAllocatableResources or Get of any PodResources socket; an error as its text
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import msgspec

from numafit.cluster.sim.bound import BoundPod, PodManner
from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.cluster.sim.sockets.service import serve_sockets
from numafit.decision.files import state_files
from numafit.decision.history.event import RestartKubelet
from numafit.decision.history.situation import situation_of
from numafit.decision.start import Start, start
from numafit.machine.read.sysfs.archive import archive_tree
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version
from numafit.workload.reading import read_pods
from tests.kube.api import Json
from tests.kube.kubelet import FOLDER
from tests.kube.mounts import seen_from
from tests.kube.outside import Outside
from tests.kube.pod_resources import ask

SOON = 11.0
"""Seconds after which containers run, and the CPU manager has looked for what nobody holds."""


class SimulatedNode:
    """The same outside as a `KubeletNode` has, with that process in the place of the kubelet."""

    def __init__(self, folder: Path, machine: Path, archive: Path, config: Json, release: str, binaries: Path) -> None:
        folder.mkdir(parents=True)
        self.outside = Outside(folder, machine, binaries)
        self.folder = seen_from(self.outside.process.pid, FOLDER)
        path = folder / "kubelet-config.json"
        path.write_text(json.dumps(config))
        command = [sys.executable, "-m", "tests.kube.simulated", str(self.folder), str(archive), str(path), release]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._line() == {"ready": True}

    @property
    def socket(self) -> Path:
        return self.folder / "pod-resources" / "kubelet.sock"

    def order(self, **order: Any) -> Json:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        return self._line()

    def _line(self) -> Json:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the simulated kubelet ended with {self.process.wait()}"
        return cast(Json, json.loads(line))

    def close(self) -> None:
        # closes its standard input
        self.process.communicate(timeout=20)
        self.outside.stop()


class _Orders:
    def __init__(self, kubelet: SimulatedKubelet) -> None:
        self.kubelet = kubelet
        self.threads = ThreadPoolExecutor(max_workers=1)

    async def turn(self, work: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.threads, work, time.time())

    async def do(self, order: Json) -> Json:
        match order:
            case {"add": content}:
                (pod,) = read_pods(json.dumps(content)).coming
                images = {own.name: "none:1" for own in pod.all_containers}
                bound = BoundPod(pod, PodManner(images=images), content["metadata"]["creationTimestamp"], 1)
                await self.turn(lambda now: self.kubelet.add([bound], now))
                played = self.kubelet.pods[pod.uid]
                await self.turn(lambda now: self.kubelet.advance(now + SOON))
                return {"phase": played.phase, "reason": played.reason, "message": played.message}
            case {"remove": uid}:
                await self.turn(lambda now: self.kubelet.forget(uid, now))
                await self.turn(lambda now: self.kubelet.advance(now + SOON))
            case {"restart": _}:
                await self.turn(lambda now: self.kubelet.happen(RestartKubelet(), now))
            case {"files": _}:
                situation = self.kubelet.situation
                files = state_files(situation.node, situation.ledger)
                return {name: json.loads(text) for name, text in files.items()}
            case {"ask": call, "at": socket}:
                return await ask(call, socket, order.get("name", ""))
            case _:
                raise ValueError(order)
        return {}


async def serve(folder: Path, archive: Path, config: Path, release: str) -> None:
    machine = read_sysfs(archive_tree(archive.read_bytes(), str(archive)), str(archive))
    sources = ConfigSources(ConfigFile(str(config), config.read_text()))
    known = start(Start(version=parse_version(release), sources=sources, machine=machine, plugins={}))
    kubelet = SimulatedKubelet("simulated", situation_of(known.node, known.ledger, known.allocatable))
    orders = _Orders(kubelet)
    sockets = asyncio.create_task(serve_sockets(kubelet, folder, orders.turn))
    while not (folder / "device-plugins" / "kubelet.sock").exists():
        if sockets.done():
            await sockets
        await asyncio.sleep(0.05)
    print('{"ready": true}', flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(msgspec.json.encode(await orders.do(json.loads(line))).decode(), flush=True)
    sockets.cancel()
    await asyncio.gather(sockets, return_exceptions=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("folder", "archive", "config"):
        parser.add_argument(name, type=Path)
    parser.add_argument("release")
    asyncio.run(serve(**vars(parser.parse_args())))
