"""What the kubelet leaves to chance, and what else could have come out."""

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.doubt.chance import FOLLOWS, chance_notes, others, others_of_run
from numafit.decision.history.event import AddPods, RestartKubelet
from numafit.decision.history.situation import situation_of
from numafit.decision.simulation import Simulation, play, play_events
from numafit.ledger.ledger import Ledger
from numafit.machine.catalogue.names import machine_named
from numafit.machine.gpu_sets import pairs_of, preferred_set, preferred_sets
from numafit.managers.device.plugin import plugins_of
from numafit.managers.protocol import Choices, WatchedChoices
from numafit.quantity import parse_quantity
from numafit.workload.pod import CRITICAL, Pod
from tests.advice.stages import stage
from tests.decision.strategies import GI, GPU, NIC, OFTEN, Ordered, box, container, gpus, nodes, pod, pods, running
from tests.decision.strategies import settings as kubelet

FOUR = box(2, 8, 2, memory=16 * GI, devices=gpus(0, 0, 0, 1))


def wants(uid: str, count: int) -> Pod:
    return pod(uid, container("app", {GPU: str(count)}))


def held(decision: Decision) -> tuple[str, ...]:
    return tuple(decision.containers["app"].devices.get(GPU, {}))


def test_any_of_equal_devices_may_be_given() -> None:
    """Three GPUs on NUMA node 0, two of them wanted."""
    on = stage(FOUR)
    simulation = on.play([wants("a", 2)])
    [found] = others_of_run(simulation, 5).values()
    assert ([held(decision) for decision in found.decisions], found.extent) == (
        [("GPU0", "GPU2"), ("GPU1", "GPU2")],
        "all",
    )
    assert others_of_run(simulation, 1)[0].extent == "more"
    [note] = chance_notes(simulation)
    assert (note.code, note.about) == ("left-to-chance", "default/pod-a")
    assert note.text == "which 2 of 3 nvidia.com/gpu it gets is left to chance (`simulate --outcomes 5` lists others)"


def test_the_last_device_is_no_choice_and_follows_from_one() -> None:
    """What is left for the second pod is what chance left."""
    on = stage(FOUR)
    simulation = on.play([wants("a", 2), wants("b", 1), pod("c", container("app", {"cpu": "100m"}))])
    notes = chance_notes(simulation)
    assert [(note.about, note.text == FOLLOWS) for note in notes] == [
        ("default/pod-a", False),
        ("default/pod-b", True),
    ]
    assert list(others_of_run(simulation, 5)) == [0]


@pytest.mark.parametrize("asked", [wants("a", 3), wants("a", 9), pod("a", container("app", {"cpu": "1"}))])
def test_what_has_one_outcome_is_not_left_to_chance(asked: Pod) -> None:
    """All of them, more than there are, or none."""
    on = stage(FOUR)
    simulation = on.play([asked])
    assert chance_notes(simulation) == ()
    assert others_of_run(simulation, 5) == {}


def test_the_order_of_resources_is_chance_only_where_one_fails() -> None:
    """Both succeed in any order; if one must fail, whose failure is told depends on the order."""
    node, ledger = running(FOUR, kubelet())
    both = pod("a", container("app", {GPU: "1", NIC: "1"}))
    watched = WatchedChoices()
    admit(node, ledger, both, watched)
    assert [draw.kind for draw in watched.draws] == ["devices"]


def test_the_plugin_of_nvidia_may_prefer_any_of_the_best_sets() -> None:
    """All GPUs of a DGX H100 are equally near on one NUMA node: pairs of four, by chance."""
    machine = machine_named("dgx-h100")
    node, ledger = running(machine, kubelet(topology="single-numa-node"), plugins_of(machine))

    def again(choices: Choices) -> Decision:
        return admit(node, ledger, wants("a", 2), choices)

    found = others(again(Choices()), again, 20)
    pairs = {held(decision) for decision in (again(Choices()), *found.decisions)}
    assert (pairs, found.extent) == (set(combinations(("GPU0", "GPU1", "GPU2", "GPU3"), 2)), "all")


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["p100-28cpu", "gpu8-128cpu", "dgx-a100", "hgx-a100-4numa"]), st.data())
def test_the_answers_of_the_plugin_are_those_for_all_orders(name: str, data: st.DataObject) -> None:
    """Each order in which up to five GPUs are offered is tried: these answers come, and no others."""
    pairs = pairs_of(machine_named(name))
    offered = data.draw(st.lists(st.integers(0, len(pairs.gpus) - 1), unique=True, min_size=1, max_size=5))
    size = data.draw(st.integers(1, len(offered)))
    required = data.draw(st.lists(st.sampled_from(offered), unique=True, max_size=1))
    answers = [frozenset(chosen) for chosen in preferred_sets(pairs, size, offered, required)]
    assert answers[0] == frozenset(preferred_set(pairs, size, offered, required))
    assert len(answers) == len(set(answers))
    assert set(answers) == {frozenset(preferred_set(pairs, size, order, required)) for order in permutations(offered)}


@settings(max_examples=60, deadline=None)
@given(nodes(), st.lists(pods("x", devices=OFTEN), min_size=1, max_size=4))
def test_no_outcome_comes_twice_and_none_without_a_draw(ordered: Ordered, asked: list[Pod]) -> None:
    """A decision without draws is the same whatever is chosen, and a note tells of each that has others."""
    node, ledger = running(ordered.machine, ordered.settings, ordered.plugins)
    events = [AddPods((replace(each, uid=f"uid-{i}", name=f"pod-{i}"),)) for i, each in enumerate(asked)]
    simulation = play_events(situation_of(node, ledger, None), events)
    found = others_of_run(simulation, 4)
    noted = {note.about for note in chance_notes(simulation)}
    for number, step in enumerate(simulation.steps):
        before = step.before
        assert before is not None

        def again(choices: Choices, before: Ledger = before, asked: Pod = step.decision.pod) -> Decision:
            return decide(node, before, asked, {}, choices)

        own = others(step.decision, again, 4)
        if own.decisions:
            assert step.draws
            assert found[number] == own
            assert step.decision.pod.full_name in noted
        outcomes = [told(decision) for decision in (step.decision, *own.decisions)]
        assert all(one != other for one, other in combinations(outcomes, 2))


def told(decision: Decision) -> tuple[object, ...]:
    held = decision.containers if decision.admitted else None
    return decision.admitted, decision.reason, decision.message, decision.panic, held


def test_each_of_equal_pods_may_be_the_one_that_goes_for_a_critical_one() -> None:
    on = stage(FOUR)
    offered = {**on.allocatable, "pods": parse_quantity("3")}
    equals = [pod(uid, container("app", {})) for uid in ("a", "b", "c")]
    critical = replace(pod("vip", container("app", {})), priority=CRITICAL)
    simulation = play(on.node, on.ledger, (*equals, critical), offered)
    found = others_of_run(simulation, 5)
    number = next(i for i, step in enumerate(simulation.steps) if step.decision.pod.uid == "vip")
    assert [victim.pod.uid for victim in simulation.steps[number].decision.evicted] == ["c"]
    assert [[victim.pod.uid for victim in each.evicted] for each in found[number].decisions] == [["b"], ["a"]]
    assert found[number].extent == "all"
    (note,) = chance_notes(simulation)
    assert note.text.startswith("which of 3 equal pods is evicted for it is left to chance")


def test_a_search_that_is_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    on = stage(FOUR)
    simulation = on.play([wants("a", 2)])
    monkeypatch.setattr("numafit.decision.doubt.chance.MOST_TRIES", 2)
    found = others_of_run(simulation, 5)[0]
    assert (len(found.decisions), found.extent) == (1, "not searched")


def test_a_restart_is_played_without_others() -> None:
    """What was given before stays, so nothing is drawn."""
    on = stage(FOUR)
    asked = wants("a", 2)
    simulation: Simulation = play_events(on.situation, [AddPods((asked,)), RestartKubelet()])
    assert [bool(step.draws) for step in simulation.steps] == [True, False]
    assert decide(on.node, on.ledger, asked, on.allocatable).admitted
