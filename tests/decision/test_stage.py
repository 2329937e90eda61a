"""A node that starts again under another configuration."""

import pytest
from msgspec.structs import replace

from numafit.decision.stage import restarted
from numafit.errors import KubeletError
from numafit.quantity import parse_quantity
from tests.advice.stages import stage
from tests.decision.strategies import cpus, pod


def test_pods_keep_what_they_hold_over_a_restart_with_another_scope() -> None:
    """The kubelet reads its state files and admits every pod again (all releases)."""
    on = stage()
    held = on.play([pod("a", cpus("app", "4"))]).after
    again = restarted(replace(on, ledger=held), replace(on.config, topology_manager_scope="pod"))
    assert again.ledger.cpu.entries == held.cpu.entries
    assert again.ledger.memory.entries == held.memory.entries
    assert list(again.ledger.active) == ["a"]


def test_another_cpu_policy_does_not_start_over_the_old_state() -> None:
    """`configured policy "none" differs from state checkpoint policy "static"` (all releases)."""
    on = stage()
    held = on.play([pod("a", cpus("app", "4"))]).after
    with pytest.raises(KubeletError, match="differs from state checkpoint policy"):
        restarted(replace(on, ledger=held), replace(on.config, cpu_manager_policy="none"))


def test_a_pod_that_the_new_policy_rejects_is_named() -> None:
    """best-effort put it across both nodes; at the restart single-numa-node rejects it."""
    on = stage(topology_manager_policy="best-effort", memory_manager_policy="None", reserved_memory=())
    held = on.play([pod("a", cpus("app", "9"))]).after
    with pytest.raises(KubeletError, match="default/pod-a would be rejected: TopologyAffinityError"):
        restarted(replace(on, ledger=held), replace(on.config, topology_manager_policy="single-numa-node"))


def test_a_shortage_of_the_node_names_its_resource() -> None:
    """The managers of a Burstable pod have nothing to say; the check behind them does (all releases)."""
    on = stage()
    burstable = replace(cpus("app", "1"), requests={"cpu": parse_quantity("900")}, limits={})
    decision = on.decide(on.ledger, pod("a", burstable))
    assert (decision.reason, decision.shortage) == ("OutOfcpu", "cpu")
    rejected = on.decide(on.ledger, pod("b", cpus("app", "900")))
    assert (rejected.admitted, rejected.shortage) == (False, "")
