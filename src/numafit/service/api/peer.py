"""Who is at the other end: the user behind a connection through the unix socket, as the kernel tells it."""

import asyncio
import socket
import struct
from typing import Any

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from numafit.service.problem import MEDIA_TYPE, problem

PEER = "numafit_peer"
TRANSPORT = "numafit_transport"
HEAD_SECONDS = 10.0
"""From a connection, or the first byte of a further request, to the end of its head."""
_CREDENTIALS = struct.Struct("3i")


class Peer(msgspec.Struct, frozen=True):
    pid: int
    uid: int
    gid: int


class PeerProtocol(H11Protocol):
    """Puts the peer and the transport into the state of each request, and waits only so long for its head."""

    head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        own: socket.socket = transport.get_extra_info("socket")
        self.app_state = {**self.app_state, TRANSPORT: transport}
        if own.family == socket.AF_UNIX:
            found = own.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            self.app_state[PEER] = Peer(*_CREDENTIALS.unpack(found))
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        elif self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is a problem like any other. Behind half an answer there is no room for one."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            content = msgspec.json.encode(problem(400, "the request is no HTTP that can be read"))
            headers = [("Content-Type", MEDIA_TYPE), ("Content-Length", str(len(content))), ("Connection", "close")]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=content),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await_head(self) -> None:
        if self.head_timer is None:
            self.head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
        super().connection_lost(exc)


def peer_of(scope: Any) -> Peer | None:
    """None for a connection by TCP."""
    found: Peer | None = scope.get("state", {}).get(PEER)
    return found


def abort(scope: Any) -> None:
    """Ends the connection without waiting for what could not be sent."""
    transport = scope.get("state", {}).get(TRANSPORT)
    if transport is not None:
        transport.abort()
