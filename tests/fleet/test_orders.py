"""Pods that are promised to one node and come in an order nobody knows."""

from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.fleet.orders import PROMISED, promise_of, together
from numafit.fleet.state import state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Pod
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, started


def prepared(uid: str) -> Pod:
    """Nine GiB while it prepares itself, and three from then on."""
    own = pod(uid, "1", "3Gi")
    return replace(own, init_containers=(replace(pod(uid, "1", "9Gi").containers[0], name="prepares"),))


def test_init_containers_may_still_run_when_the_next_pod_comes() -> None:
    """With all containers started there is room for three, one after the other. Where they come at once, before
    anything has started, each NUMA node has room for one, and the kubelet rejects the third."""
    node, ledger = started("restricted", "pod")
    state, memory = state_of("kind", node, ledger, ALLOCATABLE), VerdictMemory()
    pods = [prepared(f"p{number}") for number in range(3)]
    assert admitted_all(node, ledger, pods) is not None
    for own in pods[:2]:
        ledger = decide(node, ledger, own, ALLOCATABLE).ledger
    assert not decide(node, ledger, pods[2], ALLOCATABLE).admitted

    first, second, third = map(promise_of, pods)
    assert together(state, (first,), second, memory).admitted
    verdict = together(state, (first, second), third, memory)
    assert (verdict.admitted, verdict.reason) == (False, PROMISED)
