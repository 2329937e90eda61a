"""What a story claims is so."""

from collections.abc import Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.life import release, start_containers
from numafit.decision.node import Node
from numafit.decision.story.story import Story, story_of
from numafit.errors import StartError
from numafit.machine.model import Device
from numafit.quantity import parse_quantity
from numafit.workload.pod import CRITICAL, Container, Pod, PodResources
from tests.decision.lives import restart_with
from tests.decision.story.false_claims import false_stories
from tests.decision.story.truth import check_evictions, check_story
from tests.decision.strategies import OFTEN, SELDOM, Ordered, Step, amounts, histories, nodes
from tests.decision.test_laws import begun

PAGES = "hugepages-2Mi"
POD_LEVEL = {"PodLevelResources": True, "PodLevelResourceManagers": True}


@st.composite
def odd_nodes(draw: st.DrawFn) -> Ordered:
    """Devices that are ill or sit on several NUMA nodes, more options, and pods that are managed as a whole."""
    ordered = draw(nodes())
    ids = [each.id for each in ordered.machine.numa_nodes]

    def odd(device: Device) -> Device:
        kind = draw(st.integers(0, 9))
        if kind == 0:
            return replace(device, healthy=False)
        return replace(device, numa=tuple(ids[:2])) if kind == 1 else device

    wanted = ordered.settings
    if wanted.cpu_policy == "static" and wanted.version.minor >= 31 and draw(st.integers(0, 2)) == 0:
        gates = {**wanted.gates, "CPUManagerPolicyAlphaOptions": True}
        wanted = replace(wanted, cpu_options={"align-by-socket": "true"}, gates=gates)
    if wanted.version.minor >= 36 and draw(st.booleans()):
        wanted = replace(wanted, gates={**wanted.gates, **POD_LEVEL})
    devices = tuple(map(odd, ordered.machine.devices)) if draw(st.booleans()) else ordered.machine.devices
    return replace(ordered, settings=wanted, machine=replace(ordered.machine, devices=devices))


@st.composite
def odd_histories(draw: st.DrawFn) -> tuple[Step, ...]:
    """Some containers ask for huge pages, some pods as a whole."""
    history = draw(histories(6, draw(st.sampled_from([SELDOM, OFTEN]))))
    return tuple(replace(step, pod=_ranked(draw, _odd(draw, step.pod))) for step in history)


def _ranked(draw: st.DrawFn, pod: Pod) -> Pod:
    """Every third pod is critical."""
    return replace(pod, priority=draw(st.sampled_from([None, 0, 10, 100, CRITICAL, CRITICAL + 1000])))


def _odd(draw: st.DrawFn, pod: Pod) -> Pod:
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return replace(pod, containers=tuple(_with_pages(each) for each in pod.containers))
    if kind == 1:
        whole = amounts(
            {"cpu": draw(st.sampled_from(["3", "4", "6"])), "memory": draw(st.sampled_from(["2Gi", "6Gi"]))}
        )
        return replace(pod, resources=PodResources(whole, whole))
    if kind == 2:
        return replace(pod, containers=tuple(_with_cpus(each) for each in pod.containers))
    return pod


def _with_pages(container: Container) -> Container:
    pages = {PAGES: parse_quantity("256Mi")}
    return replace(container, requests={**container.requests, **pages}, limits={**container.limits, **pages})


def _with_cpus(container: Container) -> Container:
    more = {"cpu": parse_quantity("7")}
    return replace(container, requests={**container.requests, **more}, limits={**container.limits, **more})


def lived(ordered: Ordered, history: Iterable[Step]) -> tuple[Node, list[Decision]]:
    """The decisions, each with the check of the node as a whole."""
    try:
        node, ledger = begun(ordered)
    except StartError:
        assume(False)
        raise
    offered = amounts({"cpu": "40", "memory": "24Gi", PAGES: "512Mi", "pods": "4"})
    decisions = []
    for step in history:
        active = list(ledger.active)
        if step.leaves and active:
            ledger = release(ledger, active[step.leaves % len(active)])
        decision = decide(node, ledger, step.pod, offered)
        decisions.append(decision)
        if decision.panic:
            break
        ledger = start_containers(node, decision.ledger, step.pod.uid)[0] if decision.admitted else decision.ledger
    return node, decisions


def told(node: Node, decisions: Iterable[Decision]) -> None:
    for decision in decisions:
        check_story(node, decision, story_of(node, decision))
        check_evictions(node, decision, [story_of(node, victim) for victim in decision.evicted])


@given(odd_nodes(), odd_histories())
def test_every_claim_of_a_story_is_so(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Fits, does not fit, only, together, free, held by, near: counted again from the machine and the ledger."""
    told(*lived(ordered, history))


@given(odd_nodes(), odd_histories(), st.integers(0, 5), st.booleans())
def test_every_claim_after_a_restart_is_so(
    ordered: Ordered, history: tuple[Step, ...], lost: int, plugins_first: bool
) -> None:
    """Pods that are admitted again hold what they ask for, or did before a device was lost."""
    node, decisions = lived(ordered, history)
    if decisions[-1].panic:
        return
    devices = ordered.machine.devices[lost:]
    try:
        again = restart_with(node, decisions[-1].ledger, devices, plugins_first=plugins_first)
    except StartError:
        # groups of memory that overlap (before 1.32) leave a state that the kubelet itself refuses
        return
    told(node, again.readmitted)


def is_found_out(node: Node, decision: Decision, story: Story) -> bool:
    try:
        check_story(node, decision, story)
    except (AssertionError, KeyError):
        return True
    return False


@given(odd_nodes(), odd_histories())
def test_a_false_number_in_a_story_is_found_out(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """The law can fail: each number, yes or no of a story is changed in turn."""
    node, decisions = lived(ordered, history)
    for decision in decisions:
        for story in false_stories(story_of(node, decision)):
            assert is_found_out(node, decision, story), story
        told = [story_of(node, victim) for victim in decision.evicted]
        for i, own in enumerate(told):
            for story in false_stories(own):
                with pytest.raises(AssertionError):
                    check_evictions(node, decision, [*told[:i], story, *told[i + 1 :]])
