"""A smaller reservation is proposed for each side that could give it, and no more of it than the pod needs."""

from hypothesis import given, settings

from numafit.advice.propose.advise import advise
from numafit.advice.propose.orders import KubeletOrder
from numafit.advice.propose.reservation import cuts
from numafit.advice.propose.trial import Trial
from numafit.decision.stage import Stage, restarted
from numafit.errors import KubeletError
from numafit.workload.pod import Pod
from tests.advice.stages import faults, stage
from tests.decision.strategies import cpus, memory, pod


def reservations(on: Stage, played: list[Pod]) -> list[str]:
    *_, last = advise(on, played)
    return [each.text for each in last.proposals if each.kind == "reservation" and not each.loses]


def test_either_side_of_a_memory_reservation_may_be_cut() -> None:
    """reservedMemory must equal the sum of kubeReserved, systemReserved and the eviction threshold (1.21 to 1.36)."""
    on = stage(kube_reserved={"cpu": "1", "memory": "206Mi"}, system_reserved={"memory": "206Mi"})
    assert reservations(on, [pod("a", memory("app", "16Gi")), pod("b", memory("app", "15974Mi"))]) == [
        "reservedMemory 512Mi@0 -> 410Mi@0 and kubeReserved memory 206Mi -> 104Mi",
        "reservedMemory 512Mi@0 -> 410Mi@0 and systemReserved memory 206Mi -> 104Mi",
    ]


def test_either_side_of_a_cpu_reservation_may_be_cut() -> None:
    """Four CPUs of node 0 are reserved; the pod needs two of them."""
    on = stage(kube_reserved={"cpu": "2", "memory": "412Mi"}, system_reserved={"cpu": "2"})
    assert reservations(on, [pod("a", cpus("app", "8")), pod("b", cpus("app", "6"))]) == [
        "kubeReserved cpu 2 -> 0",
        "systemReserved cpu 2 -> 0",
    ]


def test_cpus_that_are_listed_have_one_side_only() -> None:
    on = stage(reserved_system_cpus="0,8", kube_reserved={"cpu": "5", "memory": "412Mi"})
    played = [pod("a", cpus("app", "8")), pod("b", cpus("app", "7"))]
    assert reservations(on, played) == ["reservedSystemCPUs 0,8 -> 0"]


@settings(max_examples=25, deadline=None)
@given(faults())
def test_a_smaller_cut_would_not_do(found: Trial | None) -> None:
    if found is None:
        return
    (advice,) = advise(found.stage, found.pods, only=found.pod.uid)
    texts = [proposal.text for proposal in advice.proposals]
    for family in cuts(found):
        for order in family:
            assert (order.text in texts) == helps(found, order) or found.floats
            if order.text in texts:
                break


def helps(found: Trial, order: KubeletOrder) -> bool:
    try:
        on = restarted(found.stage, order.config)
    except KubeletError:
        return False
    return found.good(on.play(found.pods[: found.index + 1]).steps[-1].decision, on)
