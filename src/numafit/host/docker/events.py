"""What the engine tells of containers as it happens."""

import http.client
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from urllib.parse import quote

import msgspec

from numafit.host.docker.engine import PATIENCE, UNIX
from numafit.host.unix_http import UnixConnection

_FILTERS = {"type": ["container"], "event": ["start", "die", "destroy", "pause", "unpause"]}


class ContainerEvents:
    """The events of an engine on a unix socket. One thread follows, another may close."""

    def __init__(self, address: str) -> None:
        self._connection = UnixConnection(address.removeprefix(UNIX), PATIENCE)
        self._socket: socket.socket | None = None
        """The connection lets go of its own as soon as the engine announces that it will close it."""
        self._closed = False

    def follow(self, happened: Callable[[], object]) -> None:
        """Calls `happened` for each piece that the engine sends, until it goes away or `close` is called."""
        with suppress(OSError, http.client.HTTPException), closing(self._connection):
            self._connection.connect()
            self._socket = self._connection.sock
            self._connection.request("GET", f"/events?filters={quote(msgspec.json.encode(_FILTERS))}")
            answer = self._connection.getresponse()
            # Hours may pass between two events.
            self._socket.settimeout(None)
            while not self._closed and answer.read1():
                happened()

    def close(self) -> None:
        self._closed = True
        if self._socket is not None:
            # To close it would not wake the thread that reads.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
