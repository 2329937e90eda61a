"""The CPU manager alone: hints for 8 CPUs, and 8 CPUs taken and given back."""

from collections.abc import Callable, Iterator

from bench import Row
from bench.shapes import EIGHT, TWO, Shape, guaranteed, started
from numafit.decision.admit import admit
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import ask_of
from numafit.managers.protocol import Call, Choices

KUBELET = {
    ("2numa-128cpu", "empty"): (0.168550e-3, 1.206056e-3),
    ("2numa-128cpu", "half-full"): (0.100144e-3, 0.871205e-3),
    ("8numa-256cpu", "empty"): (14.164954e-3, 0.885155e-3),
    ("8numa-256cpu", "half-full"): (11.709546e-3, 1.769243e-3),
}
"""Hints, and allocation with release, in seconds."""


def rows() -> Iterator[Row]:
    for name, shape in (("2numa-128cpu", TWO), ("8numa-256cpu", EIGHT)):
        for filling, pods in (("empty", 0), ("half-full", shape.cpus // 16)):
            node, ledger = _filled(shape, pods)
            hints, allocate = KUBELET[name, filling]
            yield Row(f"cpu hints/{name}/{filling}", _hints(node, ledger), kubelet=hints)
            yield Row(f"cpu allocate+release/{name}/{filling}", _allocate(node, ledger), kubelet=allocate)


def _filled(shape: Shape, pods: int) -> tuple[Node, Ledger]:
    node, ledger = started(shape, "best-effort")
    for i in range(pods):
        ledger = admit(node, ledger, guaranteed(f"full-{i}", 8, "1Gi")).ledger
    return node, ledger


def _hints(node: Node, ledger: Ledger) -> Callable[[], object]:
    pod = guaranteed("new", 8, "4Gi")
    ask = ask_of(pod, node.settings)
    container = pod.containers[0]
    return lambda: node.cpu.hints(Call(ledger, ask, Choices()), container)


def _allocate(node: Node, ledger: Ledger) -> Callable[[], object]:
    pod = guaranteed("new", 8, "4Gi")
    ask = ask_of(pod, node.settings)
    container = pod.containers[0]

    def run() -> None:
        call = Call(ledger, ask, Choices())
        node.cpu.allocate(call, container)
        node.cpu.release(call.ledger.cpu, "new", "app")

    return run
