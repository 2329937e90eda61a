"""The CPU manager and pods that are managed as a whole (PodLevelResourceManagers)."""

import pytest

from numafit.bits import cpuset_text, parse_cpuset
from numafit.decision.node import Node
from numafit.ledger.ledger import CpuLedger, Ledger
from numafit.managers.protocol import Refusal
from numafit.workload.pod import Pod
from tests.decision.strategies import SEED_BOX, call_for, container, cpus, pod, running, settings
from tests.managers.cpu.pools import BOTH_GATES, shown
from tests.managers.refusals import Words, words


def managed(wanted: Pod, version: str = "1.36") -> tuple[Refusal | None, CpuLedger, Node]:
    node, ledger = running(SEED_BOX, settings(version, cpu="static", gates=BOTH_GATES))
    call = call_for(node, ledger, wanted)
    return node.cpu.allocate_pod(call), call.ledger.cpu, node


def test_a_managed_pod_takes_its_cpus_as_a_whole_and_divides_them() -> None:
    """Sidecars and apps with requests of their own take theirs, ordinary init containers all that is not a sidecar's,
    the others share the rest (1.36 with PodLevelResourceManagers)."""
    wanted = pod(
        "p",
        cpus("own", "2"),
        container("shared"),
        init=[cpus("setup", "4"), container("prepare"), cpus("side", "1", restartable=True), container("last")],
        whole={"cpu": "6", "memory": "8Gi"},
    )
    refusal, after, node = managed(wanted)
    assert refusal is None
    assert shown(after) == (
        "0,7-27",
        {
            "p": {
                "setup": "1-4",
                "prepare": "1-6",
                "side": "1",
                "last": "2-6",
                "own": "2-3",
                "shared": "4-6",
            }
        },
    )
    assert after.pod_entries == {"p": parse_cpuset("1-6")}
    for name in ("setup", "prepare", "side", "last", "own"):
        after = node.cpu.release(after, "p", name)
        assert cpuset_text(after.default) == "0,7-27"
    after = node.cpu.release(after, "p", "shared")
    assert (shown(after), after.pod_entries) == (("0-27", {}), {})


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (
            pod("p", cpus("own", "4"), container("shared"), whole={"cpu": "4", "memory": "8Gi"}),
            "pod rejected, sum of exclusive container cpu requests equals pod budget, "
            "leaving no cpus for shared containers",
        ),
        (
            pod(
                "p",
                container("app"),
                init=[cpus("side", "4", restartable=True), container("setup")],
                whole={"cpu": "4", "memory": "8Gi"},
            ),
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
    ],
)
def test_shared_containers_must_be_left_something(wanted: Pod, text: str) -> None:
    """Refused at allocation, and "cannot be satisfied" in the hints (1.36 with PodLevelResourceManagers)."""
    refusal, after, node = managed(wanted)
    assert (words(refusal), shown(after)) == (Words(text, "EmptyPodSharedPoolError"), ("0-27", {}))
    call = call_for(node, Ledger(cpu=after), wanted)
    assert node.cpu.pod_hints(call) == {"cpu": ()}


def test_containers_beyond_the_pod_s_budget_leave_a_pod_entry_that_nobody_frees() -> None:
    """The pod's CPUs are stored before they are divided; without a container entry no stale state is ever found."""
    wanted = pod("p", cpus("a", "3"), cpus("b", "2"), whole={"cpu": "4", "memory": "8Gi"})
    refusal, after, node = managed(wanted)
    assert words(refusal) == Words("not enough cpus available to satisfy request: requested=2, available=1")
    assert (shown(after), after.pod_entries) == (("0,5-27", {}), {"p": parse_cpuset("1-4")})
    assert node.cpu.without_stale(Ledger(cpu=after)).cpu == after


def test_a_managed_pod_that_is_admitted_again_takes_a_second_set() -> None:
    """There is no look for what it has: the first set is in no pool any more (1.36 with PodLevelResourceManagers)."""
    wanted = pod("p", cpus("app", "2"), whole={"cpu": "2", "memory": "8Gi"})
    _, after, node = managed(wanted)
    call = call_for(node, Ledger(cpu=after), wanted)
    assert node.cpu.allocate_pod(call) is None
    assert shown(call.ledger.cpu) == ("0,5-27", {"p": {"app": "3-4"}})
    assert call.ledger.cpu.pod_entries == {"p": parse_cpuset("3-4")}
