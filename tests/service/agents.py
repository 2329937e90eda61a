"""Agents to test with: in this process behind a client, or as a process of their own on loopback."""

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import httpx

from numafit.service.api.guard import Rules
from numafit.service.app import Agent
from numafit.service.node import NodeSource
from numafit.service.sources.demo import Demo

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")

POD = """apiVersion: v1
kind: Pod
metadata: {name: asked}
spec:
  containers:
  - name: main
    image: example
    resources: {limits: {cpu: "8", memory: 16Gi, nvidia.com/gpu: "1"}}
"""


def demo_agent(rules: Rules | None = None, name: str = "gpu8-128cpu") -> Agent:
    return Agent(Demo(name), rules)


@asynccontextmanager
async def client_of(agent: Agent, base: str = "http://localhost") -> AsyncIterator[httpx.AsyncClient]:
    """Between start and stop of the agent."""
    router = agent.app.app
    async with router.lifespan_context(router):
        transport = httpx.ASGITransport(agent.app)
        async with httpx.AsyncClient(transport=transport, base_url=base, timeout=60) as client:
            while not agent.board.ready and not agent.board.problem:
                await asyncio.sleep(0.01)
            yield client


def asked(talk: Callable[[httpx.AsyncClient], Awaitable[T]], source: NodeSource | None = None) -> T:
    """What `talk` returns, with an agent of its own."""

    async def run() -> T:
        async with client_of(Agent(source or Demo())) as client:
            return await talk(client)

    return asyncio.run(run())


class Running(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    line: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    """`numafit serve` on a free port of loopback; ended with the block."""
    command = [sys.executable, "-m", "numafit", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        assert found is not None, process.stderr and process.stderr.read()
        yield Running(process, int(found[1]), line)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(20)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
