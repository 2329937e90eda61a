"""The memory manager: hints, allocation, reuse, release."""

import pytest
from msgspec.structs import replace

from numafit.errors import KubeletPanic
from numafit.ledger.ledger import Block, Hint
from numafit.managers.memory.manager import NO_EXTENSION
from numafit.workload.pod import Container
from tests.decision.strategies import GI, box, call_for, container, cpus, memory, pod, running, settings
from tests.managers.memory.nodes import PAGES, placed, sizes, two_nodes, usage
from tests.managers.refusals import Words, words

# --- hints -----------------------------------------------------------------------------------------------------------


def test_every_type_asked_for_has_the_same_hints() -> None:
    """Container scope and pod scope (1.21 to 1.36)."""
    node, manager, ledger = two_nodes(pages=4)
    call = call_for(node, ledger, pod("p", memory("app", "4Gi", {PAGES: "2Gi"})))
    hints = ((1, True), (2, True), (3, False))
    assert manager.hints(call, call.ask.pod.containers[0]) == {"memory": hints, PAGES: hints}
    assert manager.pod_hints(call) == {"memory": hints, PAGES: hints}


def test_what_fits_nowhere_has_no_preference() -> None:
    """An empty map, not a map of empty lists: the merge lets the pod through, and the allocation refuses it."""
    node, manager, ledger = two_nodes()
    call = call_for(node, ledger, pod("p", memory("app", "25Gi")))
    assert manager.hints(call, call.ask.pod.containers[0]) == {}


@pytest.mark.parametrize(
    "app",
    [
        container("app", {"cpu": "1", "memory": "2Gi"}, requests={"cpu": "1", "memory": "1Gi"}),
        memory("app", "1.5Gi"),
    ],
    ids=["burstable", "no int64"],
)
def test_other_pods_have_no_hints_at_all(app: Container) -> None:
    """Only Guaranteed pods take part; a quantity that is no int64 is logged and skipped (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    call = call_for(node, ledger, pod("p", app))
    assert (manager.hints(call, app), manager.pod_hints(call)) == (None, None)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ((Block((1,), "memory", 4 * GI),), {"memory": ((2, True),)}),
        ((Block((0, 1), "memory", 4 * GI),), {"memory": ((3, True),)}),
        ((Block((1,), "memory", 3 * GI),), None),
        ((Block((1,), "memory", 4 * GI), Block((1,), PAGES, GI)), None),
        ((Block((1,), PAGES, 4 * GI),), None),
        ((), None),
    ],
)
def test_a_container_that_has_its_blocks_gets_hints_for_just_these(
    held: tuple[Block, ...], expected: dict[str, tuple[Hint, ...]] | None
) -> None:
    """Always preferred; when anything differs from the request there is no preference (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    ledger = replace(ledger, memory=replace(ledger.memory, entries={"p": {"app": held}}))
    call = call_for(node, ledger, pod("p", memory("app", "4Gi")))
    assert manager.hints(call, call.ask.pod.containers[0]) == expected
    assert manager.pod_hints(call) == expected


def test_the_pod_scope_compares_the_first_container_with_the_whole_pod() -> None:
    """So a pod of several containers has no preference after a restart (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    wanted = pod("p", memory("a", "1Gi"), memory("b", "1Gi"))
    call = call_for(node, placed(node, ledger, wanted), wanted)
    assert manager.pod_hints(call) is None


@pytest.mark.parametrize(("version", "expected"), [("1.35", {}), ("1.36", None)])
def test_a_pod_that_asks_for_no_memory_has_no_hints(version: str, expected: object) -> None:
    """An empty map up to 1.35, nil later; the merge takes both alike. Only `status.qosClass` makes such a pod."""
    node, manager, ledger = two_nodes(version)
    call = call_for(node, ledger, replace(pod("p", container("app")), status_qos="Guaranteed"))
    assert manager.pod_hints(call) == expected


# --- allocation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "wanted", "expected"),
    [
        ((None, False), "4Gi", [(4, 1, (0,)), (0, 0, (1,))]),
        ((0b10, True), "4Gi", [(0, 0, (0,)), (4, 1, (1,))]),
        ((0b10, False), "15Gi", [(10, 1, (0, 1)), (5, 1, (0, 1))]),
        ((0b11, False), "4Gi", [(4, 1, (0, 1)), (0, 1, (0, 1))]),
    ],
    ids=["no affinity", "affinity", "extended", "wide"],
)
def test_memory_comes_from_the_affinity_or_a_wider_mask(
    hint: Hint, wanted: str, expected: list[tuple[int, int, tuple[int, ...]]]
) -> None:
    """Without an affinity the manager takes its own best hint; one that is too small is extended (1.21 to 1.36)."""
    node, _, ledger = two_nodes()
    assert usage(placed(node, ledger, pod("p", memory("app", wanted)), hint)) == expected


@pytest.mark.parametrize(
    ("version", "high", "low"), [("1.21", False, True), ("1.22", True, True), ("1.36", True, True)]
)
def test_in_1_21_a_mask_grows_only_together_with_a_higher_node(version: str, high: bool, low: bool) -> None:
    """From node 0 to both nodes, but not from node 1: its search stops before it sees the last node match (1.21)."""
    for mask, grows in ((0b10, high), (0b01, low)):
        node, manager, ledger = two_nodes(version)
        call = call_for(node, ledger, pod("p", memory("app", "15Gi")), (mask, False))
        expected = None if grows else Words(NO_EXTENSION)
        assert words(manager.allocate(call, call.ask.pod.containers[0])) == expected


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ((None, False), "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"),
        ((None, True), "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"),
        ((0b01, False), "failed to find NUMA nodes to extend the current topology hint"),
    ],
)
def test_what_fits_nowhere_is_refused(hint: Hint, text: str) -> None:
    """Which text depends on whether other managers gave a mask (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    call = call_for(node, ledger, pod("p", memory("app", "25Gi")), hint)
    assert words(manager.allocate(call, call.ask.pod.containers[0])) == Words(f"[memorymanager] {text}")
    assert call.ledger.memory == ledger.memory


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ((None, True), "failed to find the default preferred hint"),
        ((0b01, True), "failed to find the extended preferred hint"),
    ],
)
def test_a_preferred_affinity_may_not_become_one_that_is_not(hint: Hint, text: str) -> None:
    """8Gi would fit one node by capacity; 5Gi are free on each, so only both together have them (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    other = pod("old", memory("app", "10Gi"))
    ledger = placed(node, ledger, other, (0b11, False))
    call = call_for(node, ledger, pod("p", memory("app", "8Gi")), hint)
    assert words(manager.allocate(call, call.ask.pod.containers[0])) == Words(f"[memorymanager] {text}")


@pytest.mark.parametrize(("version", "refused"), [("1.31", False), ("1.32", True)])
def test_a_wide_mask_over_a_node_that_is_used_alone_is_refused_from_1_32_on(version: str, refused: bool) -> None:
    """Before the pod is admitted, and the groups overlap."""
    node, manager, ledger = two_nodes(version)
    ledger = placed(node, ledger, pod("old", memory("app", "1Gi")), (0b01, True))
    call = call_for(node, ledger, pod("p", memory("app", "4Gi")), (0b11, False))
    found = manager.allocate(call, call.ask.pod.containers[0])
    if refused:
        assert words(found) == Words("[memorymanager] preferred hint violates NUMA node allocation")
    else:
        assert (found, usage(call.ledger)) == (None, [(5, 2, (0, 1)), (0, 1, (0, 1))])


def test_one_node_of_a_group_is_never_refused() -> None:
    """When the merge narrowed a wide memory hint; the two halves of the group then disagree (1.21 to 1.36)."""
    node, _, ledger = two_nodes()
    ledger = placed(node, ledger, pod("old", memory("app", "12Gi")), (0b11, True))
    after = placed(node, ledger, pod("p", memory("app", "1Gi")), (0b10, False))
    assert usage(after) == [(10, 1, (0, 1)), (3, 2, (1,))]


def test_a_quantity_that_is_no_int64_is_refused() -> None:
    """In the hints it is only logged (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    call = call_for(node, ledger, pod("p", memory("app", "1.5Gi")))
    found = manager.allocate(call, call.ask.pod.containers[0])
    assert words(found) == Words("[memorymanager] failed to represent quantity as int64")


def test_a_page_size_that_no_node_lists_crashes_the_kubelet() -> None:
    """A nil pointer in the calculation of the hints (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    call = call_for(node, ledger, pod("p", memory("app", "1Gi", {PAGES: "1Gi"})))
    with pytest.raises(KubeletPanic, match="nil pointer dereference"):
        manager.allocate(call, call.ask.pod.containers[0])


def test_huge_pages_without_memory_are_looked_for_in_the_hints_of_memory() -> None:
    """There are none: a preferred affinity is refused, another one crashes the kubelet (1.21 to 1.36). Only
    `status.qosClass` makes such a pod Guaranteed."""
    node, manager, ledger = two_nodes(pages=4)
    wanted = replace(pod("p", container("app", {PAGES: "1Gi"})), status_qos="Guaranteed")
    call = call_for(node, ledger, wanted, (None, True))
    assert words(manager.allocate(call, wanted.containers[0])) == Words(
        "[memorymanager] failed to find the default preferred hint"
    )
    call = call_for(node, ledger, wanted, (None, False))
    with pytest.raises(KubeletPanic, match="nil pointer dereference"):
        manager.allocate(call, wanted.containers[0])


def test_policy_none_does_nothing() -> None:
    """No hints, no blocks, no tables (all releases)."""
    node, ledger = running(box(2, 4, memory=GI), settings())
    assert node.memory is not None
    call = call_for(node, ledger, pod("p", memory("app", "25Gi")))
    app = call.ask.pod.containers[0]
    assert (node.memory.hints(call, app), node.memory.pod_hints(call)) == (None, None)
    assert (node.memory.allocate(call, app), call.ledger.memory) == (None, ledger.memory)


def test_from_1_34_on_pods_with_pod_level_resources_are_skipped() -> None:
    """No hints and no blocks, while nobody manages them."""
    node, manager, ledger = two_nodes()
    call = call_for(node, ledger, pod("p", memory("app", "1Gi"), whole={"cpu": "1", "memory": "2Gi"}))
    app = call.ask.pod.containers[0]
    assert (manager.hints(call, app), manager.pod_hints(call), manager.allocate(call, app)) == (None, None, None)
    assert call.ledger.memory.entries == {}


# --- reuse -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("init", "apps", "taken", "init_blocks"),
    [
        ((7, 4), (5, 2), 7, [0, 0]),
        ((4, 3), (2, 1), 4, [0, 1]),
        ((1, 2), (3, 4), 7, [0, 0]),
        ((7, 4), (4, 3), 7, [0, 0]),
    ],
)
def test_what_init_containers_leave_is_taken_again(
    init: tuple[int, int], apps: tuple[int, int], taken: int, init_blocks: list[int]
) -> None:
    """Memory and huge pages alike; the blocks of the pod add up to the bytes taken (1.22 to 1.36)."""
    node, _, ledger = two_nodes(pages=8)
    every = [memory(f"c{i}", f"{size}Gi", {PAGES: f"{size}Gi"}) for i, size in enumerate((*init, *apps))]
    after = placed(node, ledger, pod("p", *every[2:], init=every[:2]), (0b01, True))
    assert usage(after)[0] == (taken, 8, (0,))
    assert usage(after, PAGES)[0] == (taken, 8, (0,))
    left = sizes(after, "p")
    assert [left["c0"], left["c1"]] == [[size * 1024] * 2 for size in init_blocks]
    assert [left["c2"], left["c3"]] == [[size * 1024] * 2 for size in apps]


@pytest.mark.parametrize(
    ("version", "taken", "side"),
    [("1.21", 5, 2), ("1.28", 3, 0), ("1.29", 5, 2), ("1.36", 5, 2)],
)
def test_sidecars_keep_their_memory_from_1_29_on(version: str, taken: int, side: int) -> None:
    """1.21 reuses nothing; up to 1.28 a sidecar is an init container that ends."""
    node, _, ledger = two_nodes(version)
    wanted = pod("p", memory("app", "3Gi"), init=[memory("side", "2Gi", restartable=True)])
    after = placed(node, ledger, wanted, (0b01, True))
    assert (usage(after)[0], sizes(after, "p")) == ((taken, 2, (0,)), {"side": [side * 1024], "app": [3072]})


@pytest.mark.parametrize(
    ("version", "alone", "second"), [("1.21", 6, 6), ("1.22", 4, 5), ("1.23", 4, 4), ("1.36", 4, 4)]
)
def test_in_1_22_a_pod_loses_what_it_may_reuse_while_another_pod_has_left_bytes(
    version: str, alone: int, second: int
) -> None:
    """1.22 forgets the wrong pod: the first container to reuse is also the last. 1.21 reuses nothing."""
    node, _, ledger = two_nodes(version)
    first = pod("a", memory("app", "1Gi"), memory("side", "1Gi"), init=[memory("setup", "4Gi")])
    after = placed(node, ledger, first, (0b01, True))
    assert usage(after)[0] == (alone, 3, (0,))
    after = placed(node, after, replace(first, uid="b", name="b"), (0b10, True))
    assert usage(after)[1] == (second, 3, (1,))


def test_only_bytes_on_the_same_mask_are_reused() -> None:
    """The init container sat on node 0, the app container goes to node 1 (1.22 to 1.36)."""
    node, manager, ledger = two_nodes()
    wanted = pod("p", memory("app", "3Gi"), init=[memory("setup", "2Gi")])
    call = call_for(node, ledger, wanted, (0b01, True))
    assert manager.allocate(call, wanted.init_containers[0]) is None
    call.ledger = replace(call.ledger, affinity={"p": {"app": (0b10, True)}})
    assert manager.allocate(call, wanted.containers[0]) is None
    assert usage(call.ledger) == [(2, 1, (0,)), (3, 1, (1,))]
    assert sizes(call.ledger, "p") == {"setup": [2048], "app": [3072]}


def test_a_container_that_has_its_blocks_keeps_them_and_leaves_them_to_reuse_again() -> None:
    """After a restart the table of what may be reused is empty, and is filled from the blocks (1.22 to 1.36)."""
    node, _, ledger = two_nodes()
    wanted = pod("p", memory("app", "3Gi"), init=[memory("setup", "5Gi")])
    after = placed(node, ledger, wanted, (0b01, True))
    forgotten = replace(after, memory=replace(after.memory, reuse_pod="", reuse={}))
    again = placed(node, forgotten, wanted, (0b10, True))
    assert again.memory.entries == after.memory.entries
    assert again.memory.nodes == after.memory.nodes
    assert (again.memory.reuse_pod, again.memory.reuse) == ("p", {(0b01, "memory"): 0})


@pytest.mark.parametrize(
    ("version", "expected", "held"),
    [
        ("1.21", (10, 3, (0,)), {"setup", "side", "app"}),
        ("1.28", (3, 1, (0,)), {"app"}),
        ("1.36", (5, 2, (0,)), {"side", "app"}),
    ],
)
def test_init_containers_lose_their_memory_when_a_later_container_starts(
    version: str, expected: tuple[int, int, tuple[int, ...]], held: set[str]
) -> None:
    """Not in 1.21; sidecars run on since 1.29."""
    node, manager, ledger = two_nodes(version)
    wanted = pod("p", memory("app", "3Gi"), init=[memory("setup", "5Gi"), memory("side", "2Gi", restartable=True)])
    after = placed(node, ledger, wanted, (0b01, True))
    for name in ("setup", "side", "app"):
        after = manager.started(after, "p", name)
    assert (usage(after)[0], set(after.memory.entries["p"])) == (expected, held)


# --- removal ---------------------------------------------------------------------------------------------------------


def test_memory_of_pods_that_are_gone_is_free_for_the_next_one() -> None:
    """Stale blocks are removed before hints and before an allocation (1.21 to 1.36)."""
    node, manager, ledger = two_nodes()
    before = placed(node, ledger, pod("old", memory("app", "12Gi")))
    call = call_for(node, replace(before, active={}), pod("p", memory("app", "4Gi")))
    assert manager.hints(call, call.ask.pod.containers[0]) == {"memory": ((1, True), (2, True), (3, False))}
    assert (call.ledger.memory.nodes, call.ledger.memory.entries) == (ledger.memory.nodes, {})


@pytest.mark.parametrize(("version", "kept"), [("1.22.0", False), ("1.22.1", True), ("1.31", True), ("1.32", False)])
def test_from_1_22_1_to_1_31_the_pod_asked_about_last_outlives_itself(version: str, kept: bool) -> None:
    """Its blocks are not stale before another pod comes."""
    node, manager, ledger = two_nodes(version)
    after = replace(placed(node, ledger, pod("old", memory("app", "4Gi"))), active={})
    call = call_for(node, after, pod("p", cpus("app", "1")))
    assert ("old" in manager.without_stale(after, call.choices).memory.entries) == kept
    assert manager.hints(call, call.ask.pod.containers[0]) is not None
    assert call.ledger.memory.entries == {}


def test_a_container_that_holds_nothing_is_released_without_effect() -> None:
    """The same ledger comes back, so the state file stays (1.21 to 1.36)."""
    _, manager, ledger = two_nodes()
    assert manager.release(ledger.memory, "p", "app") is ledger.memory
