"""What the guard counts."""

from prometheus_client import CollectorRegistry, generate_latest

from numafit.cluster.guard.counts import GuardCollector, GuardCounts


def test_all_of_it_is_told() -> None:
    counts = GuardCounts()
    counts.rejected["TopologyAffinityError"] = 3
    counts.released["engine"] = 2
    counts.holds = 1
    registry = CollectorRegistry()
    registry.register(GuardCollector(counts))
    lines = generate_latest(registry).decode().splitlines()
    assert 'numafit_guard_rejected_pods_total{reason="TopologyAffinityError"} 3.0' in lines
    assert 'numafit_guard_released_pods_total{by="engine"} 2.0' in lines
    assert {"numafit_guard_holds 1.0", "numafit_guard_on 1.0", "numafit_guard_leads 0.0"} <= set(lines)


def test_it_is_not_ready_before_the_cluster_is_known() -> None:
    counts = GuardCounts()
    assert counts.unready() == "the cluster is not known yet"
    counts.ready = True
    assert counts.unready() == ""


def test_a_bug_is_counted_with_its_words() -> None:
    counts = GuardCounts()
    counts.failed(ValueError("no"))
    assert (counts.bugs, counts.last_bug) == (1, "ValueError: no")
