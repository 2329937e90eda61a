"""Who holds what."""

from numafit.decision.admit import admit
from numafit.decision.held import Holding, holding_of, holdings, memory_parts
from numafit.decision.life import release
from numafit.ledger.ledger import Block, Ledger, MemoryLedger, MemoryNode, MemoryTable
from tests.decision.strategies import GI, GPU, box, container, cpus, gpus, pod, running, settings

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


def test_memory_over_several_nodes_lies_where_the_kubelet_took_it() -> None:
    """The lowest node is filled first (1.36): what was free of it, and the rest on the next."""
    tables = {0: MemoryTable(100, 0, 100, 90, 10), 1: MemoryTable(100, 0, 100, 45, 55)}
    ledger = Ledger(
        memory=MemoryLedger(
            nodes={numa: MemoryNode(2, {"memory": table}, (0, 1)) for numa, table in tables.items()},
            entries={
                "alone": {"a": (Block((0,), "memory", 30),)},
                "first": {"a": (Block((0, 1), "memory", 70),)},
                "second": {"a": (Block((0, 1), "memory", 35),)},
            },
        )
    )
    assert memory_parts(ledger) == {
        ("alone", (0,), "memory"): (30,),
        ("first", (0, 1), "memory"): (60, 10),
        ("second", (0, 1), "memory"): (0, 35),
    }
