"""Listening: sockets, signals, and an end that leaves nothing open."""

import asyncio
import contextlib
import errno
import os
import resource
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Protocol

import uvicorn

from numafit.errors import InputError
from numafit.service.api.guard import Guard, is_loopback
from numafit.service.api.peer import PeerProtocol

BACKLOG = 1024
GRACE = 5
"""Seconds for answers under way when the agent ends."""


class Served(Protocol):
    """An agent, of one node or of a cluster."""

    @property
    def app(self) -> Guard: ...

    def end(self) -> None:
        """All streams end."""
        ...


class Listening(uvicorn.Server):
    """Ends with status 0 on SIGTERM and SIGINT, after all event streams have ended."""

    def __init__(self, config: uvicorn.Config, agent: Served, started: Callable[[], None]) -> None:
        super().__init__(config)
        self.agent = agent
        self.tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.agent.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike the original it does not raise the signal again: to be stopped is no failure of an agent."""
        kept = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.should_exit = True


def serve(make: Callable[[], Served], sockets: list[socket.socket], started: Callable[[], None]) -> None:
    """Returns when the agent was told to stop. `make` makes it, where its event loop runs."""
    _raise_file_limit()
    asyncio.run(_serve(make, sockets, started))


async def _serve(make: Callable[[], Served], sockets: list[socket.socket], started: Callable[[], None]) -> None:
    agent = make()
    config = uvicorn.Config(
        agent.app,
        http=PeerProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        # What a client does wrong is told to the client; whoever knocks must not fill the log of the agent.
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=64 << 10,
    )
    await Listening(config, agent, started).serve(sockets)


def tcp_socket(host: str, port: int) -> socket.socket:
    place = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        cure = "choose another with --port" if isinstance(error, OSError) and error.errno else "is the name right?"
        raise InputError(f"cannot listen: {error.strerror or error}", source=place, cure=cure) from None
    except OverflowError:
        raise InputError("is no port", source=place, cure="ports go from 0 to 65535") from None
    return listening


def unix_socket(path: Path) -> socket.socket:
    """Everybody may connect: who it is, the kernel tells. A socket that nobody listens on any more is replaced."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode) and not _answers(path):
            path.unlink()
        listening.bind(str(path))
        os.chmod(path, 0o666)
    except OSError as error:
        listening.close()
        cure = "does another agent listen there? choose another path" if error.errno == errno.EADDRINUSE else ""
        raise InputError(f"cannot listen: {error.strerror or error}", source=str(path), cure=cure) from None
    return listening


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def require_token(host: str, token: str) -> None:
    if not is_loopback(host) and not token:
        raise InputError(
            "others than this machine could reach the agent there",
            source=f"--host {host}",
            cure="give it a token with --token-file, or leave --host away",
        )


def _raise_file_limit() -> None:
    """Each event stream is an open file; the soft limit of many systems is 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
