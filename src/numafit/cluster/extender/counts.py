"""What the extender did, counted: `numafit_extender_…`."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.families import counters

PREFIX = "numafit_extender"

FilterOutcome = Literal["offered", "refused", "unknown", "not_needed", "not_ready", "failed"]
"""`unknown`: only nodes are left that publish nothing; the last four leave all to the scheduler."""


class ExtenderCounts:
    def __init__(self) -> None:
        self.filtered: Counter[FilterOutcome] = Counter()
        self.prioritized = 0
        self.unreadable = 0
        """Requests that no scheduler sends."""
        self.again = 0
        self.woken = 0
        self.seconds = 0.0
        self.last = ""
        """The error that came last, in words."""


class ExtenderCollector(Collector):
    """`gauges`: name -> what it is, and how much of it."""

    def __init__(
        self, counts: ExtenderCounts, expired: Callable[[], int], gauges: dict[str, tuple[str, Callable[[], int]]]
    ) -> None:
        self._counts, self._expired, self._gauges = counts, expired, gauges

    def collect(self) -> Iterator[Metric]:
        own = self._counts
        yield counters(f"{PREFIX}_filtered", "Pods that were asked about, by answer", "answer", own.filtered)
        for name, text, value in (
            ("prioritized", "Pods for which an order of nodes was asked", own.prioritized),
            ("unreadable", "Requests that no scheduler sends", own.unreadable),
            ("asked_again", "Pods that were asked about again after an offer", own.again),
            ("expired", "Offers that were neither bound nor asked about again, and were withdrawn", self._expired()),
            ("woken", "Pods that were refused, and of which the scheduler was told that they fit by now", own.woken),
            ("seconds", "Time that questions took, from being read to being answered", own.seconds),
        ):
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, value)
        for name, (text, value_of) in self._gauges.items():
            yield GaugeMetricFamily(f"{PREFIX}_{name}", text, value_of())
