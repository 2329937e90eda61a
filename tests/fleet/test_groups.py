"""Groups of nodes that stand alike, and the order of them that is kept from one question to the next."""

import random

import pytest

from numafit.fleet.fleet import Fleet
from numafit.fleet.groups import MOST_STEPS, StandingGroups
from numafit.fleet.places import places
from numafit.fleet.state import Standing
from numafit.fleet.verdicts import VerdictMemory, shape_digest
from tests.fleet.fleets import pod, pod_by_chance, started, state_by_chance


def standing(number: int) -> Standing:
    return Standing(bytes([number]), (), (), True)


@pytest.mark.parametrize("seed", range(20))
def test_what_has_changed_since_a_moment_is_known_or_not_told(seed: int) -> None:
    """Whoever changes only what is named has the groups as they are."""
    chance = random.Random(seed)
    where: dict[str, Standing] = {}
    history = [StandingGroups()]
    for _ in range(40):
        name = f"n{chance.randrange(8)}"
        old = where.pop(name, None)
        new = standing(chance.randrange(6)) if chance.random() < 0.8 else None
        if new is not None:
            where[name] = new
        history.append(history[-1].moved([(name, old, new)]))
        expected: dict[Standing, tuple[str, ...]] = {}
        for node in sorted(where):
            expected[where[node]] = (*expected.get(where[node], ()), node)
        assert history[-1] == expected
    last = history[-1]
    for before in history:
        changed = last.changed_since(before.moment)
        if changed is not None:
            assert {own for own in {*before, *last} if before.get(own) != last.get(own)} <= set(changed)
    assert last.changed_since(history[-1 - MOST_STEPS // 2].moment) is not None
    assert last.changed_since(StandingGroups().moment) is None


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("most", [1, 3])
def test_an_order_that_is_kept_up_to_date_answers_as_one_that_is_made_anew(seed: int, most: int) -> None:
    chance = random.Random(seed)
    node = started("single-numa-node")
    fleet, memory = Fleet(), VerdictMemory()
    for number in range(12):
        fleet = fleet.reported(f"n{number}", state_by_chance("kind", *node, chance, f"{number}"))
    for number in range(40):
        own = pod_by_chance(f"new-{number}", chance)
        found = places(fleet, own, memory, most)
        assert found == places(fleet, own, VerdictMemory(), most)
        name = f"n{chance.randrange(12)}"
        if found.places and chance.random() < 0.7:
            fleet = fleet.offered(own, [place.node for place in found.places])
        elif chance.random() < 0.3:
            fleet = fleet.removed(name)
        else:
            state = state_by_chance("kind", *node, chance, f"{number}-again")
            fleet = fleet.reported(name, state, schedulable=chance.random() < 0.9)
        if number == 20:
            # What was measured of the nodes may be forgotten at any time.
            memory._free.clear()


def test_equal_pods_have_one_digest_whether_or_not_they_share_their_parts() -> None:
    """Parts that are known by where they are belong to pods that still could be."""
    digests = {shape_digest(pod(f"p{number}", str(1 + number % 3))) for number in range(5000)}
    assert len(digests) == 3
    assert shape_digest(pod("other", "2")) in digests
