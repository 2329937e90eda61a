"""How the cost of one admission grows: with NUMA nodes, CPUs, pods on the node, and containers in the pod."""

from collections.abc import Callable, Iterator
from itertools import cycle

from bench import Row
from bench.shapes import FIVE_RESOURCES, FPGA, GPU, NIC, TWO, Shape, guaranteed, started
from numafit.decision.admit import admit
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Container, Pod

DEVICES = {GPU: 1, NIC: 1, FPGA: 1}


def rows() -> Iterator[Row]:
    for nodes in (2, 4, 8, 16, 32, 64):
        node, ledger = started(Shape(nodes, 16 * nodes, devices=FIVE_RESOURCES), "best-effort")
        yield Row(f"growth/{nodes} NUMA nodes of 16 CPUs", _admission(node, ledger, 8, DEVICES))
    for cpus in (64, 128, 256, 512, 1024):
        node, ledger = started(Shape(2, cpus), "best-effort")
        yield Row(f"growth/{cpus} CPUs on 2 NUMA nodes", _admission(node, ledger, 8, {GPU: 1}))
    for live in (1, 10, 20, 40, 80, 110):
        node, ledger = started(TWO, "best-effort")
        for i in range(live - 1):
            ledger = admit(node, ledger, guaranteed(f"old-{i}", 1, "512Mi")).ledger
        yield Row(f"growth/{live} pods on 2 NUMA nodes and 128 CPUs", _admission(node, ledger, 8, {GPU: 1}))
    for containers in (1, 2, 4, 8, 16):
        node, ledger = started(TWO, "best-effort")
        yield Row(f"growth/{containers} containers of 2 CPUs", _admission(node, ledger, 2, {}, containers))


def _admission(
    node: Node, ledger: Ledger, cpus: int, devices: dict[str, int], containers: int = 1
) -> Callable[[], object]:
    """As in the kubelet's rows: the pod before is gone and its state is stale."""
    pods = cycle([_pod(uid, cpus, devices, containers) for uid in ("one", "other")])
    before = next(pods)
    held = [(before.uid, admit(node, ledger, before).ledger)]

    def run() -> None:
        uid, ledger = held[0]
        pod = next(pods)
        held[0] = pod.uid, admit(node, release(ledger, uid), pod).ledger

    return run


def _pod(uid: str, cpus: int, devices: dict[str, int], containers: int) -> Pod:
    pod = guaranteed(uid, cpus, "1Gi", devices)
    amounts = pod.containers[0].limits
    return Pod(uid, pod.name, tuple(Container(f"app-{i}", amounts, amounts) for i in range(containers)))
