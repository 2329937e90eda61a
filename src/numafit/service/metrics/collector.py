"""The metrics as Prometheus reads them, made from the board each time it asks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric as Family

from numafit import __version__
from numafit.advice.verdict import IN_WORDS, counted
from numafit.decision.held import holdings
from numafit.service.board import Board
from numafit.service.metrics.table import METRICS
from numafit.service.node import Audited
from numafit.show.records.ledger import Known, NodeAmounts, holder_alignments, node_amounts

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

UNKNOWN = Known("")
"""Of a holder that only the ledger tells of."""

L = TypeVar("L", bound=tuple[str, ...])

Samples = Iterable[tuple[tuple[str, ...], float]]
"""Values of the labels, and the value."""


class Collector:
    def __init__(self, board: Board) -> None:
        self.board = board

    def collect(self) -> Iterator[Family]:
        values = self._values()
        for metric in METRICS:
            if metric.name in values:
                kind = "unknown" if metric.type == "untyped" else metric.type
                family = Family(metric.name.removesuffix("_total"), metric.help, kind)
                for labels, value in values[metric.name]:
                    family.add_sample(metric.name, dict(zip(metric.labels, labels, strict=True)), value)
                yield family

    def _values(self) -> dict[str, Samples]:
        board = self.board
        place = board.snapshot.place
        found: dict[str, Samples] = {
            "numafit_info": [((__version__, place.kind, place.name, place.version), 1)],
            "numafit_source_ready": [((), float(board.ready and not board.problem))],
            "numafit_audit_findings": _table({(code,): count for code, count in board.audited.findings.items()}),
            "numafit_decisions_total": _table(board.counts),
            "numafit_requests_total": _table({(status,): count for status, count in board.requests.items()}),
            "numafit_event_streams": [((), len(board.broadcast.listeners))],
            "numafit_event_streams_dropped_total": [((), board.broadcast.dropped)],
        }
        amounts = tuple(node_amounts(board.viewed.node, board.viewed.ledger))
        return (
            found
            | lease_samples(board.audited)
            | self._holders()
            | numa_samples(amounts)
            | self._pools(amounts)
            | self._counters()
        )

    def _holders(self) -> dict[str, Samples]:
        known, viewed = self.board.snapshot.known, self.board.viewed
        found = [(known.get(uid, UNKNOWN), holding) for uid, holding in holdings(viewed.node, viewed.ledger).items()]
        kinds = [(one.kind_of(holding), one.rung) for one, holding in found]
        return {
            "numafit_holders": _counted((kind,) for kind, _ in kinds),
            "numafit_leases": _counted((rung,) for kind, rung in kinds if kind == "lease"),
            "numafit_holder_alignment": self._lying(),
        }

    def _lying(self) -> Samples:
        """A word that nobody has is 0, so that one can wait for it to change."""
        viewed = self.board.viewed
        found = counted(holder_alignments(viewed.node, viewed.ledger, self.board.snapshot.known).values())
        return [((word,), found.get(word, 0)) for word in IN_WORDS]

    def _pools(self, amounts: Sequence[NodeAmounts]) -> dict[str, Samples]:
        """A kubelet without the static policy has no such pools; leases are no matter of a kubelet."""
        board = self.board
        if not board.snapshot.stage.node.cpu.static or board.snapshot.place.kind == "live":
            return {}
        held = {(str(node.id),): node.cpus.held for node in amounts}
        shared = board.viewed.ledger.cpu.default & ~board.viewed.node.cpu.reserved
        return {
            "kubelet_cpu_manager_shared_pool_size_millicores": [((), shared.bit_count() * 1000)],
            "kubelet_cpu_manager_exclusive_cpu_allocation_count": [((), sum(held.values()))],
            "kubelet_cpu_manager_allocation_per_numa": _table(held),
        }

    def _counters(self) -> dict[str, Samples]:
        """Only for decisions that the engine took: those of a real kubelet cannot be counted from its files."""
        counters = self.board.counters
        if self.board.snapshot.place.kind != "demo":
            return {}
        return {
            "kubelet_topology_manager_admission_requests_total": [((), counters.requests)],
            "kubelet_topology_manager_admission_errors_total": [((), counters.errors)],
            "kubelet_admission_rejections_total": _table({(name,): n for name, n in counters.rejections.items()}),
            "kubelet_cpu_manager_pinning_requests_total": [((), counters.cpu_requests)],
            "kubelet_cpu_manager_pinning_errors_total": [((), counters.cpu_errors)],
            "kubelet_memory_manager_pinning_requests_total": [((), counters.memory_requests)],
            "kubelet_memory_manager_pinning_errors_total": [((), counters.memory_errors)],
            "kubelet_container_aligned_compute_resources_count": _table(counters.aligned),
            "kubelet_container_aligned_compute_resources_failure_count": _table(counters.not_aligned),
        }


def lease_samples(audited: Audited) -> dict[str, Samples]:
    """Of this machine as a host: what its leases did, and the allocations of its NUMA nodes."""
    names = {use.lease: (use.lease, use.name) for use in audited.jobs if use.lease}
    totals = [(names[lease], count) for lease, count in sorted(audited.totals.items()) if lease in names]
    nodes = audited.allocations.items()
    return {
        "numafit_lease_memory_bytes": [
            ((use.lease, use.name, str(node)), amount)
            for use in audited.jobs
            if use.lease
            for node, amount in (use.memory or {}).items()
        ],
        "numafit_lease_cpu_seconds_total": [(name, count.cpu_seconds) for name, count in totals],
        "numafit_lease_cpu_waiting_seconds_total": [(name, count.waiting_seconds) for name, count in totals],
        "numafit_lease_context_switches_total": [
            ((*name, kind), getattr(count, kind)) for name, count in totals for kind in ("involuntary", "voluntary")
        ],
        "numafit_numa_allocations_total": [
            ((str(node), kind), getattr(counts, kind)) for node, counts in nodes for kind in counts.__struct_fields__
        ],
    }


def numa_samples(amounts: Sequence[NodeAmounts]) -> dict[str, Samples]:
    cpus, memory, devices = {}, {}, {}
    stranded_cpus, stranded_memory, stranded_devices = {}, {}, {}
    for node in amounts:
        name = str(node.id)
        for state in ("held", "free", "reserved"):
            cpus[name, state] = getattr(node.cpus, state)
            memory[name, state] = getattr(node.memory, state)
        for resource, own in node.devices.items():
            devices[name, resource, "held"] = own.held
            devices[name, resource, "free"] = own.free
            stranded_devices[name, resource] = own.free if _without_cpus(node) else 0
        stranded_cpus[(name,)] = node.cpus.free if _without_devices(node) else 0
        stranded_memory[(name,)] = node.memory.free if _without_cpus(node) else 0
    return {
        "numafit_numa_cpus": _table(cpus),
        "numafit_numa_memory_bytes": _table(memory),
        "numafit_numa_devices": _table(devices),
        "numafit_numa_stranded_cpus": _table(stranded_cpus),
        "numafit_numa_stranded_memory_bytes": _table(stranded_memory),
        "numafit_numa_stranded_devices": _table(stranded_devices),
    }


def _without_cpus(node: NodeAmounts) -> bool:
    return bool(node.cpus.total) and not node.cpus.free


def _without_devices(node: NodeAmounts) -> bool:
    return bool(node.devices) and not any(own.free for own in node.devices.values())


def _table(values: Mapping[L, float]) -> Samples:
    return sorted(values.items())


def _counted(labels: Iterable[tuple[str, ...]]) -> Samples:
    counts: dict[tuple[str, ...], float] = {}
    for each in labels:
        counts[each] = counts.get(each, 0) + 1
    return _table(counts)


def metrics_text(board: Board) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(board))
    return generate_latest(registry)
