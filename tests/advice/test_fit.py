"""How many more pods fit: counted by admitting them."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.fit import FitCount, Left, Turns, count_fits, shapes_of
from numafit.advice.stop import Limit, Stop
from numafit.decision.decision import Decision
from numafit.decision.stage import Stage
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.settings import ReservedMemory
from numafit.workload.pod import Pod, pod_requests
from tests.advice.stages import stage, stages
from tests.decision.strategies import GI, GPU, MI, box, container, cpus, gpus, machines, memory, pod, pods


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
    assert count.limits == (Limit("cpu", 4, {0: 3, 1: 0}, "out", 3),)
    assert count.stop == Stop("topology-policy", policy="single-numa-node", container="app")


def test_two_resources_may_each_stand_in_the_way() -> None:
    """Node 0 has CPUs but no GPU left, node 1 a GPU but no CPUs: either one more would do."""
    on = stage(box(2, 8, 1, memory=16 * GI, devices=gpus(0, 1, 1)))
    shape = pod("a", cpus("app", "3", {GPU: "1"}))
    (count,) = count_fits(on, [shape]).counts
    assert (count.admitted, count.limits) == (2, (Limit("cpu", 3, {0: 0, 1: 1}, "out", 1),))


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
    assert count.stop == Stop("node", resource="cpu", needed=4000, free=3000, capacity=15_000)


def test_pods_that_differ_only_in_name_are_one_shape() -> None:
    one, other = pod("a", cpus("app", "4")), pod("b", cpus("app", "2"))
    assert shapes_of([one, replace(one, uid="x", name="x"), other]) == (one, other)


def test_the_rule_is_named_and_not_a_resource_that_is_free() -> None:
    """All CPUs are free, and full-pcpus-only gives whole cores only (1.22 to 1.36)."""
    on = stage(cpu_manager_policy_options={"full-pcpus-only": "true"}, kube_reserved={"cpu": "2", "memory": "412Mi"})
    (count,) = count_fits(on, [pod("a", cpus("first", "2"), cpus("app", "3"))]).counts
    assert count.admitted == 0
    assert count.stop == Stop(
        "full-pcpus-only", container="app", resource="cpu", needed=3000, free=12_000, capacity=2000
    )


def test_cpus_that_make_no_whole_cores_are_not_told_to_lack_anywhere() -> None:
    """Another NUMA node has enough of them, and no free CPU would change the rule (1.22 to 1.36)."""
    on = stage(cpu_manager_policy_options={"full-pcpus-only": "true"}, kube_reserved={"cpu": "2", "memory": "412Mi"})
    taken = on.play([pod("a", cpus("app", "6"))]).after
    (count,) = count_fits(replace(on, ledger=taken), [pod("b", cpus("app", "3"))]).counts
    assert (count.admitted, count.limits) == (0, ())


def test_the_number_of_pods_is_a_rule() -> None:
    (count,) = count_fits(stage(max_pods=2), [pod("a", memory("app", "1Gi"))]).counts
    assert (count.admitted, count.stop) == (2, Stop("max-pods", resource="pods", needed=1, capacity=2))


def test_a_pod_that_no_numa_node_could_hold_has_not_run_out_of_anything() -> None:
    (count,) = count_fits(stage(), [pod("a", cpus("app", "9"))]).counts
    assert count.limits == (Limit("cpu", 9, {0: 7, 1: 8}, "large", 15),)


def test_what_is_free_in_parts_is_scattered() -> None:
    (count,) = count_fits(stage(), [pod("a", cpus("app", "5"))]).counts
    assert count.limits == (Limit("cpu", 5, {0: 2, 1: 3}, "scattered", 5),)


def test_without_a_topology_policy_a_manager_is_the_rule() -> None:
    (count,) = count_fits(stage(topology_manager_policy="none"), [pod("a", cpus("app", "4"))]).counts
    assert (count.admitted, count.stop) == (
        3,
        Stop("cpu-manager", container="app", resource="cpu", needed=4000, free=3000),
    )


def test_a_memory_manager_that_lacks_huge_pages_names_them_and_not_memory() -> None:
    pages = box(2, 8, 2, memory=16 * GI, hugepages={2 << 20: 512})
    shape = pod("a", cpus("app", "1", {"hugepages-2Mi": "1536Mi"}))
    (count,) = count_fits(stage(pages, topology_manager_policy="none"), [shape]).counts
    assert (count.admitted, count.stop) == (
        1,
        Stop("memory-manager", container="app", resource="hugepages-2Mi", needed=3 << 29, free=1 << 29),
    )


def test_cpus_that_pods_share_are_not_stranded() -> None:
    fit = count_fits(stage(max_pods=2), [pod("a", memory("app", "1Gi"))])
    assert (fit.full, fit.shared) == (True, True)


@st.composite
def any_stages(draw: st.DrawFn) -> Stage:
    machine = draw(machines())
    options = draw(st.sampled_from([None, None, {"full-pcpus-only": "true"}]))
    return stage(
        machine,
        draw(st.sampled_from(["1.23.17", "1.27.3", "1.32.13", "1.36.4"])),
        reserved_memory=(ReservedMemory(machine.numa_nodes[0].id, {"memory": parse_quantity("512Mi")}),),
        cpu_manager_policy_options=options,
        feature_gates={"CPUManagerPolicyOptions": True} if options else {},
        topology_manager_policy=draw(st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])),
        topology_manager_scope=draw(st.sampled_from(["container", "pod"])),
        max_pods=draw(st.sampled_from([3, 110])),
    )


@settings(max_examples=150, deadline=None)
@given(any_stages(), st.lists(pods("shape"), min_size=1, max_size=2), st.sampled_from(["round-robin", "one-by-one"]))
def test_all_that_is_said_of_a_stop_is_so_on_the_node(on: Stage, drawn: list[Pod], turns: Turns) -> None:
    """Counted by hand: what pods hold, what is listed, what was asked for."""
    shapes = [replace(each, uid=f"shape-{i}", name=f"shape-{i}") for i, each in enumerate(drawn)]
    fit = count_fits(on, shapes, turns)
    for count in fit.counts:
        refusal, stop = count.refusal, count.stop
        assert refusal is not None
        assert stop is not None
        if refusal.panic:
            assert stop == Stop("crash")
            continue
        check_stop(on, refusal, stop)
        for limit in count.limits:
            check_limit(on, refusal, limit)
    check_left(on, fit)


def check_stop(on: Stage, refusal: Decision, stop: Stop) -> None:
    node, ledger, wanted = on.node, refusal.ledger, refusal.pod
    asked = {each.name: each.requests for each in wanted.all_containers}
    if stop.rule == "max-pods":
        assert len(ledger.active) == stop.capacity == on.allocatable["pods"].value()
    elif stop.rule == "node":
        used = sum(amount(stop.resource, pod_requests(each, sidecars=True)) for each in ledger.active.values())
        if node.settings.behaviour.sidecars:
            assert stop.needed == amount(stop.resource, pod_requests(wanted, sidecars=True))
            assert stop.free == max(0, stop.capacity - used) < stop.needed
    elif stop.rule == "topology-policy":
        assert refusal.merges
        assert not refusal.merges[-1].admit
        assert (stop.policy, stop.container) == (node.topology.policy, refusal.merges[-1].container)
    elif stop.rule == "full-pcpus-only":
        assert node.cpu.options.full_pcpus_only
        assert stop.needed == asked[stop.container]["cpu"].milli()
        assert stop.needed % stop.capacity or stop.needed > stop.free
    elif stop.rule == "cpu-manager":
        assert "not enough cpus available" in refusal.message or "failed to allocate cpus" in refusal.message
        assert stop.needed == asked[stop.container]["cpu"].milli()
        assert stop.free == sum(free_by_hand(on, refusal, "cpu").values()) * 1000
    elif stop.rule == "memory-manager":
        assert "[memorymanager]" in refusal.message
        assert stop.needed == asked[stop.container]["memory"].value()
        assert stop.free == sum(free_by_hand(on, refusal, "memory").values())
    else:
        assert stop.rule == "device-manager"
        assert "devices unavailable" in refusal.message
        assert stop.needed == asked[stop.container][stop.resource].value()
        held = [ids for own in ledger.device.held.values() for each in own.values() for ids in each.items()]
        taken = {device for resource, of in held if resource == stop.resource for device in of.ids}
        listed = {device.id for device in node.machine.devices if device.resource == stop.resource}
        # a failed pick leaves ids that nobody holds
        assert stop.free <= len(listed - taken)


def check_limit(on: Stage, refusal: Decision, limit: Limit) -> None:
    if refusal.shortage or not limit.needed:
        assert not limit.short
        return
    if refusal.merges:
        refusal = replace(refusal, ledger=refusal.merges[-1].ledger)
    free = free_by_hand(on, refusal, limit.resource)
    assert limit.short == {numa: there for numa, there in free.items() if there < limit.needed}
    if limit.kind == "out":
        assert limit.free < limit.needed
    elif limit.kind == "in-the-way":
        assert len(limit.short) < len(free) or not free
    else:
        assert limit.free >= limit.needed
        assert set(limit.short) == set(free)
    if limit.kind == "large" and limit.resource == "cpu":
        most = [(own & ~on.node.cpu.reserved).bit_count() for own in on.node.cpu.topology.numa_nodes.values()]
        assert max(most) < limit.needed


def check_left(on: Stage, fit: FitCount) -> None:
    """Whoever says stranded has asked for each shape once more."""
    admitted = [count.admitted for count in fit.counts]
    if fit.full and len(fit.counts) == 1:
        copies = [replace(fit.counts[0].shape, uid=f"copy-{i}", name=f"copy-{i}") for i in range(admitted[0] + 2)]
        assert [step.decision.admitted for step in on.play(copies).steps][-2:] == [False, False]


def free_by_hand(on: Stage, refusal: Decision, resource: str) -> dict[int, int]:
    node, ledger = on.node, refusal.ledger
    numas = [numa.id for numa in node.machine.numa_nodes]
    if resource == "cpu":
        taken = node.cpu.reserved
        for own in ledger.cpu.entries.values():
            for held in own.values():
                taken |= held
        return {numa: sum(cpu.numa == numa and not taken >> cpu.id & 1 for cpu in node.machine.cpus) for numa in numas}
    if resource in ledger.device.devices:
        taken_ids = ledger.device.allocated.get(resource, frozenset())
        return {
            numa: sum(
                device.resource == resource and numa in (device.numa or ()) and device.id not in taken_ids
                for device in node.machine.devices
            )
            for numa in numas
        }
    return {numa: own.tables[resource].free for numa, own in ledger.memory.nodes.items() if resource in own.tables}


def amount(resource: str, requests: Mapping[str, Quantity]) -> int:
    found = requests.get(resource, Quantity(0))
    return found.milli() if resource == "cpu" else found.value()
