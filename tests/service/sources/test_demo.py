"""The demonstration: a life that the engine decides, the same for the same seed."""

import asyncio

from numafit.decision.decide import decide
from numafit.machine.catalogue.names import catalogue
from numafit.service.node import Change
from numafit.service.sources.demo import FIRST_EVENTS, Demo


def life(demo: Demo, events: int) -> list[Change]:
    return [change for _ in range(events) for change in demo.events()]


def test_the_same_seed_lives_the_same_life() -> None:
    """Names, verdicts and placements; only the times differ."""
    lives = [
        [(one.happened.name, one.happened.sentence) for one in life(Demo(seed=7), 50) if one.happened] for _ in range(2)
    ]
    assert lives[0] == lives[1]
    assert lives[0] != [(one.happened.name, one.happened.sentence) for one in life(Demo(seed=8), 50) if one.happened]


def test_every_decision_is_one_of_the_engine() -> None:
    """Decided again from the ledger before, it comes out the same."""
    demo = Demo(seed=3)
    before = demo.stage
    for change in life(demo, 40):
        decision = change.happened and change.happened.decision
        if decision:
            assert decide(before.node, before.ledger, decision.pod, before.allocatable) == decision
        before = change.stage


def test_a_decision_comes_with_what_it_stands_on() -> None:
    """Nobody tells the cores of this machine; a pod without CPUs of its own does not depend on them."""
    happened = [change.happened for change in life(Demo("gpu8-128cpu"), 30) if change.happened]
    own = {one.name: {note.code for note in one.notes} for one in happened if one.decision}
    assert any("cores-matter" in codes for codes in own.values())
    assert not any("cores-matter" in codes for name, codes in own.items() if name.startswith("demo/web-"))
    assert all(one.notes == () for one in happened if not one.decision)


def test_a_life_has_admissions_rejections_and_ends() -> None:
    """On the machine that is shown by default; otherwise there would be little to see."""
    happened = [change.happened for change in life(Demo(), 120) if change.happened]
    assert {one.kind for one in happened} == {"pod", "release"}
    assert {one.decision.admitted for one in happened if one.decision} == {True, False}


def test_every_machine_of_the_catalogue_can_be_lived_on() -> None:
    """With or without GPUs, with 1 to 34 NUMA nodes."""
    for name in catalogue():
        verdicts = [
            one.happened.decision.admitted for one in life(Demo(name), 30) if one.happened and one.happened.decision
        ]
        assert any(verdicts), name


def test_the_first_picture_shows_something() -> None:
    """Some events are played at once."""

    async def first() -> list[Change]:
        changes = Demo().changes()
        return [await anext(changes) for _ in range(FIRST_EVENTS)]

    assert asyncio.run(first())[-1].stage.ledger.active


def test_those_who_are_gone_are_forgotten() -> None:
    """What is remembered of holders does not grow with the life."""
    demo = Demo(seed=2)
    life(demo, 300)
    assert len(demo.known) <= 30
