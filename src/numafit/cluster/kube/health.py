"""What went wrong with an API server, counted: whoever runs on and on goes on, and says so here."""

import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.errors import ApiServerError, InputError

MOST_MISSING = 100


def missing_right(message: str) -> str:
    """`patch resource "pods" in API group "" …`: the same for all objects that it is about. Empty where something else
    is to blame: a namespace that is being deleted, a quota."""
    return message.partition(" cannot ")[2]


class ApiHealth:
    """`failures` by the status of the answer ("0": nobody answered), the others by what was listed."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self.lists: Counter[str] = Counter()
        self.stalls: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        self.last = ""
        """The failure that came last, in words."""
        self.missing: dict[str, float] = {}
        """Right that somebody took from us -> when it was missed last, by the steady clock."""

    def failed(self, error: InputError) -> None:
        """Also of a request that could not even be made, since a file with a token was gone for a moment: that has no
        status, and is not counted."""
        if isinstance(error, ApiServerError):
            self.failures[str(error.status)] += 1
            right = missing_right(error.message) if error.status == HTTPStatus.FORBIDDEN else ""
            if right and (right in self.missing or len(self.missing) < MOST_MISSING):
                self.missing[right] = time.monotonic()
        self.last = str(error)


class HealthCollector(Collector):
    def __init__(self, health: ApiHealth) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        own = self._health
        yield _family(
            "failures", "Requests to the API server that failed, by status (0: no answer)", "status", own.failures
        )
        yield _family("lists", "Lists that were asked for from the start, also after a gap", "resource", own.lists)
        yield _family("stalls", "Watches that were silent for too long and were begun again", "resource", own.stalls)
        yield _family(
            "unreadable", "Objects that could not be read and were left as they were", "resource", own.unreadable
        )


def _family(name: str, text: str, label: str, counts: Counter[str]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"numafit_api_server_{name}", text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family
