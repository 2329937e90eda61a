"""What a webhook answered, and what went wrong, counted."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.https.messages import ServerCounts
from numafit.cluster.kube.families import counters

PREFIX = "numafit_webhook"

GATED, PASSED, FAILED, UNREADABLE = "gated", "passed", "failed", "unreadable"
"""A gate was added; none was needed; a bug of ours; no question at all. All but the first change nothing."""


class AdmissionCounts:
    def __init__(self) -> None:
        self.reviews: Counter[str] = Counter({GATED: 0, PASSED: 0, FAILED: 0, UNREADABLE: 0})
        self.seconds = 0.0
        """Of all answers together."""
        self.server = ServerCounts()
        self.certificates = 0
        """Made here."""
        self.applied = 0
        """Times the configuration was written."""
        self.end = 0.0
        """Until when the certificate that is shown is good; seconds since 1970, 0 where none is."""
        self.last = ""
        """The bug that came last, in words."""


class AdmissionCollector(Collector):
    def __init__(self, counts: AdmissionCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        own = self._counts
        yield counters(f"{PREFIX}_reviews", "Pods that the API server asked about", "result", own.reviews)
        for name, text, value in (
            ("review_seconds", "Seconds that answers took, together", own.seconds),
            ("connections_refused", "Connections that were closed since there were too many", own.server.refused),
            ("connections_broken", "Connections that ended in the middle of something", own.server.broken),
            ("certificates_made", "Certificates that this replica made", own.certificates),
            ("configurations_applied", "Times this replica wrote the configuration of the webhook", own.applied),
        ):
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, value)
        yield GaugeMetricFamily(f"{PREFIX}_connections", "Connections that are open", own.server.connections)
        yield GaugeMetricFamily(f"{PREFIX}_certificate_end", "Until when the certificate is good, since 1970", own.end)
