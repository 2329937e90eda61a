"""A node after some of its pods have ended: what is told to be enough is enough, and none of it can be left out."""

import random

import pytest
from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.life import freed
from numafit.fleet.fleet import FleetNode
from numafit.fleet.orders import promise_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.ends import holders, needed_ends, same_when_empty, state_emptied, state_without
from tests.fleet.fleets import ALLOCATABLE, pod, started, state_by_chance

KINDS = {"strict": started("single-numa-node"), "restricted": started("restricted", gpus=1)}


@pytest.mark.parametrize("seed", range(40))
def test_needed_ends_are_enough_and_none_can_be_left_out(seed: int) -> None:
    chance = random.Random(seed)
    kind = chance.choice(list(KINDS))
    node, idle = KINDS[kind]
    state = state_by_chance(kind, node, idle, chance, "there")
    new = pod("new", str(chance.choice((6, 7, 8))), f"{chance.choice((1, 12))}Gi", chance.choice((0, 1, 2)))
    found = needed_ends(FleetNode("n", state), promise_of(new), VerdictMemory(), holders(state, (), largest=True))

    def takes(gone: list[str]) -> bool:
        ledger = state.ledger
        for uid in gone:
            ledger = freed(node, ledger, uid)
        return decide(node, ledger, new, ALLOCATABLE, evicts=False).admitted

    if found is None:
        assert not takes(list(state.ledger.active))
        return
    uids = [own.uid for own in found]
    assert takes(uids)
    assert not any(takes([uid for uid in uids if uid != left]) for left in uids)
    if len(uids) > 1:
        assert not any(takes([uid]) for uid in state.ledger.active)


@pytest.mark.parametrize("seed", range(10))
def test_a_node_without_its_pods_is_as_one_that_never_had_them(seed: int) -> None:
    chance = random.Random(seed)
    node, idle = KINDS["strict"]
    state = state_by_chance("strict", node, idle, chance, "there")
    other = state_by_chance("strict", node, idle, chance, "other")
    assert state_emptied(state).key == state_emptied(other).key
    assert same_when_empty(state, other)
    assert state_without(state, list(state.ledger.active)).key == state_emptied(state).key


def test_those_of_least_priority_end_first_and_static_ones_never() -> None:
    node, idle = KINDS["strict"]
    ledger = idle
    pods = [
        pod("small", "2"),
        pod("large", "4"),
        replace(pod("urgent", "1"), priority=10),
        replace(pod("static", "1"), static=True),
    ]
    state = state_without(state_by_chance("strict", node, ledger, random.Random(0), "x"), [])
    state = replace(state, ledger=replace(state.ledger, active={own.uid: own for own in pods}))
    assert [own.uid for own in holders(state, ("cpu",))] == ["small", "large", "urgent"]
    assert [own.uid for own in holders(state, ("cpu",), largest=True)] == ["large", "small", "urgent"]
    assert holders(state, ("example.com/gpu",)) == []
