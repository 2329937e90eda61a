"""Metrics of the extender."""

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from numafit.cluster.extender.counts import ExtenderCollector, ExtenderCounts


def test_all_metrics_are_told_under_one_name() -> None:
    counts = ExtenderCounts()
    counts.filtered["offered"] += 2
    registry = CollectorRegistry()
    registry.register(ExtenderCollector(counts, lambda: 3, {"offers": ("Offers", lambda: 4)}))
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    assert lines == [
        'numafit_extender_filtered_total{answer="offered"} 2.0',
        "numafit_extender_prioritized_total 0.0",
        "numafit_extender_unreadable_total 0.0",
        "numafit_extender_asked_again_total 0.0",
        "numafit_extender_expired_total 3.0",
        "numafit_extender_woken_total 0.0",
        "numafit_extender_seconds_total 0.0",
        "numafit_extender_offers 4.0",
    ]
