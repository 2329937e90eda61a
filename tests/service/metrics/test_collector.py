"""The metrics, as Prometheus reads them."""

from collections import Counter

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from numafit.__main__ import main
from numafit.advice.verdict import IN_WORDS
from numafit.host.audit.activity import JobUse
from numafit.host.audit.numastat import NodeAllocations
from numafit.host.audit.watch import JobTotals
from numafit.service.board import Board, reason_label
from numafit.service.metrics.collector import metrics_text, numa_samples
from numafit.service.metrics.table import METRICS
from numafit.service.node import Audited
from numafit.service.sources.demo import Demo
from numafit.show.records.ledger import Amounts, DeviceAmounts, Known, NodeAmounts
from tests.service.agents import asked


def lived(events: int = 60) -> Board:
    demo = Demo()
    board = Board(demo.place)
    for _ in range(events):
        for change in demo.events():
            board.apply(change)
    return board


def samples(board: Board) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(metrics_text(board).decode())
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def test_every_metric_stands_in_the_catalogue_with_its_labels() -> None:
    """And every one of the catalogue that this source can tell is there."""
    known = {metric.name: metric for metric in METRICS}
    found = samples(lived())
    for name, labels in found:
        assert {label for label, _ in labels} == set(known[name].labels)
    missing = set(known) - {name for name, _ in found}
    # No leases and audits in a simulation; the example kubelet is not single-numa-node.
    assert missing == {
        "numafit_leases",
        "numafit_audit_findings",
        "numafit_lease_memory_bytes",
        "numafit_lease_cpu_seconds_total",
        "numafit_lease_cpu_waiting_seconds_total",
        "numafit_lease_context_switches_total",
        "numafit_numa_allocations_total",
        "numafit_requests_total",
        "kubelet_container_aligned_compute_resources_count",
        "kubelet_container_aligned_compute_resources_failure_count",
    }


def test_counters_agree_with_the_story() -> None:
    """Every decision was counted once."""
    board = lived()
    found = samples(board)
    told = [entry.summary for entry in board.history.entries.values()]
    decided = [one for one in told if one.kind == "pod"]
    assert found["kubelet_topology_manager_admission_requests_total", ()] == len(decided)
    rejected = sum(value for (name, _), value in found.items() if name == "kubelet_admission_rejections_total")
    assert rejected == sum(not one.admitted for one in decided) > 0


def test_gauges_agree_with_the_view() -> None:
    """The sums over NUMA nodes are those of the view."""
    board = lived()
    found = samples(board)
    held = sum(node.cpus.held for node in board.snapshot.view().nodes)
    assert found["kubelet_cpu_manager_exclusive_cpu_allocation_count", ()] == held
    assert sum(value for (name, _), value in found.items() if name == "kubelet_cpu_manager_allocation_per_numa") == held


def test_holders_are_counted_by_kind_and_leases_by_how_they_are_bound() -> None:
    """As the view has them: who holds nothing is shared, whatever it is; who is known from the ledger only is a pod."""
    board = lived(20)
    known = {uid: Known(uid, kind="lease", rung="cgroup v2") for uid in list(board.viewed.ledger.active)[::2]}
    board.snapshot = replace(board.snapshot, known=known)
    holders = board.snapshot.view().holders
    kinds = Counter(holder.kind for holder in holders)
    assert set(kinds) == {"lease", "pod", "shared"}
    found = samples(board)
    assert {kind: found["numafit_holders", (("kind", kind),)] for kind in kinds} == kinds
    assert found["numafit_leases", (("rung", "cgroup v2"),)] == kinds["lease"]


def test_holders_are_counted_by_how_they_lie() -> None:
    """As the view has them; a word that nobody has is 0."""
    board = lived(20)
    found = samples(board)
    counts = {word: found["numafit_holder_alignment", (("verdict", word),)] for word in IN_WORDS}
    told = board.snapshot.view().alignment
    assert counts == {word: told.get(word, 0) for word in IN_WORDS}
    assert counts["aligned"] > 0


def test_leases_and_numa_nodes_of_a_host_are_measured() -> None:
    """Of what has no lease nothing is told, and of memory that may not be seen neither."""
    use = JobUse("train (abc)", "abc", 60.0, 1.5, None, 7, 14, 1, 2, {0: 100, 1: 20})
    unseen = JobUse("def", "def", 60.0, 0.0, 0.0, 0, 0, 1, 1, None)
    board = lived(1)
    board.audited = Audited(
        {"NA007": 2},
        60.0,
        (use, unseen, JobUse("box", "", 60.0, 9.0, 0.0, 1, 1, 1, 1, {0: 5})),
        {"abc": JobTotals(90.5, 2.5, 70, 140), "def": JobTotals()},
        allocations={1: NodeAllocations(1, 2, 3, 4, 5, 6)},
    )
    found = samples(board)
    one = (("lease", "abc"), ("name", "train (abc)"))
    assert {(name, labels): value for (name, labels), value in found.items() if ("lease", "abc") in labels} == {
        ("numafit_lease_memory_bytes", (*one, ("numa_node", "0"))): 100,
        ("numafit_lease_memory_bytes", (*one, ("numa_node", "1"))): 20,
        ("numafit_lease_cpu_seconds_total", one): 90.5,
        ("numafit_lease_cpu_waiting_seconds_total", one): 2.5,
        ("numafit_lease_context_switches_total", (("kind", "voluntary"), *one)): 70,
        ("numafit_lease_context_switches_total", (("kind", "involuntary"), *one)): 140,
    }
    kinds = dict(zip(("hit", "miss", "foreign", "interleaved", "local", "remote"), range(1, 7), strict=True))
    for kind, count in kinds.items():
        assert found["numafit_numa_allocations_total", (("kind", kind), ("numa_node", "1"))] == count
    assert found["numafit_audit_findings", (("code", "NA007"),)] == 2
    assert "box" not in str(found)


def test_what_is_stranded_is_counted_where_it_lies() -> None:
    """Free CPUs beside devices that are all held, and free devices and memory beside no free CPU."""
    full, bare = Amounts(8, 8, 0, 0), Amounts(8, 0, 8, 0)
    nodes = (
        NodeAmounts(0, full, bare, {"nvidia.com/gpu": DeviceAmounts(4, 1, 3)}),
        NodeAmounts(1, bare, bare, {"nvidia.com/gpu": DeviceAmounts(4, 4, 0)}),
        NodeAmounts(2, bare, bare, {}),
    )
    found = numa_samples(nodes)

    gpu = "nvidia.com/gpu"
    assert found["numafit_numa_stranded_cpus"] == [(("0",), 0), (("1",), 8), (("2",), 0)]
    assert found["numafit_numa_stranded_memory_bytes"] == [(("0",), 8), (("1",), 0), (("2",), 0)]
    assert found["numafit_numa_stranded_devices"] == [(("0", gpu), 3), (("1", gpu), 0)]


def test_reasons_are_labelled_as_the_kubelet_does() -> None:
    """1.32 and later: known reasons by name, extended resources together, the rest as other."""
    assert [
        reason_label(reason, short=reason.startswith("OutOf"))
        for reason in ("TopologyAffinityError", "OutOfcpu", "OutOfnvidia.com/gpu", "SMTAlignmentError")
    ] == ["TopologyAffinityError", "OutOfcpu", "OutOfExtendedResources", "Other"]


def test_the_agent_serves_them() -> None:
    """Under the media type of the text format."""
    response = asked(lambda client: client.get("/metrics"))
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "numafit_info" in response.text


def test_the_catalogue_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`numafit metrics list` names each metric."""
    assert main(["metrics", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(metric.name in printed and metric.help in printed for metric in METRICS)
