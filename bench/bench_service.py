"""The agent under load: what-if questions, at a fixed rate in wall time, and many open event streams, on loopback.

Both sides run on this machine, so what the load generator itself takes is in the numbers.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

from bench import Row

ROOT = Path(__file__).resolve().parents[1]
RATE = 300
SECONDS = float(os.environ.get("NUMAFIT_BENCH_SECONDS", "10"))
CONNECTIONS = 32
STREAMS = 1000
SLOWEST = 0.1
"""Seconds that 99 of 100 questions may take."""
MORE_MEMORY = 40.0
"""MB by which the agent may grow while all streams are open."""

POD = """apiVersion: v1
kind: Pod
metadata: {name: asked}
spec:
  containers:
  - name: main
    image: example
    resources: {limits: {cpu: "8", memory: 16Gi, nvidia.com/gpu: "1"}}
"""


QUESTIONS = 2000
QUESTION = 0.003
"""Seconds of CPU time for one question, agent and workers together: 300 per second leave half of two cores."""


ADVISED = 0.04
"""Seconds of CPU time for one answer with proposals: 50 a second on two cores. How many answers have some depends on
what the demonstration holds at the time; the time of the others counts, too."""
ROUNDS = 8
POLICIES = ("single-numa-node", "restricted", "best-effort")
WANTED = ((8, 16, 1), (40, 100, 3), (100, 400, 5), (60, 64, 4), (30, 200, 2))
"""CPUs, GiB, GPUs."""


def rows() -> Iterator[Row]:
    yield Row(
        "service/a what-if question, agent and workers", lambda: with_agent(_question_cpu), QUESTION, measured=True
    )
    name = "service/a what-if question with advice on a dgx-h100, agent and workers"
    yield Row(name, lambda: with_agent(_advised_cpu, "dgx-h100"), ADVISED, measured=True)
    name = f"service/{RATE} what-if questions per second on 2 NUMA nodes, 99 of 100 within"
    yield Row(name, lambda: with_agent(_slow_end), SLOWEST, measured=True)
    name = f"service/{STREAMS} open event streams: growth of the agent"
    yield Row(name, lambda: with_agent(_growth), MORE_MEMORY, unit="MB", measured=True)


def with_agent(measure: Callable[[int, int], Coroutine[Any, Any, float]], machine: str = "gpu8-128cpu") -> float:
    """Starts an agent on a free port; `measure` gets the port and its process id."""
    command = [sys.executable, "-m", "numafit", "serve", "--demo", machine, "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        return asyncio.run(measure(int(found[1]), process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


async def _slow_end(port: int, _pid: int) -> float:
    """The time from the moment a question was due to its answer: a late start counts, too."""
    times = await latencies(port, RATE, SECONDS)
    return sorted(times)[int(len(times) * 0.99)]


async def _question_cpu(port: int, pid: int) -> float:
    request = _question(port)
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]

    async def ask(times: int) -> None:
        for connection in connections:
            for _ in range(times):
                await _ask(connection, request)

    await ask(5)
    before = _cpu(pid)
    await ask(QUESTIONS // len(connections))
    return (_cpu(pid) - before) / QUESTIONS


async def _advised_cpu(port: int, pid: int) -> float:
    """On top of what the demonstration holds, which changes meanwhile."""
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
    numbers = count()

    def question(policy: str, wanted: tuple[int, int, int]) -> bytes:
        """Each asks for other memory, so that no answer is one that was found before."""
        return _request(port, {"pods": _pod(*wanted, extra=next(numbers)), "settings": {"policy": policy}})

    async def ask(times: int) -> int:
        """How many answers have proposals."""
        answers: list[bytes] = []
        for _ in range(times):
            for policy, wanted in product(POLICIES, WANTED):
                asked = [_ask(connection, question(policy, wanted)) for connection in connections]
                answers += await asyncio.gather(*asked)
        return sum(map(_has_proposals, answers))

    # Two at a time: both workers that give advice have started.
    await ask(2)
    before = _cpu(pid)
    advised = await ask(ROUNDS)
    return (_cpu(pid) - before) / advised


def _has_proposals(answer: bytes) -> bool:
    """Raises RuntimeError where advice is missing or was cut short: that is no quick answer."""
    told = json.loads(answer)
    advice = told["advice"]
    if advice is None or any(note["code"] == "advice-cut-short" for note in advice["notes"]):
        raise RuntimeError(told.get("adviceProblem", "advice was cut short"))
    return any(one["proposals"] for one in advice["advice"])


def _cpu(pid: int) -> float:
    """User and system time of a process and its children that run, in seconds."""
    pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    ticks = 0
    for each in pids:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def latencies(port: int, rate: int, seconds: float) -> list[float]:
    request = _question(port)
    for _ in range(20):
        await _ask(await asyncio.open_connection("127.0.0.1", port), request)
    start = time.perf_counter() + 0.1
    due = iter([start + number / rate for number in range(int(rate * seconds))])
    times: list[float] = []

    async def ask() -> None:
        connection = await asyncio.open_connection("127.0.0.1", port)
        for moment in due:
            await asyncio.sleep(max(0.0, moment - time.perf_counter()))
            await _ask(connection, request)
            times.append(time.perf_counter() - moment)

    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    return times


def _question(port: int) -> bytes:
    return _request(port, {"pods": POD, "advice": False})


def _pod(cpus: int, memory: int, gpus: int, extra: int) -> str:
    """`memory` in GiB, and `extra` MiB."""
    amounts = f"cpu: {cpus}, memory: {1024 * memory + extra}Mi, nvidia.com/gpu: {gpus}"
    return POD.replace('cpu: "8", memory: 16Gi, nvidia.com/gpu: "1"', amounts)


def _request(port: int, asked: dict[str, Any]) -> bytes:
    body = json.dumps(asked).encode()
    head = (
        f"POST /api/v1/whatif HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _ask(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> bytes:
    reader, writer = connection
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    size = re.search(rb"content-length: (\d+)", head)
    assert size is not None
    return await reader.readexactly(int(size[1]))


async def _growth(port: int, pid: int) -> float:
    """Each stream must also receive the same events as all others."""
    before = _memory(pid)
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(STREAMS)]
    for _, writer in streams:
        writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    counts = await asyncio.gather(*(_events(reader, SECONDS) for reader, _ in streams))
    if min(counts) < 2:
        raise RuntimeError(f"a stream got {min(counts)} events, another {max(counts)}")
    grown = _memory(pid) - before
    for _, writer in streams:
        writer.close()
    return grown


async def _events(reader: asyncio.StreamReader, seconds: float) -> int:
    heard = 0
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        try:
            line = await asyncio.wait_for(reader.readline(), left)
        except TimeoutError:
            break
        heard += line.startswith(b"event: ledger")
    return heard


def _memory(pid: int) -> float:
    """Resident, in MB."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", text)
    assert found is not None
    return int(found[1]) / 1024
