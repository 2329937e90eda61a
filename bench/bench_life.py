"""A long life: 10,000 pods come to one node and go again, and the last ones cost what the first ones cost."""

import gc
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

from bench import Row
from bench.shapes import GPU, TWO, burstable, guaranteed, started
from numafit.decision.admit import admit
from numafit.decision.life import release, start_containers
from numafit.workload.pod import Pod

PODS = 10_000
SLICE = 1_000
PER_POD = 1e-3
FLAT = 1.5
"""The last 1,000 pods may cost this many times the second 1,000; the first ones also fill the node."""


def rows() -> Iterator[Row]:
    lives: tuple[tuple[str, int, Callable[[int], Pod]], ...] = (
        ("1 pod at a time", 1, _small),
        ("10 at once", 10, _small),
        ("110 at once", 110, _small),
        ("110 at once, one in four Burstable", 110, _mixed),
        ("20 at once, half of the pods rejected", 20, _greedy),
    )
    for name, live, pod in lives:
        costs: list[float] = []
        life = _life(live, pod)
        for last in range(SLICE, PODS + 1, SLICE):
            label = f"life/{name}/per pod, up to pod {last}"
            yield Row(label, partial(_next, life, costs), PER_POD, measured=True)
        yield Row(f"life/{name}/growth", partial(_growth, costs), FLAT, unit="x", measured=True)


def _next(life: Iterator[float], costs: list[float]) -> float:
    costs.append(next(life))
    return costs[-1]


def _growth(costs: list[float]) -> float:
    return costs[-1] / costs[1]


def _life(live: int, make: Callable[[int], Pod]) -> Iterator[float]:
    """Seconds per pod, thousand by thousand: its admission, the start of its containers and, later, its end."""
    node, ledger = started(TWO, "best-effort")
    alive: deque[str] = deque()
    for start in range(0, PODS, SLICE):
        pods = [make(i) for i in range(start, start + SLICE)]
        gc.collect()
        began = process_time()
        for pod in pods:
            if len(alive) == live:
                ledger = release(ledger, alive.popleft())
            decision = admit(node, ledger, pod)
            ledger = decision.ledger
            if decision.admitted:
                ledger = start_containers(node, ledger, pod.uid)[0]
                alive.append(pod.uid)
        yield (process_time() - began) / SLICE


def _small(i: int) -> Pod:
    return guaranteed(f"pod-{i}", 1, "1Gi", {GPU: 1} if i % 20 == 0 else {})


def _mixed(i: int) -> Pod:
    return burstable(f"pod-{i}") if i % 4 == 0 else _small(i)


def _greedy(i: int) -> Pod:
    """Every second one asks for more CPUs than the machine can give."""
    return guaranteed(f"pod-{i}", 2 if i % 2 else 128, "1Gi")
