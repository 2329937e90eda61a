"""A plugin that serves while a story goes on beside it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from numafit.cluster.device.service import serve_until
from numafit.cluster.device.source.source import DeviceSource
from tests.cluster.device.offers import device, offer

OWN = "numafit-example.com_fpga.sock"
TWO = offer(device("a"), device("b", 1))


def played(
    folder: Path, source: DeviceSource, story: Callable[[list[str]], Awaitable[None]], seconds: float = 0.02
) -> list[str]:
    """What it said while the story went on beside it."""
    said: list[str] = []

    async def play() -> None:
        stop = asyncio.Event()
        service = asyncio.create_task(serve_until(stop, source, folder, seconds, said.append))
        try:
            await story(said)
        finally:
            stop.set()
            await service

    asyncio.run(play())
    return said
