"""What a change would do to a node: told before anything is touched, by the engine and not by a list of rules."""

from typing import Any

import pytest

from numafit.advice.compare import Difference
from numafit.cluster.switch.drain import DrainChoice
from numafit.cluster.switch.plan import plan_switch
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from tests.cluster.switch.nodes import STATIC, config, pod, question


def fates(plan: Any) -> dict[str, tuple[str, str]]:
    """`Any`: a plan or what it says of pods that are kept."""
    return {fate.pod: (fate.action, fate.outcome) for fate in plan.fates}


def test_another_cpu_policy_empties_the_state_and_says_who_comes_back_where() -> None:
    old = config(**{**STATIC, "cpuManagerPolicy": "none"})
    plan = plan_switch(question(old, config(**STATIC), [pod("a"), pod("d", 0, owner="DaemonSet")]))
    assert plan.refusals == ()
    assert Difference("cpuManagerPolicy", "none", "static") in plan.settings
    assert [each.file for each in plan.moved] == [CPU_FILE, MEMORY_FILE]
    assert "could not restore state from checkpoint" in plan.moved[0].why
    assert plan.moved[1].why == "a drained node begins with an empty state"
    assert fates(plan) == {"default/a": ("evicted", "moves"), "default/d": ("stays", "as before")}
    assert plan.fates[0].differences == (Difference("c cpus", "shared", "1,9"),)
    assert plan.policies == {CPU_FILE: "static", MEMORY_FILE: "None"}


def test_pods_are_kept_over_a_state_file_that_the_new_kubelet_refuses_by_moving_that_file_alone() -> None:
    old = config(**{**STATIC, "cpuManagerPolicy": "none"})
    plan = plan_switch(question(old, config(**STATIC), [pod("a")], keep_pods=True))
    assert plan.keep.possible
    assert [each.file for each in plan.moved] == [CPU_FILE]
    assert fates(plan) == {"default/a": ("stays", "moves")}


def test_a_change_that_no_state_file_minds_keeps_pods_where_they_are() -> None:
    new = config(**{**STATIC, "topologyManagerPolicy": "restricted"})
    plan = plan_switch(question(config(**STATIC), new, [pod("a")], keep_pods=True))
    assert plan.moved == ()
    assert fates(plan) == {"default/a": ("stays", "as before")}


def test_a_running_pod_that_the_new_policy_would_not_admit_is_named() -> None:
    """Ten CPUs are of two NUMA nodes."""
    new = config(**{**STATIC, "topologyManagerPolicy": "single-numa-node"})
    plan = plan_switch(question(config(**STATIC), new, [pod("wide", 10)]))
    assert fates(plan) == {"default/wide": ("evicted", "rejected")}
    assert plan.fates[0].message.startswith("TopologyAffinityError")


def test_a_configuration_with_which_the_kubelet_would_not_start_is_refused_in_its_words() -> None:
    new = config(**{**STATIC, "cpuManagerPolicy": "statik"})
    plan = plan_switch(question(config(**STATIC), new, [pod("a")]))
    assert "statik" in plan.refusals[0]
    assert plan.fates == ()


def test_a_configuration_that_does_not_fit_the_machine_is_refused() -> None:
    new = config(**STATIC, reservedSystemCPUs="0-3,99")
    plan = plan_switch(question(config(**STATIC), new))
    assert plan.refusals[0].startswith("the new kubelet would not start")


def test_pods_that_nobody_makes_again_are_not_sent_away_unasked() -> None:
    both = [pod("bare", owner=""), pod("data", spec={"volumes": [{"name": "v", "emptyDir": {}}]})]
    new = config(**{**STATIC, "topologyManagerScope": "pod"})
    plan = plan_switch(question(config(**STATIC), new, both))
    assert fates(plan) == {"default/bare": ("blocked", "not known"), "default/data": ("blocked", "not known")}
    assert plan.refusals == (
        "default/bare has no controller, so nobody makes it again (--force lets it go)",
        "default/data has data in an emptyDir, which would be lost (--delete-emptydir-data lets it go)",
    )
    let = plan_switch(question(config(**STATIC), new, both, choice=DrainChoice(force=True, empty_dir=True)))
    assert let.refusals == ()
    assert fates(let) == {"default/bare": ("evicted", "does not come back"), "default/data": ("evicted", "as before")}


def test_static_pods_stay_and_are_known_by_the_uid_that_the_kubelet_gave() -> None:
    mirror = {"kubernetes.io/config.mirror": "h", "kubernetes.io/config.hash": "h", "kubernetes.io/config.source": "f"}
    own = pod("proxy", owner="", metadata={"annotations": mirror})
    new = config(**{**STATIC, "topologyManagerScope": "pod"})
    assert fates(plan_switch(question(config(**STATIC), new, [own]))) == {"default/proxy": ("stays", "as before")}


def test_pods_that_have_ended_are_no_part_of_it() -> None:
    plan = plan_switch(question(config(**STATIC), config(**STATIC), [pod("done", phase="Succeeded")]))
    assert plan.fates == ()
    assert plan.refusals == ()


@pytest.mark.parametrize("version", ["1.27", "1.31", "1.34"])
def test_reserved_cpus_that_a_running_pod_holds_cost_it_its_place(version: str) -> None:
    """The static policy refuses a state in which reserved CPUs are not free."""
    new = config(**STATIC, reservedSystemCPUs="1,9")
    asked = question(config(**STATIC), new, [pod("a")], keep_pods=True, version=version)
    plan = plan_switch(asked)
    assert [each.file for each in plan.moved] == [CPU_FILE]
    assert fates(plan) == {"default/a": ("stays", "moves")}


def test_fields_that_the_engine_does_not_look_at_are_named_too() -> None:
    plan = plan_switch(question(config(**STATIC), config(**STATIC, imageMinimumGCAge="10m")))
    assert plan.others == ("imageMinimumGCAge",)
    assert plan.settings == ()
