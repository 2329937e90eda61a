"""The event stream behind a real server: those who do not read are let go, others are not held up."""

import asyncio
import socket

import uvicorn

from numafit.service.api.peer import PeerProtocol
from numafit.service.broadcast import MOST_QUEUED
from numafit.service.server import Listening, tcp_socket
from tests.service.agents import demo_agent

LARGE = b'"' + b"x" * (1 << 16) + b'"'


async def _opened(port: int, *, narrow: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    own = socket.socket()
    if narrow:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    own.setblocking(False)
    await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=own, limit=4096 if narrow else 1 << 20)
    writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return reader, writer


def test_a_listener_that_does_not_read_is_cut_off() -> None:
    """Its connection is ended, its events are dropped, and the one beside it hears all of them."""

    async def run() -> tuple[int, int, int]:
        agent = demo_agent()
        listening = tcp_socket("127.0.0.1", 0)
        port = listening.getsockname()[1]
        config = uvicorn.Config(agent.app, http=PeerProtocol, ws="none", log_config=None, access_log=False)
        server = Listening(config, agent, lambda: None)
        serving = asyncio.create_task(server._serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        _, idle = await _opened(port, narrow=True)
        reader, writer = await _opened(port, narrow=False)
        broadcast = agent.board.broadcast
        while len(broadcast.listeners) < 2:
            await asyncio.sleep(0.01)
        sent = 0
        # More than the buffers of both ends and the queue hold together.
        while not broadcast.dropped and sent < 50 * MOST_QUEUED:
            broadcast.send("large", LARGE, 1000 + sent)
            sent += 1
            await reader.readuntil(LARGE)
        left = len(broadcast.listeners)
        for each in (idle, writer):
            each.close()
        server.should_exit = True
        await serving
        return broadcast.dropped, left, len(broadcast.listeners)

    assert asyncio.run(asyncio.wait_for(run(), 60)) == (1, 1, 0)
