"""Numbers of a webhook as Prometheus reads them."""

from prometheus_client import CollectorRegistry, generate_latest

from numafit.cluster.admission.counts import GATED, AdmissionCollector, AdmissionCounts


def test_all_results_are_there_from_the_start() -> None:
    registry, counts = CollectorRegistry(), AdmissionCounts()
    registry.register(AdmissionCollector(counts))
    counts.reviews[GATED] += 3
    counts.end = 1.8e9
    text = generate_latest(registry).decode()
    for line in (
        'numafit_webhook_reviews_total{result="gated"} 3.0',
        'numafit_webhook_reviews_total{result="failed"} 0.0',
        "numafit_webhook_certificate_end 1.8e+09",
        "numafit_webhook_connections_refused_total 0.0",
    ):
        assert line in text.splitlines()
