"""What the agent of a node counts, and where it tells that: /metrics for Prometheus, /healthz for its kubelet."""

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.families import counters, gauges
from numafit.cluster.kube.health import ApiHealth, HealthCollector
from numafit.cluster.node.compare import ComparisonResult
from numafit.errors import InputError

PREFIX = "numafit_node"
ALIVE_SECONDS = 120.0
"""Without a look at the node the agent is ill."""


class AgentCounts:
    """Of one agent."""

    def __init__(self) -> None:
        self.decisions: dict[ComparisonResult, int] = {"equal": 0, "differs": 0, "not comparable": 0}
        self.published = 0
        self.publish_failures = 0
        self.unreadable = 0
        """Looks at which the state files could not be read."""
        self.notes: dict[str, int] = {}
        self.pods = 0
        self.seconds = time.monotonic()
        """When the node was looked at last."""

    @property
    def healthy(self) -> bool:
        return time.monotonic() - self.seconds < ALIVE_SECONDS


class NodeCollector(Collector):
    def __init__(self, counts: AgentCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        own = self._counts
        text = "Decisions of the kubelet beside those that numafit would have made"
        by_result = {result.replace(" ", "_"): count for result, count in own.decisions.items()}
        yield counters(f"{PREFIX}_decisions", text, "result", by_result)
        for name, text, value in (
            ("published", "Times the state of the node was written to the API server", own.published),
            ("publish_failures", "Times the state of the node could not be written", own.publish_failures),
            ("unreadable", "Looks at which the kubelet's state files could not be read", own.unreadable),
        ):
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, value)
        yield GaugeMetricFamily(f"{PREFIX}_pods", "Pods that the kubelet has admitted", own.pods)
        yield gauges(f"{PREFIX}_notes", "What could not be learnt of the node", "code", own.notes)


class _Quiet(WSGIRequestHandler):
    timeout = 10
    """Seconds; whoever says nothing must not stop others."""

    def log_message(self, format: str, *args: Any) -> None:
        """Each request is no news. `Any`: as the class above has it."""


def serve_metrics(address: str, port: int, counts: AgentCounts, health: ApiHealth) -> Callable[[], None]:
    """In a thread of its own; returns what ends it. Raises InputError where the port is taken."""
    registry = CollectorRegistry()
    registry.register(NodeCollector(counts))
    registry.register(HealthCollector(health))
    metrics = make_wsgi_app(registry)

    def app(environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        """`Any`: as WSGI has it."""
        match environ.get("PATH_INFO"):
            case "/metrics":
                page: Iterable[bytes] = metrics(environ, respond)
                return page
            case "/healthz":
                respond("200 OK" if counts.healthy else "503 Service Unavailable", [("Content-Type", "text/plain")])
                return [b"ok\n" if counts.healthy else b"the node was not looked at for too long\n"]
            case _:
                respond("404 Not Found", [("Content-Type", "text/plain")])
                return [b"there are /metrics and /healthz\n"]

    try:
        server = make_server(address, port, app, ThreadingWSGIServer, _Quiet)
    except OSError as error:
        cure = "choose another with --metrics-port or --metrics-address; port 0 is for none"
        raise InputError(f"cannot listen on {address}:{port}: {error.strerror}", source="metrics", cure=cure) from None
    Thread(target=server.serve_forever, daemon=True).start()

    def end() -> None:
        server.shutdown()
        server.server_close()

    return end
