"""Pods that start together: all of them find a node, or none is offered one."""

import random
from itertools import permutations

import pytest

from numafit.fleet.fleet import Fleet
from numafit.fleet.state import state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.groups import GroupPod, PodGroupState, assign_group, group_sentence, groups_of
from numafit.fleet.waiting.members import NeededNumber
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, pod_by_chance, started, state_by_chance

KINDS = {"strict": started("single-numa-node"), "restricted": started("restricted", gpus=1)}
NODE, IDLE = KINDS["strict"]


def idle(*names: str) -> Fleet:
    fleet = Fleet()
    for name in names:
        fleet = fleet.reported(name, state_of("strict", NODE, IDLE, ALLOCATABLE))
    return fleet


@pytest.mark.parametrize("seed", range(30))
def test_a_group_is_placed_whole_or_not_at_all(seed: int) -> None:
    """Each node admits what is offered to it, in every order."""
    chance = random.Random(seed)
    fleet = Fleet()
    for number in range(chance.randrange(1, 6)):
        kind = chance.choice(list(KINDS))
        fleet = fleet.reported(f"n{number}", state_by_chance(kind, *KINDS[kind], chance, f"{number}"))
    one = pod_by_chance("g", chance)
    pods = [
        pod(f"g{number}", "4", gpus=1)
        if chance.random() < 0.5
        else type(one)(f"g{number}", f"g{number}", one.containers)
        for number in range(chance.randrange(2, 5))
    ]
    found = assign_group(fleet, pods, VerdictMemory())
    if not found.nodes:
        assert found.fleet is fleet
        assert found.refused is not None
        assert found.found < len(pods)
        return
    assert found.nodes.keys() == {own.uid for own in pods}
    assert found.fleet.offers.keys() == found.nodes.keys()
    for name, node in found.fleet.nodes.items():
        there = [own for own in pods if found.nodes[own.uid] == (name,)]
        for order in permutations(there):
            assert admitted_all(node.state.node, node.state.ledger, order) is not None


def test_two_groups_never_hold_a_half_each() -> None:
    """Four large pods fit in all, and each group has three."""
    fleet, memory = idle("a", "b"), VerdictMemory()
    groups = [[pod(f"{name}{number}", "6", gpus=2) for number in range(3)] for name in "xy"]
    started_groups = 0
    for _ in range(3):
        for own in groups:
            found = assign_group(fleet, own, memory)
            if found.nodes and own[0].uid not in fleet.offers:
                fleet, started_groups = found.fleet, started_groups + 1
    assert started_groups == 1
    assert len(fleet.offers) == 3


def test_many_alike_on_one_node_are_a_group_like_any_other() -> None:
    fleet = idle("a")
    assert len(assign_group(fleet, [pod(f"g{number}") for number in range(7)], VerdictMemory()).nodes) == 7
    assert not assign_group(fleet, [pod(f"g{number}") for number in range(8)], VerdictMemory()).nodes


def test_more_pods_than_are_needed_go_as_far_as_there_is_room() -> None:
    fleet = idle("a")
    pods = [pod(f"g{number}", "6", gpus=2) for number in range(3)]
    assert not assign_group(fleet, pods, VerdictMemory()).nodes
    found = assign_group(fleet, pods, VerdictMemory(), needed=2)
    assert (len(found.nodes), found.refused) == (2, pods[2])
    nowhere = assign_group(Fleet(), pods, VerdictMemory())
    assert (nowhere.found, nowhere.refused) == (0, pods[0])


def number(size: int) -> NeededNumber:
    return NeededNumber("ns/group/g", "g", size)


def state(*pods: GroupPod) -> PodGroupState:
    (found,) = groups_of(pods).values()
    return found


def test_a_group_waits_until_all_are_there() -> None:
    some = state(*(GroupPod(f"{own}", number(4), True) for own in range(3)))
    assert (some.ready, some.missing) == (False, 1)
    assert group_sentence(some) == "3 of 4 pods of group g are there; it starts when all are."
    whole = state(*(GroupPod(f"{own}", number(4), True) for own in range(4)))
    assert (whole.ready, whole.needed) == (True, 4)
    assert (
        group_sentence(whole, 1, "And so on.")
        == "1 of the 4 pods of group g that start together have room now. And so on."
    )
    assert groups_of([GroupPod("alone", number(1), True)]) == {}


def test_a_pod_that_waits_for_others_first_is_there_and_not_placed() -> None:
    """Kueue has not let it go yet: the group is complete, and one less can be placed."""
    own = state(GroupPod("a", number(2), True), GroupPod("b", number(2), False))
    assert (own.there, own.needed, own.waiting) == (2, 1, ("a",))


def test_who_replaces_one_of_a_group_that_runs_waits_for_nobody() -> None:
    own = state(GroupPod("a", number(4), False, bound=True), GroupPod("b", number(4), True))
    assert (own.ready, own.needed, own.started) == (True, 1, True)


def test_pods_that_do_not_agree_on_the_size_are_told_so() -> None:
    own = state(GroupPod("a", number(2), True), GroupPod("b", number(3), True), GroupPod("c", number(3), True))
    assert not own.ready
    assert group_sentence(own) == "The pods of group g do not agree on its size (2 and 3), so that none of them starts."
