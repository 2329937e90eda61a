"""Static pods come in any order when a kubelet starts: who could have got whose place."""

import time
from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.doubt.chance import (
    BY_ORDER_ADMITTED,
    FOLLOWS,
    chance_notes,
    chance_sentences,
    others_of_run,
)
from numafit.decision.doubt.orders import decided
from numafit.decision.doubt.other import Others
from numafit.decision.doubt.script import ScriptedChoices
from numafit.decision.history.event import AddPods, RestartKubelet, StartKubelet, StopKubelet
from numafit.decision.history.happen import happen
from numafit.decision.history.step import Step
from numafit.decision.simulation import Simulation, play_events
from numafit.managers.protocol import Choices
from numafit.quantity import parse_quantity
from numafit.workload.pod import Pod
from tests.advice.stages import stage
from tests.decision.strategies import GI, GPU, box, container, gpus, pod

FOUR = box(2, 8, 2, memory=16 * GI, devices=gpus(0, 0, 0, 1))
Came = dict[str, tuple[object, ...]]
"""Pod UID -> what was decided on it."""


def static(uid: str, cpu: str, **more: str) -> Pod:
    return replace(pod(uid, container("app", more, requests={"cpu": cpu, **more})), static=True)


def restarted(cpus: str, *pods: Pod) -> Simulation:
    on = stage(FOUR)
    begin = replace(on.situation, allocatable={**on.allocatable, "cpu": parse_quantity(cpus)})
    return play_events(begin, [*(AddPods((each,)) for each in pods), RestartKubelet()])


def came(steps: Sequence[Step]) -> Came:
    return {step.decision.pod.uid: decided(step.decision) for step in steps}


def found_at_the_end(simulation: Simulation, most: int) -> Others | None:
    return others_of_run(simulation, most).get(len(simulation.steps) - len(simulation.happened[-1].steps))


def outcomes(simulation: Simulation, found: Others | None) -> list[Came]:
    """The shown one first."""
    shown = came(simulation.happened[-1].steps)
    others = () if found is None else found.found
    return [shown, *({**shown, **{each.pod.uid: decided(each) for each in other.decisions}} for other in others)]


def played(simulation: Simulation, script: Sequence[int], order: Sequence[str]) -> tuple[Came, list[int] | None]:
    """The last event once more, and the next script."""
    choices = ScriptedChoices(script, order)
    makers = iter([Choices()])
    last = simulation.happened[-1]
    steps = happen(simulation.happened[-2].after, last.event, lambda: next(makers, choices)).steps
    return came(steps), choices.following()


def brute_force(simulation: Simulation) -> list[Came]:
    uids = [step.decision.pod.uid for step in simulation.happened[-1].steps if step.decision.pod.static]
    found: list[Came] = []
    for order in permutations(uids):
        script: list[int] | None = []
        while script is not None:
            own, script = played(simulation, script, order)
            if own not in found:
                found.append(own)
    return found


def test_a_pod_that_was_rejected_may_take_the_place_of_one_that_ran() -> None:
    simulation = restarted("5", static("a", "2"), static("b", "3"), static("c", "3"))
    found = found_at_the_end(simulation, 5)
    assert found is not None
    (other,) = found.found
    assert [(each.pod.uid, each.admitted) for each in other.decisions] == [("c", True), ("b", False)]
    (depends,) = other.depends
    assert depends.taken == ("default/pod-a", "default/pod-c", "default/pod-b")
    assert depends.instead == ("default/pod-a", "default/pod-b", "default/pod-c")
    assert found.extent == "all"


def test_a_note_tells_of_those_whose_place_depends_on_the_order() -> None:
    simulation = restarted("5", static("a", "2"), static("b", "3"), static("c", "3"))
    notes = {note.about: note.text for note in chance_notes(simulation)}
    text = f"at event 4, {BY_ORDER_ADMITTED} (`simulate --outcomes 5` lists others)"
    assert notes == {"default/pod-b": text, "default/pod-c": text}


def test_what_comes_after_it_follows_from_it() -> None:
    """With c in the place of b there is a CPU more for d."""
    before = restarted("6", static("a", "2"), static("b", "4"), static("c", "3"))
    late = pod("d", container("app", {}, requests={"cpu": "1"}))
    simulation = play_events(before.begin, [*before.events, AddPods((late,))])
    assert not simulation.steps[-1].decision.admitted
    assert chance_sentences(simulation)[len(simulation.steps) - 1] == FOLLOWS


def test_where_all_keep_their_places_no_order_matters() -> None:
    simulation = restarted("8", static("a", "2"), static("b", "3"), static("c", "3"))
    assert all(step.draws for step in simulation.steps[3:])
    assert others_of_run(simulation, 5) == {}
    assert chance_notes(simulation) == ()


def test_devices_of_a_pod_that_came_while_the_kubelet_was_down_are_drawn_at_its_start() -> None:
    """Two of the three GPUs of NUMA node 0."""
    waiting = pod("a", container("app", {GPU: "2"}))
    simulation = play_events(stage(FOUR).situation, [StopKubelet(), AddPods((waiting,)), StartKubelet()])
    found = found_at_the_end(simulation, 5)
    assert found is not None
    assert [[(own.taken, own.instead) for own in other.depends] for other in found.found] == [
        [(("GPU0", "GPU2"), ("GPU0", "GPU1"))],
        [(("GPU1", "GPU2"), ("GPU0", "GPU1"))],
    ]
    (note,) = chance_notes(simulation)
    assert note.text.startswith("which 2 of 3 nvidia.com/gpu it gets is left to chance")


def test_many_static_pods_that_keep_their_places_hide_no_draw_of_another_pod() -> None:
    """Thirty of them have too many orders to try, and none of these matters."""
    there = [AddPods((static(f"s{number:02}", "100m"),)) for number in range(30)]
    waiting = pod("a", container("app", {GPU: "2"}))
    simulation = play_events(stage(FOUR).situation, [*there, StopKubelet(), AddPods((waiting,)), StartKubelet()])
    found = found_at_the_end(simulation, 5)
    assert found is not None
    assert (len(found.found), found.extent) == (2, "all")


@st.composite
def starts(draw: st.DrawFn) -> Simulation:
    """Two to four pods, of which some come while the kubelet is down."""
    pods = []
    for number in range(draw(st.integers(2, 4))):
        more = draw(st.sampled_from([{}, {}, {GPU: "1"}, {GPU: "2"}]))
        own = static(f"s{number}", draw(st.sampled_from(["1500m", "2", "3", "5"])), **more)
        if draw(st.booleans()):
            size = {"cpu": draw(st.sampled_from(["2", "4"])), "memory": draw(st.sampled_from(["1Gi", "10Gi"]))}
            own = replace(own, containers=(container("app", {**size, **more}),))
        pods.append(replace(own, static=draw(st.sampled_from([True, True, True, False]))))
    down = draw(st.integers(0, len(pods)))
    events = [AddPods((each,)) for each in pods]
    on = stage(FOUR)
    cpus = parse_quantity(draw(st.sampled_from(["6", "9", "15"])))
    begin = replace(on.situation, allocatable={**on.allocatable, "cpu": cpus})
    return play_events(begin, [*events[:down], StopKubelet(), *events[down:], StartKubelet()])


@settings(max_examples=60, deadline=None)
@given(starts())
def test_those_that_are_said_to_be_all_are_all_and_each_can_be(simulation: Simulation) -> None:
    """By brute force: each order of the static pods with each draw. None is listed twice, nor the one that is shown."""
    found = found_at_the_end(simulation, 200)
    assert found is None or found.extent == "all"
    listed = outcomes(simulation, found)
    all_of_them = brute_force(simulation)
    assert len(listed) == len(all_of_them)
    assert all(own in all_of_them for own in listed)
    assert all(own not in listed[:number] for number, own in enumerate(listed))


@settings(max_examples=40, deadline=None)
@given(starts())
def test_the_order_that_an_outcome_depends_on_leads_to_it(simulation: Simulation) -> None:
    """Where nothing else depends on chance."""
    found = found_at_the_end(simulation, 200)
    uids = {step.decision.pod.full_name: step.decision.pod.uid for step in simulation.happened[-1].steps}
    for other, outcome in zip(found.found if found else (), outcomes(simulation, found)[1:], strict=True):
        assert other.depends
        if [own.draw.kind for own in other.depends] == ["pods"]:
            own, _ = played(simulation, (), [uids[name] for name in other.depends[0].taken])
            assert own == outcome


@pytest.mark.parametrize(("cpus", "extent"), [("20", None), ("9900m", "more"), ("8", "more")])
def test_a_hundred_static_pods_take_seconds(cpus: str, extent: str | None) -> None:
    simulation = restarted(cpus, *(static(f"s{number}", "100m") for number in range(100)))
    begin = time.perf_counter()
    found = found_at_the_end(simulation, 5)
    noted = chance_notes(simulation)
    assert time.perf_counter() - begin < 20
    assert (None if found is None else found.extent) == extent
    assert bool(noted) == (extent is not None)


def test_a_search_that_ends_before_all_orders_were_tried_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = restarted("5", static("a", "2"), static("b", "3"), static("c", "3"))
    monkeypatch.setattr("numafit.decision.doubt.chance.MOST_DECISIONS", 6)
    found = found_at_the_end(simulation, 5)
    assert found is not None
    assert found.extent == "not searched"
