"""The agent looks at once when something happens to those who hold leases."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from numafit.host.lease import Lease
from numafit.host.process.identity import identify
from numafit.service.sources import wake as module
from numafit.service.sources.wake import Wake

LONG = 20.0
SHORT = 0.3


def lease_of(process: subprocess.Popen[bytes]) -> Lease:
    owner = identify(process.pid)
    assert owner is not None
    return Lease("0badcafe", "", 0, "root", 0.0, owners=(owner,))


def run(scene: Callable[[Wake], Awaitable[None]]) -> None:
    async def main() -> None:
        wake = Wake()
        try:
            await scene(wake)
        finally:
            wake.close()

    asyncio.run(main())


def test_the_end_of_an_owner_wakes_once() -> None:
    """Nobody has reaped it yet: it stays a zombie, and must not wake for ever."""
    process = subprocess.Popen(["sleep", "60"])
    lease = lease_of(process)

    async def scene(wake: Wake) -> None:
        wake.watch([lease])
        assert not await wake.wait(SHORT)
        process.kill()
        assert await wake.wait(LONG)
        wake.watch([lease])
        assert not await wake.wait(SHORT)

    run(scene)
    process.wait()


def test_who_holds_nothing_any_more_is_not_watched() -> None:
    process = subprocess.Popen(["sleep", "60"])
    lease = lease_of(process)

    async def scene(wake: Wake) -> None:
        wake.watch([lease])
        wake.watch([])
        process.kill()
        assert not await wake.wait(SHORT)

    run(scene)
    process.wait()


def test_an_owner_that_is_gone_is_left_to_the_sweep() -> None:
    process = subprocess.Popen(["sleep", "60"])
    lease = lease_of(process)
    process.kill()
    process.wait()

    async def scene(wake: Wake) -> None:
        wake.watch([lease])
        assert not await wake.wait(SHORT)

    run(scene)


def test_an_event_of_docker_wakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine answers in chunks, one event each; an engine that goes away is asked again later."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    asked: list[bytes] = []

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b'10\r\n{"status":"die"}\r\n')
        await writer.drain()
        writer.close()

    async def scene(wake: Wake) -> None:
        server = await asyncio.start_unix_server(engine, tmp_path / "docker.sock")
        async with server:
            assert await wake.wait(LONG)
            assert await wake.wait(LONG)
        assert len(asked) > 1
        assert asked[0].startswith(b"GET /events?filters=%7B%22type%22")

    run(scene)
