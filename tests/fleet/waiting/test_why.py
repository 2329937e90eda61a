"""Why a pod waits: every claim is checked by asking each node by itself, with the engine and by counting."""

import random
from collections.abc import Iterator, Mapping
from itertools import permutations

import pytest
from msgspec.structs import replace

from numafit.decision.decide import decide, load_of, requests_of
from numafit.decision.life import freed
from numafit.decision.start import Start, start
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.places import REFUSED, UNSCHEDULABLE
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.lack import Lack
from numafit.fleet.waiting.why import WhyMemory, WhyWaiting, why_waiting
from numafit.fleet.waiting.words import MOST_TEXT, waiting_sentence
from numafit.managers.device.manager import free_devices
from numafit.quantity import parse_quantity
from numafit.settings.facts import NodeFacts, Taint
from numafit.workload.pod import Pod
from tests.fleet.fleets import ALLOCATABLE, GPU, admitted_all, pod, started, state_by_chance

KINDS = {
    "strict": started("single-numa-node"),
    "strict-pod": started("single-numa-node", "pod"),
    "restricted": started("restricted", gpus=1),
    "loose": started("best-effort"),
    "none": started("none", minor=30),
    "bare": started("single-numa-node", gpus=0),
}
SMALL = {"cpu": parse_quantity("2"), "memory": parse_quantity("1Gi")}
TAINT = Taint("reserved", "", "NoSchedule")


def asked(fleet: Fleet, own: Pod, unknown: int = 0) -> WhyWaiting:
    return why_waiting(fleet, own, VerdictMemory(), WhyMemory(), unknown=unknown)


def fleet_by_chance(chance: random.Random) -> Fleet:
    fleet = Fleet()
    for number in range(chance.randrange(1, 12)):
        kind = chance.choice(list(KINDS))
        name = f"n{number}"
        taints = (TAINT,) if chance.random() < 0.1 else ()
        state = state_by_chance(kind, *KINDS[kind], chance, f"{number}")
        fleet = fleet.reported(name, state, NodeFacts(name, {}, taints), schedulable=chance.random() > 0.1)
        if chance.random() < 0.2:
            coming = pod(f"coming-{number}", "2")
            if decide(state.node, state.ledger, coming, ALLOCATABLE).admitted:
                fleet = fleet.offered(coming, [name])
    return fleet


def large_by_chance(chance: random.Random) -> Pod:
    gpus = chance.choice((0, 1, 2, 2, 3, 4))
    new = pod("new", str(chance.choice((4, 6, 7, 8, 9, 15))), f"{chance.choice((1, 8, 12, 15))}Gi", gpus)
    if chance.random() < 0.2:
        (app,) = new.containers
        return replace(new, containers=(app, replace(app, name="beside", requests=SMALL, limits=SMALL)))
    return new


def open_to_it(node: FleetNode) -> bool:
    return node.schedulable and not node.facts.taints


def takes(node: FleetNode, new: Pod, without: str = "") -> bool:
    """In every order, beside what is promised; by the engine alone. A node must list what it is asked for."""
    state = node.state
    if GPU in new.containers[0].requests and GPU not in state.ledger.device.healthy:
        return False
    ledger = freed(state.node, state.ledger, without) if without else state.ledger
    pods = [*(own.pod for own in node.promised), new]
    return all(admitted_all(state.node, ledger, order) is not None for order in permutations(pods))


def takes_empty(node: FleetNode, new: Pod) -> bool:
    kind = KINDS[node.state.kind]
    if GPU in new.containers[0].requests and GPU not in kind[1].device.healthy:
        return False
    return decide(*kind, new, ALLOCATABLE).admitted


def free_on_each(node: FleetNode) -> Iterator[Mapping[str, int]]:
    state = node.state
    cpus = state.node.cpu.available(state.ledger.cpu)
    free = free_devices(state.ledger.device, GPU) if GPU in state.ledger.device.healthy else ()
    placed = state.ledger.device.devices.get(GPU, {})
    for numa, own in state.node.cpu.topology.numa_nodes.items():
        memory = state.ledger.memory.nodes[numa].tables["memory"].free
        gpus = sum(numa in (placed[id].numa or ()) for id in free)
        yield {"cpu": (cpus & own).bit_count() * 1000, "memory": memory, GPU: gpus}


def left_of_whole(node: FleetNode) -> dict[str, int]:
    settings = node.state.node.settings
    load = load_of(settings, node.state.ledger.active.values()).amounts
    whole = {"cpu": 15_000, "memory": 31 << 30}
    return {name: amount - load.get(name, 0) for name, amount in whole.items()} | {
        "pods": 12 - len(node.state.ledger.active)
    }


def has(node: FleetNode, lack: Lack) -> bool:
    """Whether the node has what shall be lacking, by counting."""
    left = left_of_whole(node)
    if any(left.get(name, amount) < amount for name, amount in lack.needs.items()):
        return False
    parts = list(free_on_each(node))
    if lack.where == "numa-node":
        return any(all(part.get(name, amount) >= amount for name, amount in lack.needs.items()) for part in parts)
    if lack.where == "near":
        # what `restricted` prefers is not counted here: that one NUMA node has all of it is enough to refute
        return any(all(part.get(name, amount) >= amount for name, amount in lack.needs.items()) for part in parts)
    return all(sum(part.get(name, amount) for part in parts) >= amount for name, amount in lack.needs.items())


@pytest.mark.parametrize("seed", range(150))
def test_every_claim_is_true_of_each_node_by_itself(seed: int) -> None:
    chance = random.Random(seed)
    fleet, new = fleet_by_chance(chance), large_by_chance(chance)
    why = asked(fleet, new)
    suits = [node for node in fleet.nodes.values() if open_to_it(node)]
    taking = [node for node in suits if takes(node, new)]
    assert why.fitting == len(taking)
    busy = [node for node in suits if node not in taking and takes_empty(node, new)]
    never = [node for node in suits if node not in taking and not takes_empty(node, new)]
    assert (why.busy, why.never) == (len(busy), len(never))
    alone = [node for node in busy if takes(replace(node, promised=()), new)]
    assert why.promised == len(alone)

    for lack, where in ((why.lack, [*busy, *never]), (why.busy_lack, busy)):
        # What a second container lacks it lacks beside the first, which is not counted here.
        if lack is not None and lack.container != "beside":
            assert not [node.name for node in where if node not in alone and has(node, lack)], lack
            wanted = requests_of(next(iter(KINDS.values()))[0].settings, new)
            assert all(wanted.get(name, 1) >= amount for name, amount in lack.needs.items())

    helped = {end.node: end for end in why.ends}
    assert not why.cut
    for node in busy:
        helpful = [uid for uid in node.state.ledger.active if takes(node, new, uid)]
        assert (node.name in helped) == bool(helpful), (node.name, helpful)
        if helpful:
            assert helped[node.name].uid in helpful
            assert node.state.ledger.active[helped[node.name].uid].full_name == helped[node.name].pod
    assert len(helped) == len(why.ends)
    assert helped.keys() <= {node.name for node in busy}

    for aside in why.aside:
        out = [
            node
            for node in fleet.nodes.values()
            if (not node.schedulable if aside.reason == UNSCHEDULABLE else node.schedulable and node.facts.taints)
        ]
        willing = [node.name for node in out if takes(node, new) and node.schedulable == bool(node.facts.taints)]
        assert (aside.nodes, aside.willing) == (len(out), len(willing))

    if why.change is not None:
        assert not taking
        assert takes(fleet.nodes[why.change.node], why.change.pod)
        assert open_to_it(fleet.nodes[why.change.node])
    assert sum(group.nodes for group in why.groups) == len(busy) + len(never)
    told = waiting_sentence(why)
    assert len(told) <= MOST_TEXT
    assert told == waiting_sentence(asked(fleet, new))


def with_pods(kind: str, *pods: Pod) -> NodeState:
    node, ledger = KINDS[kind]
    there = admitted_all(node, ledger, pods)
    assert there is not None
    return state_of(kind, node, there, ALLOCATABLE)


def test_a_pod_that_would_fit_after_one_end_says_whose() -> None:
    fleet = (
        Fleet()
        .reported("a", with_pods("strict", pod("train", "6", gpus=2), pod("other", "6", gpus=1)))
        .reported("b", with_pods("bare"))
    )
    why = asked(fleet, pod("new", "2", gpus=2))
    assert [(end.node, end.pod) for end in why.ends] == [("a", "default/pod-other")]
    assert (why.busy, why.never) == (1, 1)
    assert waiting_sentence(why) == (
        "2 example.com/gpu on one node: no node has them; 1 node would after default/pod-other ends. "
        "It would start now with app: example.com/gpu 2 -> 1."
    )


def test_what_no_open_node_could_have_is_not_said_of_others() -> None:
    """The one that is cordoned, and busy now, could have it."""
    fleet = (
        Fleet()
        .reported("a", with_pods("strict"))
        .reported("b", with_pods("strict"))
        .reported("c", with_pods("loose", pod("there", gpus=2)), schedulable=False)
    )
    why = asked(fleet, pod("new", "2", gpus=3))
    assert (why.never, [(own.reason, own.willing) for own in why.aside]) == (2, [("Unschedulable", 0)])
    assert waiting_sentence(why).startswith(
        "3 example.com/gpu on one NUMA node: no node that is open to it could ever have them, even with nobody on it."
    )


def test_a_resource_that_no_node_knows_is_told_by_its_name() -> None:
    fleet = Fleet().reported("a", with_pods("bare")).reported("b", with_pods("bare"))
    assert waiting_sentence(asked(fleet, pod("new", "2", gpus=1))).startswith(
        "No node offers example.com/gpu: is a device plugin missing?"
    )


def test_a_pod_that_is_too_large_for_every_node_says_so() -> None:
    fleet = Fleet().reported("a", with_pods("strict", pod("there"))).reported("b", with_pods("strict"))
    assert waiting_sentence(asked(fleet, pod("new", "2", gpus=3))) == (
        "3 example.com/gpu on one NUMA node: no node could ever have them, even with nobody on it. "
        "It would start now with app: example.com/gpu 3 -> 2."
    )


def test_a_pod_that_gets_whole_cores_only_is_told_the_number_that_does() -> None:
    """Nothing is short: one CPU more makes a whole core."""
    settings = replace(KINDS["strict"][0].settings, cpu_options={"full-pcpus-only": "true"})
    known = start(Start(machine=KINDS["strict"][0].machine, settings=settings))
    fleet = Fleet().reported("a", state_of("cores", known.node, known.ledger, ALLOCATABLE))
    why = asked(fleet, pod("new", "3"))
    assert why.change is not None
    assert (why.change.kind, why.change.text) == ("more", "app: cpu 3 -> 4")


def test_nodes_that_are_out_of_the_question_are_told_where_they_would_take_it() -> None:
    fleet = (
        Fleet()
        .reported("a", with_pods("strict"), NodeFacts("a", {}, (TAINT,)))
        .reported("c", with_pods("strict"), schedulable=False)
        .reported("d", with_pods("bare"), schedulable=False)
    )
    own = pod("new", gpus=1)
    assert waiting_sentence(asked(fleet, own, unknown=2)) == (
        "No node is open to it; 1 node would, but has a taint that it does not tolerate; "
        "1 node would, but is cordoned; 2 nodes have not told the topology."
    )
    refused = Fleet().reported("a", with_pods("strict")).rejected(own, "a", "no")
    (aside,) = asked(refused, own).aside
    assert (aside.reason, aside.willing) == (REFUSED, 1)
    assert waiting_sentence(asked(Fleet(), own)) == "No node has told its topology yet."


def test_a_node_that_is_promised_to_others_is_told_as_such() -> None:
    fleet = Fleet().reported("a", with_pods("strict")).offered(pod("coming", "2", gpus=2), ["a"])
    fleet = fleet.offered(pod("second", "2", gpus=2), ["a"])
    why = asked(fleet, pod("new", "2", gpus=1))
    assert (why.promised, why.busy, why.ends) == (1, 1, ())
    assert waiting_sentence(why) == (
        "No node takes it beside the pods that are on their way there; "
        "1 node would but for pods that are on their way there."
    )


def test_pods_of_one_shape_wait_for_the_same() -> None:
    """Ten thousand of them are not asked about one by one."""
    fleet = Fleet().reported("a", with_pods("strict"))
    memory, kept = VerdictMemory(), WhyMemory()
    first = why_waiting(fleet, pod("one", gpus=3), memory, kept)
    decided = memory.decided
    second = why_waiting(fleet, pod("two", gpus=3), memory, kept)
    assert (first.pod, second.pod) == ("default/pod-one", "default/pod-two")
    assert replace(first, pod="") == replace(second, pod="")
    assert memory.decided == decided


def test_ends_beyond_the_bound_are_not_tried_and_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numafit.fleet.waiting.why.MOST_TRIED", 1)
    fleet = Fleet()
    for name in "abc":
        fleet = fleet.reported(name, with_pods("strict", pod(f"{name}1", "6", gpus=2), pod(f"{name}2", "6", gpus=1)))
    why = asked(fleet, pod("new", "2", gpus=2))
    assert why.cut
    assert "at least 1 node would after default/pod-a2 ends" in waiting_sentence(why)


def test_a_pod_that_stays_is_not_asked_to_end() -> None:
    """One of a DaemonSet comes back at once."""
    fleet = Fleet().reported("a", with_pods("strict", pod("train", "6", gpus=2), pod("other", "6", gpus=1)))
    why = why_waiting(
        fleet, pod("new", "2", gpus=2), VerdictMemory(), WhyMemory(), stays=lambda own: own.uid == "other"
    )
    assert [end.uid for end in why.ends] == ["train"]


def test_long_names_do_not_make_a_sentence_too_long() -> None:
    large = replace(pod("train", "6", gpus=2), name="x" * 253)
    fleet = Fleet().reported("a", with_pods("strict", large, pod("other", "6", gpus=2)))
    new = pod("new", "2", gpus=2)
    (app,) = new.containers
    told = waiting_sentence(asked(fleet, replace(new, containers=(replace(app, name="y" * 63),))))
    assert len(told) <= MOST_TEXT
