"""What is asked and answered, and the bounds for it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address

import msgspec

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class ServerRequest(msgspec.Struct, frozen=True):
    method: str
    path: str
    """Without what is behind a question mark."""
    content: bytes
    peer: str = ""
    """The common name in the certificate that the client has shown."""


class ServerAnswer(msgspec.Struct, frozen=True):
    content: bytes
    status: int = HTTPStatus.OK
    kind: str = JSON


Answering = Callable[[ServerRequest], Awaitable[ServerAnswer]]


class AnsweredAtOnce(msgspec.Struct, frozen=True):
    answer: ServerAnswer
    afterwards: Callable[[], None]
    """Called once the answer is on its way, before anything else happens: who has asked need not wait for it."""


AtOnce = Callable[[ServerRequest], AnsweredAtOnce | None]
"""None: it is left to who takes longer."""


class ServerLimits(msgspec.Struct, frozen=True):
    largest: int = 1 << 27
    """Bytes of one request: 5,000 whole nodes have some fifty million."""
    held: int = 1 << 29
    """Bytes of all requests together that are not there as a whole yet."""
    connections: int = 512
    handshake_seconds: float = 30.0
    """For TLS to be agreed on."""
    request_seconds: float = 30.0
    """For all of a request once it has begun, and for an answer to be taken."""
    drain_seconds: float = 0.0
    """For which a server that ends still accepts connections: others learn only by and by that it is going."""


class ServerCounts(msgspec.Struct):
    connections: int = 0
    """Open now."""
    refused: int = 0
    """Connections that were closed since there were too many."""
    broken: int = 0
    """Connections that ended in the middle of something, a handshake among them."""


def text_answer(text: str, status: int = HTTPStatus.OK) -> ServerAnswer:
    return ServerAnswer(f"{text}\n".encode(), status, TEXT)


def is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ip_address(address).is_loopback
    return address == "localhost"
