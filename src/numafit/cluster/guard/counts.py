"""What the guard counts, and where it tells that: /metrics for Prometheus, /readyz and /livez for its kubelet."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.health import ApiHealth, HealthCollector
from numafit.errors import InputError

PREFIX = "numafit_guard"
ALIVE_SECONDS = 60.0
"""Without a turn of its loop the guard is ill."""


class GuardCounts:
    """Of one process."""

    def __init__(self) -> None:
        self.rejected: Counter[str] = Counter()
        """By the kubelet's reason."""
        self.released: Counter[str] = Counter()
        self.removed = 0
        self.explained = 0
        self.unexplained = 0
        """Rejections that nobody was told of, since there were too many."""
        self.holds_begun = 0
        self.holds = 0
        self.waiting = 0
        self.leftovers = 0
        self.leads = False
        self.enforces = False
        self.on = True
        self.ready = False
        self.turned = time.monotonic()
        """When the loop last made a turn."""

    @property
    def alive(self) -> bool:
        return time.monotonic() - self.turned < ALIVE_SECONDS


class GuardCollector(Collector):
    def __init__(self, counts: GuardCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        own = self._counts
        rejected = CounterMetricFamily(f"{PREFIX}_rejected_pods", "Pods that kubelets rejected", labels=["reason"])
        for reason, count in sorted(own.rejected.items()):
            rejected.add_metric([reason], count)
        yield rejected
        text = "Pods whose gate was removed, or would have been in a dry run"
        released = CounterMetricFamily(f"{PREFIX}_released_pods", text, labels=["by"])
        for why, count in sorted(own.released.items()):
            released.add_metric([why], count)
        yield released
        for name, text, value in (
            ("removed_pods", "Rejected pods that were removed", own.removed),
            ("explained_pods", "Rejected pods of which an event tells why", own.explained),
            ("unexplained_pods", "Rejected pods of which nobody was told, since there were too many", own.unexplained),
            ("begun_holds", "Times an owner came to be held, or would have in a dry run", own.holds_begun),
        ):
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, value)
        for name, text, value in (
            ("holds", "Owners whose pods are held now, or would be in a dry run", own.holds),
            ("held_pods", "Pods that wait behind the gate", own.waiting),
            ("leftover_pods", "Rejected pods that are too many of their owner", own.leftovers),
            ("leads", "Whether this replica is the one that acts", own.leads),
            ("enforces", "Whether it changes anything; 0 is a dry run", own.enforces),
            ("on", "Whether nobody has switched it off", own.on),
        ):
            yield GaugeMetricFamily(f"{PREFIX}_{name}", text, value)


class _Quiet(WSGIRequestHandler):
    timeout = 10
    """Seconds; whoever says nothing must not stop others."""

    def log_message(self, format: str, *args: Any) -> None:
        """Each request is no news. `Any`: as the class above has it."""


def serve_counts(address: str, port: int, counts: GuardCounts, health: ApiHealth) -> Callable[[], None]:
    """In a thread of its own; returns what ends it. Raises InputError where the port is taken."""
    registry = CollectorRegistry()
    registry.register(GuardCollector(counts))
    registry.register(HealthCollector(health))
    metrics = make_wsgi_app(registry)

    def app(environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        """`Any`: as WSGI has it."""

        def say(good: bool, bad: str) -> Iterable[bytes]:
            respond("200 OK" if good else "503 Service Unavailable", [("Content-Type", "text/plain")])
            return [b"ok\n" if good else f"{bad}\n".encode()]

        match environ.get("PATH_INFO"):
            case "/metrics":
                page: Iterable[bytes] = metrics(environ, respond)
                return page
            case "/livez":
                return say(counts.alive, "its loop stands still")
            case "/readyz":
                return say(counts.ready, "the cluster is not known yet")
            case _:
                respond("404 Not Found", [("Content-Type", "text/plain")])
                return [b"there are /metrics, /readyz and /livez\n"]

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
