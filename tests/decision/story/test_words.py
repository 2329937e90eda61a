"""The sentences of a story, on machines where an easier sentence would be false."""

import pytest
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decide import decide
from numafit.decision.decision import Unsuited
from numafit.decision.life import list_devices, start_containers
from numafit.decision.story.claims import places_of
from numafit.decision.story.story import Story, story_of
from numafit.decision.story.words import cause_in_words, hints_in_words, places_in_words
from numafit.machine.model import Machine
from numafit.settings.settings import Settings
from numafit.workload.pod import CRITICAL, Pod
from tests.decision.strategies import GI, GPU, amounts, box, container, cpus, gpus, memory, pod, running, settings

FULL_CORES = {"full-pcpus-only": "true"}
POD_LEVEL = {"PodLevelResources": True, "PodLevelResourceManagers": True}
MEMORY_TOO = {0: {"memory": "1Gi"}}


def stories(machine: Machine, ordered: Settings, *pods: Pod) -> list[Story]:
    node, ledger = running(machine, ordered)
    told = []
    for each in pods:
        decision = admit(node, ledger, each)
        told.append(story_of(node, decision))
        ledger = start_containers(node, decision.ledger, each.uid)[0] if decision.admitted else decision.ledger
    return told


def last_sentence(machine: Machine, ordered: Settings, *pods: Pod) -> str:
    return stories(machine, ordered, *pods)[-1].sentence


def stars(story: Story, resource: str) -> list[bool]:
    return [cell.fits for row in story.chapters[-1].grid if row.resource == resource for cell in row.cells]


# --- places ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("masks", "words"),
    [
        ([0b1], "node 0"),
        ([0b1, 0b1000], "one of nodes 0,3"),
        ([0b11], "nodes 0-1"),
        ([0b11, 0b101, 0b110], "any 2 of nodes 0-2"),
        ([0b11, 0b1100], "nodes 0-1 or nodes 2-3"),
        ([3 << 2 * i for i in range(8)], ", ".join(f"nodes {2 * i}-{2 * i + 1}" for i in range(6))),
        ([1 << i | 1 << j for i in range(34) for j in range(i)], "any 2 of 34 nodes"),
    ],
)
def test_places_are_counted_as_people_count(masks: list[int], words: str) -> None:
    """What is cut says so."""
    more = " or 2 more sets of 2 nodes" if len(masks) == 8 else ""
    assert places_in_words(places_of(masks)) == words + more


def test_a_list_of_hints_that_is_cut_says_how_many_more_there_are() -> None:
    hints = tuple((mask, mask.bit_count() == 1) for mask in range(1, 16))
    assert hints_in_words(hints).endswith("nodes 0-1, nodes 0,2, and 9 more")


def test_of_any_two_nodes_no_pair_is_named_as_the_one() -> None:
    told = last_sentence(box(4, 16), settings(cpu="static", topology="single-numa-node"), pod("a", cpus("app", "6")))
    assert told == (
        "6 CPUs need any 2 of nodes 0-3 together (at most 4 CPUs can be had on one node): "
        "`single-numa-node` rejects container app."
    )


def test_a_machine_of_34_nodes_is_told_in_one_line() -> None:
    ordered = settings(cpu="static", topology="restricted")
    gates = {**ordered.gates, "TopologyManagerPolicyOptions": True, "TopologyManagerPolicyBetaOptions": True}
    ordered = replace(ordered, topology_options={"max-allowable-numa-nodes": "64"}, gates=gates)
    (story,) = stories(box(34, 68), ordered, pod("a", cpus("app", "3")))
    assert story.chapters[0].hints["cpu"] == "any 2 of 34 nodes (preferred), and many wider sets"
    ordered = replace(ordered, topology_policy="single-numa-node")
    assert last_sentence(box(34, 68), ordered, pod("a", cpus("app", "3"))).startswith("3 CPUs need any 2 of 34 nodes")


# --- the merge -------------------------------------------------------------------------------------------------------


def test_preferred_is_not_only() -> None:
    """With restricted both nodes together would hold everything."""
    ordered = settings(cpu="static", topology="restricted")
    machine = box(2, 8, devices=gpus(0, 0, 1))
    told = last_sentence(machine, ordered, pod("a", cpus("app", "3")), pod("b", cpus("app", "2", {GPU: "2"})))
    assert told == (
        "2 nvidia.com/gpu prefer node 0 and 2 CPUs prefer node 1, so no place is preferred by both (nodes 0-1 together "
        "would have room for both): `restricted` rejects container app."
    )


def test_where_no_node_has_room_for_both_what_is_missing_on_the_nearest_is_told() -> None:
    ordered = settings(cpu="static", topology="single-numa-node")
    machine = box(2, 8, devices=gpus(0, 0))
    told = last_sentence(machine, ordered, pod("a", cpus("app", "2")), pod("b", cpus("app", "2", {GPU: "1"})))
    assert told == (
        "1 nvidia.com/gpu fits no single node but node 0 and 2 CPUs fit no single node but node 1, so no node has room "
        "for both: `single-numa-node` rejects container app. On node 0, 1 CPU is free."
    )


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
def test_an_empty_machine_is_not_said_to_allow_more_than_it_does(policy: str) -> None:
    """A CPU of each node is reserved; the CPU manager counts them for what it prefers (1.20 to 1.36)."""
    ordered = settings(cpu="static", topology=policy, reserved="2", reserved_cpus="0,4")
    told = last_sentence(box(2, 8), ordered, pod("a", cpus("app", "4")))
    assert "4 CPUs take nodes 0-1 together even on an empty machine" in told
    assert "which counts reserved CPUs too, prefers fewer nodes" in told


def test_what_would_fit_an_empty_machine_says_how_much_can_be_had_now() -> None:
    ordered = settings(cpu="static", topology="restricted")
    told = last_sentence(
        box(2, 8), ordered, pod("a", cpus("app", "2")), pod("b", cpus("app", "2")), pod("c", cpus("app", "3"))
    )
    assert told == (
        "3 CPUs would fit 1 node of an empty machine, but now need 2: nodes 0-1 (at most 2 CPUs can be had on one "
        "node): `restricted` rejects container app."
    )


# --- managers --------------------------------------------------------------------------------------------------------


def test_an_odd_number_of_cpus_is_told_with_the_container_and_what_would_do() -> None:
    ordered = settings(cpu="static", topology="single-numa-node", options=FULL_CORES)
    (story,) = stories(box(2, 8, 2), ordered, pod("a", cpus("side", "2"), cpus("app", "3")))
    assert story.sentence == (
        "Container app asks for 3 CPUs, and `full-pcpus-only` gives whole cores of 2 threads only: 2 or 4 would do."
    )
    assert stars(story, "cpu") == [False, False]


def test_single_threads_do_not_fit_where_cores_are_given_whole() -> None:
    """CPU 0 is reserved: node 0 has seven free CPUs and three free cores."""
    ordered = settings(cpu="static", topology="restricted", options=FULL_CORES)
    free = stories(box(2, 8, 2), ordered, pod("a", cpus("app", "6")))[0]
    assert stars(free, "cpu") == [True, True]
    (busy,) = stories(box(2, 2, 2), ordered, pod("a", cpus("app", "2")))
    assert [(cell.free, cell.fits) for cell in busy.chapters[0].grid[0].cells] == [(1, False), (2, True)]


def test_whole_cores_that_are_short_are_told() -> None:
    ordered = settings(cpu="static", topology="none", options=FULL_CORES)
    told = last_sentence(box(2, 4, 2), ordered, pod("a", cpus("app", "4")), pod("b", cpus("app", "4")))
    assert told == (
        "Container app asks for 4 CPUs, and with `full-pcpus-only` 2 are free: only cores without a reserved CPU count."
    )


def test_bytes_across_nodes_are_told_as_such_and_their_nodes_have_no_star() -> None:
    """A node of a group holds nobody alone (1.21 to 1.36)."""
    ordered = settings(memory="Static", reserved_memory=MEMORY_TOO, topology="best-effort")
    story = stories(box(2, 8, memory=8 * GI), ordered, pod("a", memory("app", "12Gi")), pod("b", memory("app", "1Gi")))[
        1
    ]
    assert stars(story, "memory") == [False, False]
    (row,) = story.chapters[0].grid
    assert [[(each.pod, each.amount // GI, each.nodes) for each in cell.across] for cell in row.cells] == [
        [("default/pod-a", 12, (0, 1))],
        [("default/pod-a", 12, (0, 1))],
    ]
    assert story.sentence == (
        "Admitted with the shared CPUs, and memory on nodes 0-1. Container app is not as near as its managers prefer: "
        "1Gi would fit 1 node of an empty machine, but now need 2: nodes 0-1 (none of it can be had on one node) "
        "(node 1 belongs to pods that sit across several nodes)."
    )


def test_pod_level_resources_are_told_in_their_own_terms() -> None:
    ordered = settings(cpu="static", topology="single-numa-node", scope="pod", gates=POD_LEVEL)
    wanted = pod("a", cpus("own", "4"), container("shared"), whole={"cpu": "4", "memory": "4Gi"})
    assert last_sentence(box(2, 8), ordered, wanted) == (
        "Containers with requests of their own take 4 CPUs of the pod's 4 CPUs, and nothing is left to the others: "
        "`single-numa-node` rejects the pod."
    )
    wider = pod("a", cpus("own", "2"), container("shared"), whole={"cpu": "5", "memory": "4Gi"})
    assert last_sentence(box(2, 8), ordered, wider) == (
        "5 CPUs need nodes 0-1 together (at most 4 CPUs can be had on one node): `single-numa-node` rejects the pod."
    )


def test_managers_that_pass_over_a_pod_with_resources_of_its_own_are_named() -> None:
    """1.34 and later, without the gate PodLevelResourceManagers: shared CPUs for a Guaranteed pod need a reason."""
    gates = {**POD_LEVEL, "PodLevelResourceManagers": False}
    wanted = pod("a", container("app"), whole={"cpu": "4", "memory": "4Gi"})
    why = "over the pod, because it has resources as a whole (spec.resources)."
    ordered = settings(cpu="static", topology="restricted", gates=gates)
    assert last_sentence(box(2, 8), ordered, wanted) == (f"Admitted with the shared CPUs. The CPU manager passes {why}")
    both = settings(cpu="static", memory="Static", reserved_memory=MEMORY_TOO, topology="restricted", gates=gates)
    assert last_sentence(box(2, 8, memory=8 * GI), both, wanted) == (
        f"Admitted with the shared CPUs. The CPU and memory managers pass {why}"
    )
    without = settings(cpu="none", topology="restricted", gates=gates)
    assert last_sentence(box(2, 8), without, wanted) == "Admitted with the shared CPUs."


def test_a_crash_names_the_page_size() -> None:
    ordered = settings(memory="Static", reserved_memory=MEMORY_TOO, topology="restricted")
    wanted = pod("a", memory("small", "1Gi"), memory("app", "1Gi", {"hugepages-32Mi": "64Mi"}))
    assert last_sentence(box(2, 8, memory=8 * GI), ordered, wanted) == (
        "The kubelet would crash here: container app asks for hugepages-32Mi, and a NUMA node of this machine does not "
        "have that page size."
    )


# --- devices ---------------------------------------------------------------------------------------------------------


def test_one_device_on_a_numa_node_that_is_not_there_is_told_in_the_singular() -> None:
    ordered = settings(topology="single-numa-node")
    told = last_sentence(box(2, 8, devices=gpus(9)), ordered, pod("a", container("app", {GPU: "1"})))
    assert told.startswith(f"For 1 {GPU} there is 1 device, which names no NUMA node of this machine")


# --- evictions -------------------------------------------------------------------------------------------------------


def told(offered: dict[str, str], preemptor: Pod, *others: Pod) -> list[str]:
    """The sentence of a pod that comes to these, and of each that goes for it."""
    node, ledger = running(box(2, 16), settings("1.36"))
    ledger = replace(ledger, active={other.uid: other for other in others})
    decision = decide(node, ledger, preemptor, amounts(offered))
    return [story_of(node, each).sentence for each in (decision, *decision.evicted)]


CRITICAL_POD = replace(pod("vip", container("app", {}, requests={"cpu": "4"})), priority=CRITICAL)


def test_a_critical_pod_tells_who_went_for_it_and_each_of_those_why() -> None:
    small = pod("small", container("app", {}, requests={"cpu": "1500m"}))
    large = pod("large", container("app", {}, requests={"cpu": "3"}))
    assert told({"cpu": "5", "pods": "110"}, CRITICAL_POD, small, large) == [
        "Admitted with the shared CPUs. It is critical, and the node as a whole lacked 3500m CPUs for it: "
        "default/pod-large and default/pod-small are evicted.",
        "Evicted for the critical pod default/pod-vip: with all BestEffort pods gone, the node as a whole would still "
        "lack 3500m CPUs, and of the 2 Burstable pods that may go it is nearest to that; it gives back 3 CPUs.",
        "Evicted for the critical pod default/pod-vip: with all BestEffort pods gone, the node as a whole would still "
        "lack 500m CPUs, and it is the only one of the Burstable pods that may go; it gives back 1500m CPUs.",
    ]


def test_of_equally_near_victims_the_smallest_goes_and_says_so() -> None:
    """An operator read that it was nearest, and could not understand why the other one stayed."""
    small, large = (pod(uid, container("app", {}, requests={"cpu": cpu})) for uid, cpu in (("small", "4"), ("l", "5")))
    assert told({"cpu": "9", "pods": "110"}, CRITICAL_POD, large, small)[1] == (
        "Evicted for the critical pod default/pod-vip: with all BestEffort pods gone, the node as a whole would still "
        "lack 4 CPUs, and both Burstable pods that may go are equally near to that: the one that asks for the "
        "least memory goes, and then for the least CPU; it gives back 4 CPUs."
    )


def test_a_critical_pod_that_a_manager_refuses_says_that_nobody_is_evicted_for_that() -> None:
    """The topology manager comes first and knows no priority."""
    aligned, wants = settings(topology="single-numa-node"), pod("vip", cpus("app", "2", {GPU: "3"}))
    sentence = last_sentence(box(2, 16, devices=gpus(0, 1)), aligned, replace(wants, priority=CRITICAL))
    assert sentence.endswith(
        " The pod is critical, but the kubelet evicts others only for what the node as a whole lacks, not for this."
    )
    assert "critical" not in last_sentence(box(2, 16, devices=gpus(0, 1)), aligned, wants)


def test_devices_that_are_not_healthy_are_not_said_to_be_held() -> None:
    """An operator looked for who holds the GPUs, when their plugin had died."""
    node, ledger = running(box(2, 16, devices=gpus(0, 1)), settings(topology="single-numa-node", scope="pod"))
    wants = pod("a", cpus("app", "2", {GPU: "1"}))
    stopped = replace(ledger, device=node.device.stopped(ledger.device, GPU))
    ill = [replace(device, healthy=False) for device in node.machine.devices if device.resource == GPU]
    none = list_devices(node, ledger, GPU, ill)
    some = list_devices(node, decide(node, ledger, wants, {}).ledger, GPU, [replace(ill[0], healthy=True), *ill[1:]])
    cases = (stopped, none, some)
    found = [story_of(node, decide(node, each, replace(wants, uid="b"), {})).sentence for each in cases]
    assert [sentence.removesuffix(": `single-numa-node` rejects the pod.") for sentence in found] == [
        "1 nvidia.com/gpu is asked for, and none is healthy: the device plugin is not there",
        "1 nvidia.com/gpu is asked for, and none is healthy",
        "1 nvidia.com/gpu is asked for, and none is free (1 is not healthy)",
    ]


def test_a_victim_that_chance_chose_says_so() -> None:
    equals = [pod(uid, container("app", {})) for uid in ("a", "b", "c")]
    assert told({"cpu": "5", "pods": "3"}, CRITICAL_POD, *equals)[1] == (
        "Evicted for the critical pod default/pod-vip: the node as a whole lacks room for a pod, and of the 3 "
        "BestEffort pods that may go it is nearest to that, and 2 others are as near: chance decides between them; it "
        "gives back room for a pod."
    )


def test_a_critical_pod_for_which_too_few_may_go_tells_what_would_be_missing() -> None:
    equal = replace(pod("a", container("app", {}, requests={"cpu": "2", "memory": "1Gi"})), priority=CRITICAL)
    less = pod("b", container("app", {}, requests={"cpu": "1"}))
    (alone,) = told({"cpu": "5", "pods": "110"}, CRITICAL_POD, equal)
    assert alone == "The node as a whole lacks 1 CPU for this critical pod, and no pod on it may be evicted for that."
    (more,) = told({"cpu": "5", "pods": "110"}, CRITICAL_POD, equal, replace(equal, uid="c"), less)
    assert more == (
        "The node as a whole is full. The pod is critical, but even without the one pod that may be evicted for it "
        "3 CPUs would be missing."
    )


def test_a_node_without_any_of_a_resource_says_so() -> None:
    (sentence,) = told({"cpu": "5"}, pod("a", container("app", {}, requests={"cpu": "1", "hugepages-32Mi": "32Mi"})))
    assert sentence == ("The node as a whole has no hugepages-32Mi: the pod asks for 32Mi of hugepages-32Mi.")


def test_managers_have_found_a_place_only_where_they_had_something_to_place() -> None:
    node, ledger = running(box(2, 16, devices=gpus(0)), settings("1.36"))
    wants = pod("a", cpus("app", "2", {GPU: "1"}))
    sentences = [
        story_of(node, decide(node, ledger, each, amounts({"cpu": "1"}))).sentence
        for each in (wants, pod("b", cpus("app", "2")))
    ]
    short = "of cpu the node as a whole has 1 CPU left of 1 CPU, and the pod asks for 2 CPUs."
    assert sentences == [f"The managers found a place, but {short}", f"O{short[1:]}"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"selector": "disk=hdd", "label": "ssd"}, "wants a node with disk=hdd, and its disk is ssd."),
        ({"selector": "disk=hdd", "label": ""}, "wants a node with disk=hdd, and it has no such label."),
        ({"affinity": "zone In a,b"}, "the node has no labels for the pod's node affinity: zone In a,b."),
        ({"port": "80/TCP", "pod": "default/web"}, "the host port 80/TCP is held by default/web already."),
        ({"taint": "gpu:NoExecute"}, "does not tolerate the taint gpu:NoExecute of the node."),
        ({"sidecar": "log"}, "is a sidecar, and the gate SidecarContainers of the kubelet is off."),
        ({"system": "windows"}, "The pod is for windows, and the node runs linux."),
        ({}, "and the container runtime of the node does not know it."),
    ],
)
def test_what_a_pod_misses_in_its_node_is_named(facts: dict[str, str], words: str) -> None:
    assert cause_in_words(Unsuited("NodeAffinity", "", facts)).endswith(words)
