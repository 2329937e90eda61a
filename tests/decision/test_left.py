"""What is left on each NUMA node."""

from numafit.decision.admit import admit
from numafit.decision.left import NodeLeft, left_on_nodes
from tests.decision.strategies import GI, GPU, box, cpus, gpus, pod, running, settings


def test_what_nobody_holds_is_left() -> None:
    """CPU 0 is reserved; a resource whose devices are all held is there, and empty."""
    machine = box(2, 8, memory=4 * GI, devices=gpus(1, 0, 1))
    node, ledger = running(
        machine, settings(cpu="static", memory="Static", reserved_memory={0: {"memory": "1Gi"}}, topology="restricted")
    )
    assert left_on_nodes(node, ledger) == (
        NodeLeft(0, 0b1110, {"memory": 3 * GI}, {GPU: ("GPU1",)}),
        NodeLeft(1, 0b11110000, {"memory": 4 * GI}, {GPU: ("GPU0", "GPU2")}),
    )
    held = admit(node, ledger, pod("p", cpus("app", "3", {GPU: "1"}))).ledger
    assert left_on_nodes(node, held)[0] == NodeLeft(0, 0, {"memory": 2 * GI}, {GPU: ()})


def test_without_managers_nothing_is_left_to_give() -> None:
    """No CPU becomes exclusive, no memory is counted; devices are always managed."""
    node, ledger = running(box(1, 2, memory=GI), settings())
    assert left_on_nodes(node, ledger) == (NodeLeft(0, 0, {}, {}),)
