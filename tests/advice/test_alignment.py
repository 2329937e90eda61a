"""What counts as lying together."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.alignment import Torn, crossing, floating, given_to, is_aligned, torn
from numafit.advice.propose.advise import advise
from numafit.decision.stage import Stage
from numafit.machine.model import Device, Link, Machine
from numafit.managers.device.plugin import plugins_of
from numafit.workload.pod import Pod
from tests.advice.stages import stage
from tests.decision.strategies import GI, GPU, box, container, cpus, gpus, memory, pod


def linked(nodes: tuple[int | None, ...], kind: str, *near: tuple[int, int]) -> Machine:
    """GPUs on these NUMA nodes of 8 CPUs; `kind` joins the near ones, all others are joined by NODE."""
    devices = gpus(*nodes)
    links = [
        Link(devices[a].id, devices[b].id, kind if (a, b) in near else "NODE")
        for a, b in combinations(range(len(nodes)), 2)
    ]
    return replace(box(2, 8, 2, memory=16 * GI, devices=devices), links=tuple(links))


ONE_AFTER_THE_OTHER = linked((0, 0, 0, 0), "PIX", (0, 1), (2, 3))
CROSSWISE = linked((0, 0, 0, 0), "PIX", (0, 2), (1, 3))


def with_nvidias_plugin(machine: Machine) -> Stage:
    on = stage(machine)
    device = replace(on.node.device, plugins=plugins_of(machine))
    return replace(on, node=replace(on.node, device=device))


def one_gpu(uid: str) -> Pod:
    return pod(uid, cpus("app", "1", {GPU: "1"}))


def two_gpus(uid: str) -> Pod:
    return pod(uid, cpus("app", "1", {GPU: "2"}))


def best_effort(scope: str = "container") -> Stage:
    return stage(topology_manager_policy="best-effort", topology_manager_scope=scope)


def test_a_container_that_needs_two_nodes_is_aligned_on_two() -> None:
    """9 CPUs on nodes of 8: nobody could do better."""
    on = best_effort()
    decision = on.decide(on.ledger, pod("a", container("app", {"cpu": "9", "memory": "20Gi"})))
    assert (given_to(on.node, decision)[0].nodes, is_aligned(on.node, decision)) == (0b11, True)


def test_reserved_cpus_do_not_count_as_room() -> None:
    """Each node has 8 CPUs; with 4 reserved on both, 5 lie rightly on two nodes."""
    on = stage(
        topology_manager_policy="best-effort",
        reserved_system_cpus="0-1,4-5,8-9,12-13",
        memory_manager_policy="None",
        reserved_memory=(),
    )
    decision = on.decide(on.ledger, pod("a", cpus("app", "5")))
    assert (given_to(on.node, decision)[0].nodes, crossing(on.node, decision)) == (0b11, ())


def test_the_unit_is_the_container_or_in_the_pod_scope_the_pod() -> None:
    two = pod("a", cpus("x", "6"), cpus("y", "6"))
    units = {}
    for scope in ("container", "pod"):
        on = best_effort(scope)
        units[scope] = [(unit.unit, unit.amounts["cpu"]) for unit in given_to(on.node, on.decide(on.ledger, two))]
    assert units == {"container": [("x", 6), ("y", 6)], "pod": [("", 12)]}


def test_a_device_between_two_nodes_is_near_to_both() -> None:
    """A device that names nodes 0 and 1 does not make a pod cross them."""
    on = stage(box(2, 8, 2, memory=16 * GI, devices=(Device(GPU, "between", (0, 1)),)))
    decision = on.decide(on.ledger, pod("a", cpus("app", "4", {GPU: "1"})))
    assert [unit.nodes.bit_count() for unit in given_to(on.node, decision)] == [1]


def test_only_whole_cpus_in_the_shared_pool_float() -> None:
    """Less than one CPU belongs there; and with the CPU policy none all CPUs are shared."""
    loose = pod("a", container("app", {"cpu": "1500m", "memory": "1Gi"}), memory("side", "1Gi"))
    on, off = stage(), stage(cpu_manager_policy="none")
    assert floating(on.node, on.decide(on.ledger, loose)) == ("app",)
    assert floating(off.node, off.decide(off.ledger, loose)) == ()


def test_gpus_of_two_switches_are_torn_where_a_pair_was_to_be_had() -> None:
    """The plugin prefers nothing, so the kubelet may hand out the next two ids (all releases): each has a partner."""
    on = stage(ONE_AFTER_THE_OTHER)
    decision = on.play([one_gpu("a"), two_gpus("b")]).steps[1].decision
    assert torn(on.node, decision) == (
        Torn("app", ("GPU1", "GPU2"), (("GPU0", "GPU1"), ("GPU2", "GPU3")), nvlink=False),
    )
    assert is_aligned(on.node, decision)


def test_the_fault_names_the_gpus_that_belong_together() -> None:
    (_, advice) = advise(stage(ONE_AFTER_THE_OTHER), [one_gpu("a"), two_gpus("b")])
    assert advice.fault == (
        "admitted, but app takes GPU1 and GPU2, which hang under different switches; "
        "GPU0 and GPU1, GPU2 and GPU3 belong together"
    )


def test_pairs_that_nvlink_joins_are_told_apart_from_switches() -> None:
    on = stage(linked((0, 0, 0, 0), "NV4", (0, 1), (2, 3)))
    (_, advice) = advise(on, [one_gpu("a"), two_gpus("b")])
    assert "GPU1 and GPU2, which no NVLink joins; GPU0 and GPU1, GPU2 and GPU3" in advice.fault


def test_a_neighbour_that_holds_the_partner_is_moved() -> None:
    """NVIDIA's plugin gives the first two pods GPU0 and GPU1, one of each pair. If the third had come first, or one of
    them came after it, it would have a pair; the fewest GPUs less are one."""
    on = with_nvidias_plugin(CROSSWISE)
    *_, advice = advise(on, [one_gpu("a"), one_gpu("b"), two_gpus("c")])
    assert "takes GPU2 and GPU3" in advice.fault
    found = {
        (proposal.kind, proposal.text): [*proposal.decisions[0].containers["app"].devices[GPU]]
        for proposal in advice.proposals
        if proposal.kind != "split"
    }
    assert found == {
        ("fewer", "app: nvidia.com/gpu 2 -> 1"): ["GPU2"],
        ("move", "first this pod, then default/pod-a again"): ["GPU0", "GPU2"],
        ("move", "first this pod, then default/pod-b again"): ["GPU1", "GPU3"],
    }


def test_three_gpus_of_pairs_leave_one_partner_rightly() -> None:
    """Of 3 GPUs one has to be without its partner; that is nobody's fault."""
    on = stage(ONE_AFTER_THE_OTHER)
    decision = on.decide(on.ledger, pod("a", cpus("app", "1", {GPU: "3"})))
    assert (len(decision.containers["app"].devices[GPU]), torn(on.node, decision)) == (3, ())


def test_a_pair_elsewhere_is_no_help_where_the_cpus_do_not_fit() -> None:
    """The pair is on node 0, where 7 CPUs are allocatable: 2 GPUs and 8 CPUs belong on node 1, pair or not."""
    on = stage(linked((0, 0, 1, 1, 1), "PIX", (0, 1), (3, 4)))
    for wanted, expected in (("8", [("GPU2", "GPU3")]), ("7", [])):
        decision = on.decide(on.ledger, pod("a", cpus("app", wanted, {GPU: "2"})))
        assert [unit.gpus for unit in torn(on.node, decision)] == expected
    alone = stage(linked((0, 0, 1, 1), "NV4", (0, 1), (1, 2)))
    decision = alone.decide(alone.ledger, pod("a", cpus("app", "8", {GPU: "2"})))
    assert (sorted(decision.containers["app"].devices[GPU]), torn(alone.node, decision)) == (["GPU2", "GPU3"], ())


def test_a_sick_partner_is_not_missed() -> None:
    """GPU1 and GPU3 cannot be had by anybody, so GPU0 and GPU2 are as near as can be."""
    devices = tuple(replace(gpu, healthy=gpu.id not in ("GPU1", "GPU3")) for gpu in ONE_AFTER_THE_OTHER.devices)
    on = stage(replace(ONE_AFTER_THE_OTHER, devices=devices))
    decision = on.decide(on.ledger, two_gpus("a"))
    assert (sorted(decision.containers["app"].devices[GPU]), torn(on.node, decision)) == (["GPU0", "GPU2"], ())


def test_gpus_without_numa_nodes_are_judged_too() -> None:
    on = stage(linked((None, None, None, None), "PIX", (0, 1), (2, 3)))
    decision = on.play([one_gpu("a"), two_gpus("b")]).steps[1].decision
    assert [unit.gpus for unit in torn(on.node, decision)] == [("GPU1", "GPU2")]


def test_in_the_pod_scope_the_gpus_of_all_containers_count() -> None:
    """Two containers with a GPU each: a pair between them in the pod scope, each by itself in the container scope."""
    two = pod("b", cpus("x", "1", {GPU: "1"}), cpus("y", "1", {GPU: "1"}))
    found = {}
    for scope in ("container", "pod"):
        on = stage(ONE_AFTER_THE_OTHER, topology_manager_scope=scope)
        decision = on.play([one_gpu("a"), two]).steps[1].decision
        found[scope] = [(unit.unit, unit.gpus) for unit in torn(on.node, decision)]
    assert found == {"container": [], "pod": [("", ("GPU1", "GPU2"))]}


@given(st.integers(1, 3), st.integers(2, 4))
def test_behind_an_nvswitch_no_gpus_are_torn(first: int, second: int) -> None:
    """Each two of 8 GPUs share 12 NVLinks, more than a GPU has: whatever PCIe switch they hang under, all are near."""
    devices = tuple(replace(gpu, switch=f"switch-{i // 2}") for i, gpu in enumerate(gpus(*[0] * 8)))
    links = tuple(Link(a.id, b.id, "NV12") for a, b in combinations(devices, 2))
    on = stage(replace(box(2, 8, 2, memory=16 * GI, devices=devices), links=links))
    played = [pod("a", cpus("app", "1", {GPU: str(first)})), pod("b", cpus("app", "1", {GPU: str(second)}))]
    decisions = [step.decision for step in on.play(played).steps]
    assert [(each.admitted, torn(on.node, each)) for each in decisions] == [(True, ()), (True, ())]


def test_a_better_score_without_a_pair_more_is_no_fault() -> None:
    """GPUs 0 to 2 hold one pair, as GPUs 1 to 3 would; that GPU1 is a little nearer to the others does not count."""
    closer = {("GPU1", "GPU2"): "PHB", ("GPU1", "GPU3"): "PHB"}
    links = tuple(replace(link, kind=closer.get((link.a, link.b), link.kind)) for link in ONE_AFTER_THE_OTHER.links)
    on = stage(replace(ONE_AFTER_THE_OTHER, links=links))
    decision = on.decide(on.ledger, pod("a", cpus("app", "1", {GPU: "3"})))
    assert (sorted(decision.containers["app"].devices[GPU]), torn(on.node, decision)) == (["GPU0", "GPU1", "GPU2"], ())


@given(st.permutations(range(4)), st.integers(0, 2))
def test_what_nvidias_plugin_gives_on_an_idle_machine_is_never_torn(order: list[int], more: int) -> None:
    """However the GPUs are numbered."""
    a, b, c, d = order
    near = [(min(pair), max(pair)) for pair in ((a, b), (c, d))]
    machine = linked((0, 0, 0, 0), "PIX", *near)
    on = with_nvidias_plugin(machine)
    decision = on.decide(on.ledger, pod("a", cpus("app", "1", {GPU: str(2 + more)})))
    assert (decision.admitted, torn(on.node, decision)) == (True, ())
