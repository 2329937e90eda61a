"""Where a process that runs on and on tells how it is: /metrics for Prometheus, /readyz and /livez for its kubelet.

In a thread of its own, so that it also answers when the loop of the process stands still.
"""

import time
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import msgspec
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from numafit.errors import InputError

ALIVE_SECONDS = 60.0
"""Without a turn of its loop a process is ill."""


class LoopPulse:
    def __init__(self) -> None:
        self.turned = time.monotonic()
        """When the loop last made a turn."""

    def beat(self) -> None:
        self.turned = time.monotonic()

    def dead(self) -> str:
        """Why; empty where it lives."""
        return "" if time.monotonic() - self.turned < ALIVE_SECONDS else "its loop stands still"


class ProbePlace(msgspec.Struct, frozen=True):
    address: str
    port: int
    """0: nothing is served."""


class _Quiet(WSGIRequestHandler):
    timeout = 10
    """Seconds; whoever says nothing must not stop others."""

    def log_message(self, format: str, *args: Any) -> None:
        """Each request is no news. `Any`: as the class above has it."""


def serve_probes(
    place: ProbePlace, collectors: Iterable[Collector], unready: Callable[[], str], dead: Callable[[], str]
) -> Callable[[], None]:
    """Returns what ends it. `unready`, `dead`: why it is so, empty where all is well. Raises
    InputError where the port is taken."""
    if not place.port:
        return lambda: None
    registry = CollectorRegistry()
    for own in collectors:
        registry.register(own)
    metrics = make_wsgi_app(registry)
    checks = {"/readyz": unready, "/livez": dead}

    def app(environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        """`Any`: as WSGI has it."""
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            page: Iterable[bytes] = metrics(environ, respond)
            return page
        check = checks.get(path)
        if check is None:
            respond("404 Not Found", [("Content-Type", "text/plain")])
            return [b"there are /metrics, /readyz and /livez\n"]
        trouble = check()
        respond("503 Service Unavailable" if trouble else "200 OK", [("Content-Type", "text/plain")])
        return [f"{trouble or 'ok'}\n".encode()]

    try:
        server = make_server(place.address, place.port, app, ThreadingWSGIServer, _Quiet)
    except OSError as error:
        cure = "choose another with --metrics-port or --metrics-address; port 0 is for none"
        where = f"{place.address}:{place.port}"
        raise InputError(f"cannot listen on {where}: {error.strerror}", source="metrics", cure=cure) from None
    Thread(target=server.serve_forever, daemon=True).start()

    def end() -> None:
        server.shutdown()
        server.server_close()

    return end
