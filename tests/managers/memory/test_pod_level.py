"""The memory manager and pods that are managed as a whole (PodLevelResourceManagers)."""

import pytest

from numafit.ledger.ledger import Block
from numafit.workload.pod import Pod
from tests.decision.strategies import GI, call_for, container, cpus, pod
from tests.managers.memory.nodes import BOTH_GATES, sizes, two_nodes, usage
from tests.managers.refusals import Words, words


def test_a_managed_pod_is_charged_once_and_divided() -> None:
    """Those with a request hold it, ordinary init containers all that is no sidecar's, the others the rest; the bytes
    return with the last container (1.36 with PodLevelResourceManagers)."""
    node, manager, ledger = two_nodes(gates=BOTH_GATES)
    wanted = pod(
        "p",
        cpus("app", "1"),
        container("side"),
        cpus("log", "1"),
        init=[container("setup"), cpus("own", "1"), cpus("stay", "1", restartable=True), container("late")],
        whole={"cpu": "8", "memory": "8Gi"},
    )
    call = call_for(node, ledger, wanted, (0b10, True))
    assert manager.allocate_pod(call) is None
    gibibytes = {name: [size // 1024 for size in own] for name, own in sizes(call.ledger, "p").items()}
    assert gibibytes == {"setup": [8], "own": [1], "stay": [1], "late": [7], "app": [1], "side": [5], "log": [1]}
    assert call.ledger.memory.pod_entries == {"p": (Block((1,), "memory", 8 * GI),)}
    assert usage(call.ledger) == [(0, 0, (0,)), (8, 1, (1,))]
    memory_ledger = call.ledger.memory
    for each in wanted.all_containers:
        assert memory_ledger.nodes != ledger.memory.nodes
        memory_ledger = manager.release(memory_ledger, "p", each.name)
    assert (memory_ledger.nodes, memory_ledger.entries, memory_ledger.pod_entries) == (ledger.memory.nodes, {}, {})


def test_a_managed_pod_that_is_admitted_again_is_charged_twice() -> None:
    """There is no look for what it has; a single container without a request has the pod's block (1.36)."""
    node, manager, ledger = two_nodes(gates=BOTH_GATES)
    wanted = pod("p", container("app"), whole={"cpu": "1", "memory": "2Gi"})
    call = call_for(node, ledger, wanted, (0b01, True))
    assert manager.allocate_pod(call) is None
    assert manager.pod_hints(call) == {"memory": ((1, True),)}
    assert manager.allocate_pod(call) is None
    assert (usage(call.ledger), sizes(call.ledger, "p")) == ([(4, 2, (0,)), (0, 0, (1,))], {"app": [2048]})


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (
            pod("p", cpus("own", "1"), container("shared"), whole={"cpu": "4", "memory": "1Gi"}),
            "pod rejected, sum of exclusive container memory requests equals pod budget, "
            "leaving no memory for shared containers",
        ),
        (
            pod(
                "p",
                container("app"),
                init=[cpus("side", "1", restartable=True), container("setup")],
                whole={"cpu": "4", "memory": "1Gi"},
            ),
            "pod rejected, pod has shared init containers but no memory available for them",
        ),
    ],
)
def test_shared_containers_must_be_left_some_memory(wanted: Pod, text: str) -> None:
    """Refused at allocation, and "cannot be satisfied" in the hints (1.36 with PodLevelResourceManagers)."""
    node, manager, ledger = two_nodes(gates=BOTH_GATES)
    call = call_for(node, ledger, wanted)
    assert manager.pod_hints(call) == {"memory": ()}
    assert words(manager.allocate_pod(call)) == Words(text, "EmptyPodSharedPoolError")
    assert call.ledger.memory == ledger.memory


def test_a_container_of_a_managed_pod_without_a_request_holds_an_empty_list() -> None:
    """In the container scope, with an affinity; without one the pod is refused (1.36 with PodLevelResourceManagers)."""
    node, manager, ledger = two_nodes(gates=BOTH_GATES)
    wanted = pod("p", container("app"), whole={"cpu": "1", "memory": "2Gi"})
    call = call_for(node, ledger, wanted, (0b01, True))
    assert manager.hints(call, wanted.containers[0]) == {}
    assert manager.allocate(call, wanted.containers[0]) is None
    assert call.ledger.memory.entries == {"p": {"app": ()}}
    call = call_for(node, ledger, wanted)
    assert words(manager.allocate(call, wanted.containers[0])) == Words(
        "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    )
