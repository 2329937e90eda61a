"""What went wrong with an API server, counted: whoever runs on and on goes on, and says so here."""

import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.kube.families import counters
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
        own, name = self._health, "numafit_api_server"
        text = "Requests to the API server that failed, by status (0: no answer)"
        yield counters(f"{name}_failures", text, "status", own.failures)
        text = "Lists that were asked for from the start, also after a gap"
        yield counters(f"{name}_lists", text, "resource", own.lists)
        text = "Watches that were silent for too long and were begun again"
        yield counters(f"{name}_stalls", text, "resource", own.stalls)
        text = "Objects that could not be read and were left as they were"
        yield counters(f"{name}_unreadable", text, "resource", own.unreadable)
