"""HTTP as a client: through a unix socket, and one question with its whole answer. http.client undoes chunks."""

import http.client
import socket
from collections.abc import Mapping
from typing import NamedTuple

_MOST_BYTES = 64 << 20
"""A longer answer is cut here, and then does not decode."""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self.path = path
        self.seconds = seconds

    def connect(self) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no unix sockets")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.seconds)
        self.sock.connect(self.path)


class HttpAnswer(NamedTuple):
    status: int
    reason: str
    data: bytes


class NoAnswer(Exception):
    """The text says why."""


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> HttpAnswer:
    """One question, after which the connection is closed. Raises `NoAnswer`."""
    try:
        connection.request(method, path, body or None, headers or {})
        response = connection.getresponse()
        return HttpAnswer(response.status, response.reason, response.read(_MOST_BYTES))
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(getattr(error, "strerror", None) or str(error) or type(error).__name__) from None
    finally:
        connection.close()
