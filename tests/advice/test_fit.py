"""How many more pods fit: counted by admitting them."""

from hypothesis import given, settings
from msgspec.structs import replace

from numafit.advice.fit import Left, Limit, count_fits, shapes_of
from numafit.decision.stage import Stage
from numafit.workload.pod import Pod
from tests.advice.stages import stage, stages
from tests.decision.strategies import GI, GPU, MI, box, container, cpus, gpus, pod, pods


@settings(max_examples=40)
@given(stages(), pods("shape"))
def test_the_count_ends_at_the_first_rejection(on: Stage, shape: Pod) -> None:
    """So many copies are admitted one after the other, and the next one is not."""
    (count,) = count_fits(on, [shape]).counts
    copies = [replace(shape, uid=f"copy-{i}", name=f"copy-{i}") for i in range(count.admitted + 1)]
    verdicts = [step.decision.admitted for step in on.play(copies).steps]
    assert verdicts == [True] * count.admitted + [False]
    assert 0 <= count.aligned <= count.admitted


def test_what_runs_out_is_named_with_its_numa_nodes() -> None:
    """7 and 8 CPUs are allocatable: one pod of 4 fits on node 0 and two on node 1."""
    (count,) = count_fits(stage(), [pod("a", cpus("app", "4"))]).counts
    assert (count.admitted, count.aligned) == (3, 3)
    assert count.limits == (Limit("cpu", 4, {0: 3, 1: 0}),)


def test_two_resources_may_each_stand_in_the_way() -> None:
    """Node 0 has CPUs but no GPU left, node 1 a GPU but no CPUs: either one more would do."""
    on = stage(box(2, 8, 1, memory=16 * GI, devices=gpus(0, 1, 1)))
    shape = pod("a", cpus("app", "3", {GPU: "1"}))
    (count,) = count_fits(on, [shape]).counts
    assert (count.admitted, count.limits) == (2, (Limit("cpu", 3, {0: 0, 1: 1}),))


def test_what_is_left_is_stranded_and_counted_without_alignment() -> None:
    """3 + 4 CPUs are left for pods of 5, which would fit across the nodes."""
    fit = count_fits(stage(), [pod("a", cpus("app", "5"))])
    (count,) = fit.counts
    assert (count.admitted, count.loose) == (2, 1)
    assert fit.left == (
        Left(0, {"cpu": 2, "memory": 15 * GI - 512 * MI, GPU: 1}),
        Left(1, {"cpu": 3, "memory": 15 * GI, GPU: 1}),
    )


def test_best_effort_admits_more_than_it_aligns() -> None:
    (count,) = count_fits(stage(topology_manager_policy="best-effort"), [pod("a", cpus("app", "5"))]).counts
    assert (count.admitted, count.aligned) == (3, 2)


def test_shapes_take_turns_or_come_one_by_one() -> None:
    shapes = [pod("a", cpus("app", "4")), pod("b", cpus("app", "2"))]
    turns = [count.admitted for count in count_fits(stage(), shapes).counts]
    one_by_one = [count.admitted for count in count_fits(stage(), shapes, "one-by-one").counts]
    assert (turns, one_by_one) == ([2, 3], [3, 1])


def test_a_full_node_is_named_as_a_whole() -> None:
    """A Burstable pod meets no manager; the kubelet's last check says OutOfcpu (all releases)."""
    shape = pod("a", container("app", {}, requests={"cpu": "4"}))
    (count,) = count_fits(stage(), [shape]).counts
    assert (count.admitted, count.limits) == (3, (Limit("cpu", 0, {}),))


def test_pods_that_differ_only_in_name_are_one_shape() -> None:
    one, other = pod("a", cpus("app", "4")), pod("b", cpus("app", "2"))
    assert shapes_of([one, replace(one, uid="x", name="x"), other]) == (one, other)
