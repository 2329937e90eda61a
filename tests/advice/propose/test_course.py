"""Advice for many pods: equal ones are advised once, and nothing that is left out changes what is said."""

from collections.abc import Collection, Mapping, Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.propose import course, kubelet
from numafit.advice.propose.advise import Advice, advise
from numafit.advice.propose.trial import Trial
from numafit.decision import admit as engine
from numafit.decision.node import Node
from numafit.decision.simulation import play
from numafit.decision.stage import Stage
from numafit.decision.verdicts import Verdicts
from numafit.ledger.ledger import Ledger
from numafit.quantity import Quantity
from numafit.workload.pod import Pod
from tests.advice.stages import stage, stages
from tests.decision.strategies import GI, MI, box, container, cpus, pod, pods


def plain_verdicts(
    node: Node,
    ledger: Ledger,
    played: Sequence[Pod],
    allocatable: Mapping[str, Quantity],
    *,
    asked: Collection[int] = (),
    **_: object,
) -> Verdicts:
    """Every pod is decided, and nothing ends early."""
    decisions = [step.decision for step in play(node, ledger, played, allocatable).steps]
    return Verdicts(
        frozenset(i for i, decision in enumerate(decisions) if decision.admitted),
        len(decisions),
        bool(decisions and decisions[-1].panic),
        {i: decisions[i] for i in asked if i < len(decisions)},
    )


def said(advices: Sequence[Advice]) -> list[object]:
    return [
        (
            advice.decision.pod.uid,
            advice.fault,
            advice.why,
            advice.same,
            [
                (each.kind, each.text, each.aligned, each.loses, each.loss, [one.containers for one in each.decisions])
                for each in advice.proposals
            ],
        )
        for advice in advices
    ]


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Stage, list[Pod], dict[str, str]]:
    """Up to nine pods of up to three shapes, some of them made by one object."""
    shapes = [draw(pods(f"shape-{i}")) for i in range(draw(st.integers(1, 2)))]
    shapes.append(pod("free", container("app", {}, requests={"cpu": "1"})))
    chosen = draw(st.lists(st.integers(0, len(shapes) - 1), min_size=1, max_size=9))
    played = [replace(shapes[shape], uid=f"uid-{i}", name=f"pod-{i}") for i, shape in enumerate(chosen)]
    together = draw(st.sets(st.integers(0, len(shapes) - 1)))
    makers = {f"uid-{i}": f"Job/{shape}" for i, shape in enumerate(chosen) if shape in together}
    return draw(stages()), played, makers


@settings(max_examples=12, deadline=None)
@given(crowds())
def test_the_quick_way_says_what_the_plain_way_says(crowd: tuple[Stage, list[Pod], dict[str, str]]) -> None:
    """The plain way decides every pod of every trial, and looks at all of a template even if it cannot fit."""
    on, played, makers = crowd
    quick = said(advise(on, played, makers))
    with (
        patch.object(course, "verdicts", plain_verdicts),
        patch.object(kubelet, "verdicts", plain_verdicts),
        patch.object(Trial, "_too_many", lambda self, pod: False),
    ):
        assert quick == said(advise(on, played, makers))


@settings(max_examples=6, deadline=None)
@given(crowds())
def test_each_pod_with_a_fault_is_spoken_for(crowd: tuple[Stage, list[Pod], dict[str, str]]) -> None:
    """Who stands under another's advice has its shape and its fault; asked by itself it gets its own."""
    on, played, _ = crowd
    advices = advise(on, played)
    by_name = {each.full_name: each for each in played}
    for advice in advices:
        for name in advice.same:
            (own,) = advise(on, played, only=by_name[name].uid)
            assert own.fault == advice.fault
            assert own.decision.pod.containers == advice.decision.pod.containers
    spoken = [name for advice in advices for name in (advice.decision.pod.full_name, *advice.same)]
    steps = on.play(played).steps
    assert sorted(spoken) == sorted(step.decision.pod.full_name for step in steps)


def test_the_work_grows_with_the_shapes_and_not_with_the_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred times as many pods of three shapes, of which nearly all are rejected: the same decisions, counted."""
    asked: list[str] = []
    admit = engine.admit

    def counting(node: Node, ledger: Ledger, wanted: Pod, *rest: object) -> object:
        asked.append(wanted.uid)
        return admit(node, ledger, wanted, *rest)  # type: ignore[arg-type]

    for module in ("numafit.decision.decide", "numafit.decision.verdicts"):
        monkeypatch.setattr(f"{module}.admit", counting)
    counts = []
    for number in (30, 3000):
        on = stage(max_pods=10_000)
        shapes = [pod("a", cpus("app", "3")), pod("b", cpus("app", "9")), pod("c", cpus("app", "5"))]
        played = [replace(shapes[i % 3], uid=f"uid-{i}", name=f"pod-{i}") for i in range(number)]
        simulation = on.play(played)
        asked.clear()
        advices = advise(on, played, simulation=simulation)
        counts.append(len(asked))
        assert sum(len(advice.same) + 1 for advice in advices) == number
    assert counts[1] == counts[0]


def test_pods_behind_a_crash_are_named() -> None:
    """A kubelet with huge pages on one NUMA node only crashes when a pod asks for that size (1.21 to 1.36)."""
    machine = box(2, 8, 2, memory=16 * GI)
    first, second = machine.numa_nodes
    on = stage(replace(machine, numa_nodes=(replace(first, hugepages={2 * MI: 64}), second)))
    wanted = {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "2Mi"}
    played = [pod("a", cpus("app", "2")), pod("b", container("app", wanted)), pod("c", cpus("app", "2"))]
    simulation = on.play(played)
    advices = advise(on, played, simulation=simulation)
    assert [advice.fault for advice in advices] == ["", "the kubelet would crash"]
    assert simulation.undecided == (played[2],)
