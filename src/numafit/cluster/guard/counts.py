"""What the guard counts, for Prometheus, and whether it is well."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.families import counters

PREFIX = "numafit_guard"


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
        self.unheld = 0
        """Pods of owners that are held, which came without the gate."""
        self.bugs = 0
        """Questions over which the engine came to grief."""
        self.last_bug = ""
        self.leads = False
        self.enforces = False
        self.on = True
        self.ready = False

    def failed(self, error: Exception) -> None:
        self.bugs += 1
        self.last_bug = f"{type(error).__name__}: {error}"

    def unready(self) -> str:
        return "" if self.ready else "the cluster is not known yet"


class GuardCollector(Collector):
    def __init__(self, counts: GuardCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        own = self._counts
        yield counters(f"{PREFIX}_rejected_pods", "Pods that kubelets rejected", "reason", own.rejected)
        text = "Pods whose gate was removed, or would have been in a dry run"
        yield counters(f"{PREFIX}_released_pods", text, "by", own.released)
        for name, text, value in (
            ("removed_pods", "Rejected pods that were removed", own.removed),
            ("explained_pods", "Rejected pods of which an event tells why", own.explained),
            ("unexplained_pods", "Rejected pods of which nobody was told, since there were too many", own.unexplained),
            ("unheld_pods", "Rejected pods of held owners that were made without the gate", own.unheld),
            ("bugs", "Questions over which the engine came to grief", own.bugs),
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
