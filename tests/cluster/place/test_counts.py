"""What the placer counts."""

from prometheus_client import CollectorRegistry, generate_latest

from numafit.cluster.place.counts import PlaceCollector, PlaceCounts


def test_all_is_told_by_the_names_that_the_page_tells() -> None:
    counts = PlaceCounts()
    counts.waiting["no_node"], counts.released["known"] = 3, 7
    counts.unpredicted = 1
    for seconds in (0.02, 0.3, 4.0, -1.0, 1e6):
        counts.waited(seconds)
    registry = CollectorRegistry()
    registry.register(PlaceCollector(counts))
    text = generate_latest(registry).decode()
    for line in (
        'numafit_place_waiting_pods{reason="no_node"} 3.0',
        'numafit_place_released_total{nodes="known"} 7.0',
        "numafit_place_unpredicted_rejections_total 1.0",
        'numafit_place_release_seconds_bucket{le="0.05"} 2.0',
        'numafit_place_release_seconds_bucket{le="0.5"} 3.0',
        'numafit_place_release_seconds_bucket{le="+Inf"} 5.0',
        "numafit_place_release_seconds_count 5.0",
    ):
        assert line in text.splitlines()
