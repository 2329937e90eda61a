"""The same pods under two kubelets."""

from hypothesis import given, settings

from numafit.advice.compare import Difference, compare
from numafit.decision.stage import Stage, restarted
from numafit.workload.pod import Pod
from tests.advice.stages import stage, stages
from tests.decision.strategies import GI, GPU, box, cpus, gpus, pod, pods

SEED = box(2, 28, memory=64 * GI, devices=gpus(0, 1, 1))


def bare(version: str) -> Stage:
    """best-effort without a memory manager, CPU 0 reserved."""
    return stage(
        SEED,
        version,
        memory_manager_policy="None",
        reserved_memory=(),
        kube_reserved={},
        eviction_hard={},
        reserved_system_cpus="0",
        topology_manager_policy="best-effort",
    )


@settings(max_examples=25)
@given(stages(), pods("a"), pods("b"))
def test_a_kubelet_does_what_its_twin_does(on: Stage, first: Pod, second: Pod) -> None:
    result = compare(on, restarted(on, on.config), [first, second])
    assert (result.changed, result.settings, result.rules) == ((), (), ())


def test_a_changed_verdict_is_shown_with_what_the_pod_held() -> None:
    """9 CPUs and memory of one node: best-effort admits across both, single-numa-node rejects (all releases)."""
    result = compare(
        stage(topology_manager_policy="best-effort"),
        stage(),
        [pod("a", cpus("app", "2")), pod("b", cpus("app", "9"))],
    )
    same, changed = result.pairs
    assert same.differences == ()
    assert changed.differences == (
        Difference("verdict", "admitted", "TopologyAffinityError"),
        Difference("qos", "Guaranteed", "-"),
        Difference("app cpus", "2-5,8,10-13", "-"),
        Difference("app memory", "1Gi memory@0", "-"),
    )
    assert result.settings == (Difference("topologyManagerPolicy", "best-effort", "single-numa-node"),)


def test_an_upgrade_names_the_rule_that_changes_a_decision() -> None:
    """A GPU of node 0 and CPUs of both nodes: up to 1.23 the merged hint is the GPU's node, since 1.24 both nodes."""
    played = [
        pod("filler", cpus("app", "6")),
        pod("first", cpus("app", "12", {GPU: "1"})),
        pod("second", cpus("app", "8", {GPU: "1"})),
    ]
    result = compare(bare("1.23"), bare("1.36"), played)
    assert [pair.pod.uid for pair in result.changed] == ["second"]
    assert [rule.field for rule in result.rules if rule.explains] == ["merge_equal_masks"]
    assert result.rules[0].since == "1.24"


def test_one_release_has_no_rules_that_differ() -> None:
    result = compare(stage(), stage(topology_manager_scope="pod"), [pod("a", cpus("app", "2"))])
    assert result.rules == ()
