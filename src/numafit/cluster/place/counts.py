"""What the placer counts, for Prometheus."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.families import counters, gauges

PREFIX = "numafit_place"
BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
"""Seconds."""


class PlaceCounts:
    def __init__(self) -> None:
        self.waiting: Counter[str] = Counter()
        """By why they wait; now."""
        self.decided = 0
        """How often a pod was asked about."""
        self.released: Counter[str] = Counter()
        """`known`, `unknown`, `preempting` or `scale`: for which nodes; `any`: it is too large to be decided; `fault`:
        as they came, since nobody could decide."""
        self.offered_names = 0
        self.failed: Counter[str] = Counter()
        """Releases that came to nothing, by why."""
        self.told = 0
        """Conditions that were written."""
        self.replaced = 0
        """Pods that were deleted since the scheduler could not bind them, and their controller makes new ones."""
        self.unpredicted = 0
        """Rejections by kubelets of pods that were placed."""
        self.faults = 0
        """Bugs of ours that were met, and passed over."""
        self.leads = 0
        self.synced = 0
        self.in_flight = 0
        self.nodes: Counter[str] = Counter()
        """By what is known of them; now."""
        self.reserved = 0
        """Nodes that are kept for large pods; now."""
        self.seconds: list[int] = [0] * (len(BOUNDS) + 1)
        self.seconds_sum = 0.0

    def waited(self, seconds: float) -> None:
        seconds = max(0.0, seconds)
        self.seconds[bisect_left(BOUNDS, seconds)] += 1
        self.seconds_sum += seconds


class PlaceCollector(Collector):
    def __init__(self, counts: PlaceCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        own = self._counts
        yield gauges(f"{PREFIX}_waiting_pods", "Pods that wait, by why", "reason", own.waiting)
        yield gauges(f"{PREFIX}_nodes", "Nodes, by what is known of them", "state", own.nodes)
        text = "Pods that were released, by what is known of their nodes"
        yield counters(f"{PREFIX}_released", text, "nodes", own.released)
        yield counters(f"{PREFIX}_release_failures", "Releases that came to nothing, by why", "reason", own.failed)
        for name, text, value in (
            ("decisions", "Times a waiting pod was asked about", own.decided),
            ("offered_names", "Nodes that were offered to released pods, together", own.offered_names),
            ("conditions", "Conditions that were written to waiting pods", own.told),
            ("replaced_pods", "Pods deleted for another try, since the scheduler could not bind them", own.replaced),
            ("unpredicted_rejections", "Pods that were placed and that their kubelet rejected", own.unpredicted),
            ("faults", "Bugs of numafit that were met and passed over", own.faults),
        ):
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, value)
        for name, text, value in (
            ("leader", "1 where this replica decides", own.leads),
            ("synced", "1 where the cluster is known as a whole", own.synced),
            ("releases_in_flight", "Patches under way", own.in_flight),
            ("reserved_nodes", "Nodes that are kept for large pods that wait", own.reserved),
        ):
            yield GaugeMetricFamily(f"{PREFIX}_{name}", text, value)
        buckets, total = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), own.seconds, strict=True):
            total += count
            buckets.append((bound, float(total)))
        text = "From the creation of a pod to its release"
        yield HistogramMetricFamily(f"{PREFIX}_release_seconds", text, buckets, own.seconds_sum)
