"""Who holds what."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.decision.admit import admit
from numafit.decision.held import Holding, holding_of, holdings, memory_parts
from numafit.decision.life import release
from numafit.ledger.ledger import Block
from tests.decision.strategies import GI, GPU, box, container, cpus, gpus, memory, pod, running, settings

MACHINE = box(2, 8, memory=4 * GI, devices=gpus(1, 0, 1))
SETTINGS = settings(cpu="static", memory="Static", reserved_memory={0: {"memory": "1Gi"}}, topology="restricted")


def test_the_containers_of_a_pod_hold_together() -> None:
    """CPUs and devices joined, bytes added up by nodes and type."""
    node, ledger = running(MACHINE, SETTINGS)
    decision = admit(node, ledger, pod("p", cpus("a", "1", {GPU: "1"}), cpus("b", "2")))
    assert decision.admitted
    assert holdings(node, decision.ledger) == {
        "p": Holding(0b1110, (Block((0,), "memory", 2 * GI),), {GPU: ("GPU1",)}, (0,))
    }


def test_a_pod_in_the_shared_pool_is_there_and_holds_nothing() -> None:
    """Until it goes; one that has ended is there for as long as it holds something."""
    node, ledger = running(MACHINE, SETTINGS)
    shared = admit(node, ledger, pod("s", container("app", {}))).ledger
    (found,) = holdings(node, shared).values()
    assert (found.empty, found.nodes) == (True, ())
    assert holdings(node, release(shared, "s")) == {}
    pinned = admit(node, ledger, pod("p", cpus("app", "1"))).ledger
    assert holdings(node, release(pinned, "p")) == holdings(node, pinned)


def test_one_pod_holds_what_it_holds_among_all() -> None:
    """And one that the ledger does not know holds nothing."""
    node, ledger = running(MACHINE, SETTINGS)
    for name in ("p", "q"):
        ledger = admit(node, ledger, pod(name, cpus("app", "1", {GPU: "1"}))).ledger
    assert {uid: holding_of(node, ledger, uid) for uid in ("p", "q")} == holdings(node, ledger)
    assert holding_of(node, ledger, "r") == Holding(0, (), {}, ())


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.sampled_from(["best-effort", "restricted", "none"]))
def test_memory_stands_on_each_node_as_the_ledger_counts_it(sizes: list[int], policy: str) -> None:
    """However large pods are, and after the first of them has gone: 4 nodes of 4 GiB, 1 GiB of node 0 is reserved."""
    ordered = settings(cpu="static", memory="Static", reserved_memory={0: {"memory": "1Gi"}}, topology=policy)
    node, ledger = running(box(4, 8, memory=4 * GI), ordered)
    for number, size in enumerate(sizes):
        ledger = admit(node, ledger, pod(f"p{number}", memory("app", f"{size}Gi"))).ledger
    ledger = admit(node, release(ledger, "p0"), pod("last", memory("app", "1Gi"))).ledger
    held = holdings(node, ledger)
    parts = memory_parts(ledger, held)
    on_nodes = dict.fromkeys(ledger.memory.nodes, 0)
    for own in parts.values():
        for numa, _, size in own:
            on_nodes[numa] += size
    assert on_nodes == {numa: own.tables["memory"].reserved for numa, own in ledger.memory.nodes.items()}
    assert {uid: sum(size for _, _, size in own) for uid, own in parts.items()} == {
        uid: sum(block.size for block in one.memory) for uid, one in held.items() if one.memory
    }


def test_memory_over_two_nodes_fills_the_first() -> None:
    """5 GiB where node 0 has 3 to give: not two and a half on each."""
    node, ledger = running(MACHINE, SETTINGS)
    ledger = admit(node, ledger, pod("p", memory("app", "5Gi"))).ledger
    parts = memory_parts(ledger, holdings(node, ledger))
    assert parts == {"p": ((0, "memory", 3 * GI), (1, "memory", 2 * GI))}
