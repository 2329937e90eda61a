"""The merge alone, every NUMA mask feasible for each resource, masks of one node preferred."""

from collections.abc import Callable, Iterator

from bench import Row
from bench.shapes import VERSION
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, HintList, hints_of
from numafit.managers.topology.merge import merge
from numafit.settings.versions import behaviour_of

THREE = ("gpu", "cpu", "memory")
KUBELET = (
    ("best-effort", 2, THREE, 13.107e-6),
    ("best-effort", 4, THREE, 1.425642e-3),
    ("best-effort", 8, THREE, 7.719659),
    ("single-numa-node", 2, THREE, 6.937e-6),
    ("single-numa-node", 4, THREE, 37.758e-6),
    ("single-numa-node", 8, THREE, 332.892e-6),
    ("single-numa-node", 12, THREE, 1.017339e-3),
    ("single-numa-node", 16, THREE, 3.521918e-3),
    ("best-effort", 12, ("cpu", "memory"), 5.425673),
)
BEYOND = (("best-effort", 12), ("best-effort", 16), ("best-effort", 34), ("single-numa-node", 64), ("best-effort", 64))


def rows() -> Iterator[Row]:
    for policy, nodes, resources, kubelet in KUBELET:
        run = _merge(policy, nodes, _all_feasible(nodes, resources))
        yield Row(f"merge/{'+'.join(resources)}/{policy}/{nodes}numa", run, kubelet=kubelet)
    for policy, nodes in BEYOND:
        yield Row(f"merge/gpu+cpu+memory/{policy}/{nodes}numa", _merge(policy, nodes, _all_feasible(nodes, THREE)))
    for nodes in (4, 8, 16, 32, 64):
        yield Row(
            f"merge/gpu+cpu+memory/best-effort/{nodes}numa, nothing in common preferred",
            _merge("best-effort", nodes, _torn(nodes)),
        )


def _all_feasible(nodes: int, resources: tuple[str, ...]) -> dict[str, HintList]:
    ground = (1 << nodes) - 1
    return {
        # hints of different resources are never the same objects
        name: _copied(hints_of(HintFamily(ground, (Demand(1, dict.fromkeys(range(nodes), 1)),), size=1)))
        for name in resources
    }


def _copied(hints: HintList) -> HintList:
    return tuple([(mask, preferred) for mask, preferred in hints]) if isinstance(hints, tuple) else hints


def _torn(nodes: int) -> dict[str, HintList]:
    """Each resource is left on other nodes, and sizes differ: no mask is preferred by all."""
    ground = (1 << nodes) - 1
    frees = {
        "gpu": {node: 2 if node % 2 else 0 for node in range(nodes)},
        "cpu": {node: node % 5 + 1 for node in range(nodes)},
        "memory": {node: (7 * node) % 4 + 1 for node in range(nodes)},
    }
    wanted = {"gpu": (3, 1), "cpu": (7, 2), "memory": (4, 1)}
    return {
        name: hints_of(HintFamily(ground, (Demand(wanted[name][0], free),), size=wanted[name][1]))
        for name, free in frees.items()
    }


def _merge(policy: str, nodes: int, hints: dict[str, HintList]) -> Callable[[], object]:
    behaviour = behaviour_of(VERSION)
    ground = (1 << nodes) - 1
    providers = tuple({name: own} for name, own in hints.items())
    return lambda: merge(policy, providers, ground, behaviour=behaviour)
