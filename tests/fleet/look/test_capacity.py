"""How many more fit: as if each node had been filled by itself."""

import random

import pytest

from numafit.advice.fit import count_fits
from numafit.decision.stage import Stage
from numafit.fleet.fleet import Fleet
from numafit.fleet.look.capacity import count_in_fleet
from numafit.fleet.places import UNSCHEDULABLE
from numafit.fleet.state import state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.settings.config import KubeletConfig
from numafit.settings.facts import NodeFacts, Taint
from tests.fleet.fleets import ALLOCATABLE, pod, pod_by_chance, started, state_by_chance

KINDS = {"strict": started("single-numa-node"), "loose": started("best-effort")}


@pytest.mark.parametrize("seed", range(10))
def test_a_fleet_takes_as_many_as_its_nodes_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    fleet, states = Fleet(), {}
    for number in range(6):
        kind = chance.choice(list(KINDS))
        states[f"n{number}"] = state_by_chance(kind, *KINDS[kind], chance, f"{number}")
        fleet = fleet.reported(f"n{number}", states[f"n{number}"])
    shape = pod_by_chance("new", chance)
    counted = count_in_fleet(fleet, shape, VerdictMemory())
    by_name = {name: own.count for own in counted.counts for name in own.nodes}
    expected = {}
    for name, own in states.items():
        stage = Stage(own.node, own.ledger, ALLOCATABLE, KubeletConfig())
        expected[name] = count_fits(stage, [shape]).counts[0].admitted
    assert by_name == expected
    assert counted.total == sum(expected.values())


def test_nodes_that_stand_alike_are_counted_once_and_told_together() -> None:
    fleet = Fleet()
    for number in range(50):
        fleet = fleet.reported(f"n{number:02}", state_of("strict", *KINDS["strict"], ALLOCATABLE))
    memory, done = VerdictMemory(), []
    counted = count_in_fleet(fleet, pod("x", "4"), memory, done.append)
    assert [(len(own.nodes), own.count) for own in counted.counts] == [(50, 3)]
    assert counted.counts[0].sentence
    assert (counted.total, counted.nodes, sum(done), memory.decided) == (150, 50, 50, 1)


def test_cordoned_and_tainted_nodes_take_none_and_what_is_promised_counts() -> None:
    state = state_of("strict", *KINDS["strict"], ALLOCATABLE)
    fleet = Fleet().reported("a", state).reported("b", state, schedulable=False)
    fleet = fleet.reported("c", state, NodeFacts("c", {}, (Taint("gpu", "", "NoSchedule"),)))
    fleet = fleet.reported("d", state).bound(pod("there", "8"), "d")
    counted = count_in_fleet(fleet, pod("x", "4"), VerdictMemory())
    assert {own.nodes: own.count for own in counted.counts} == {("a",): 3, ("b",): 0, ("c",): 0, ("d",): 1}
    assert {own.reason for own in counted.counts if own.nodes == ("b",)} == {UNSCHEDULABLE}


def test_a_resource_that_no_node_offers_fits_nowhere() -> None:
    fleet = Fleet().reported("a", state_of("none", *started("none", gpus=0), ALLOCATABLE))
    counted = count_in_fleet(fleet, pod("x", "1", gpus=1), VerdictMemory())
    assert (counted.total, counted.nodes) == (0, 0)
    assert "offers no" in counted.counts[0].sentence
