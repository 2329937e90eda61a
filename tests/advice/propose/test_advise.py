"""Advice is only worth what the engine says of it afterwards."""

from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from numafit.advice.alignment import is_aligned
from numafit.advice.propose.advise import advices, advise, proposal_notes
from numafit.advice.propose.knobs import amount_of, knobs_of, turned
from numafit.advice.propose.proposal import Proposal
from numafit.advice.propose.trial import Trial
from numafit.decision import decide as front_door
from numafit.decision.decision import Decision
from numafit.decision.life import release
from numafit.decision.stage import restarted
from tests.advice.stages import BOX, faults, stage
from tests.decision.strategies import GI, GPU, box, container, cpus, gpus, memory, pod

FEW = settings(max_examples=25)


def kinds(proposals: tuple[Proposal, ...]) -> list[tuple[str, str]]:
    return [(proposal.kind, proposal.text) for proposal in proposals]


def again(found: Trial, proposal: Proposal) -> tuple[Decision, ...]:
    """What the engine says when the change is made from scratch, without any of the advice's own state."""
    before = found.pods[: found.index]
    if proposal.config is not None:
        on = restarted(found.stage, proposal.config)
        return (on.play((*before, found.pod)).steps[-1].decision,)
    if proposal.removed:
        ledger = found.stage.play(before).after
        for gone in proposal.removed:
            ledger = release(ledger, gone.uid)
        return (found.stage.decide(ledger, found.pod),)
    steps = found.stage.play((*before, *proposal.pods)).steps
    return tuple(step.decision for step in steps[len(before) :])


@FEW
@given(faults())
def test_nothing_is_proposed_that_the_engine_would_not_admit(found: Trial | None) -> None:
    """Every proposal, made from scratch, gives the decisions it was shown with: admitted, and aligned if it says so."""
    if found is None:
        return
    (advice,) = advise(found.stage, found.pods, only=found.pod.uid)
    for proposal in advice.proposals:
        decisions = again(found, proposal)
        assert [decision.containers for decision in decisions] == [each.containers for each in proposal.decisions]
        assert all(decision.admitted for decision in decisions)
        node = (found.stage if proposal.config is None else restarted(found.stage, proposal.config)).node
        if proposal.aligned:
            assert all(is_aligned(node, decision) for decision in decisions)


@FEW
@given(faults())
def test_fewer_of_one_resource_goes_no_further_than_it_must(found: Trial | None) -> None:
    """One CPU, mebibyte or device more does not fit."""
    if found is None:
        return
    (advice,) = advise(found.stage, found.pods, only=found.pod.uid)
    for proposal in advice.proposals:
        if proposal.kind != "fewer":
            continue
        (changed,) = proposal.pods
        for knob in knobs_of(found.pod):
            was, becomes = amount_of(found.pod, knob), amount_of(changed, knob)
            if becomes < was:
                assert found.tried(turned(changed, knob, min(was, becomes + knob.step))) is None


@FEW
@given(faults())
def test_no_smaller_set_of_pods_would_do(found: Trial | None) -> None:
    """Of a set that has to go, each pod has to: without one of them less, the pod does not fit."""
    if found is None:
        return
    (advice,) = advise(found.stage, found.pods, only=found.pod.uid)
    for proposal in advice.proposals:
        for kept in proposal.removed:
            ledger = found.before
            for gone in proposal.removed:
                ledger = ledger if gone is kept else release(ledger, gone.uid)
            assert not found.good(found.stage.decide(ledger, found.pod))


@FEW
@given(faults())
def test_aligned_proposals_come_first(found: Trial | None) -> None:
    """Then those that keep no other pod out."""
    if found is None:
        return
    (advice,) = advise(found.stage, found.pods, only=found.pod.uid)
    aligned = [proposal.aligned for proposal in advice.proposals]
    assert aligned == sorted(aligned, reverse=True)


def test_proposals_on_a_guessed_machine_are_noted_as_tried_there_only() -> None:
    """Only a pod with proposals is noted, and only where a guess can matter to it."""
    asked = [pod("a", cpus("app", "900")), pod("b", cpus("app", "1"))]
    on = stage(replace(BOX, assumed=("core",)))
    notes = proposal_notes(on, advise(on, asked))
    text = "its proposals are tried on the machine as it is guessed, and not on others that it may be"
    assert [(note.about, note.text) for note in notes] == [("default/pod-a", text)]
    assert proposal_notes(stage(), advise(stage(), asked)) == ()


def test_a_pod_that_lies_well_needs_no_advice() -> None:
    (advice,) = advise(stage(), [pod("a", cpus("app", "4"))])
    assert (advice.fault, advice.proposals) == ("", ())


def test_a_pod_that_is_too_wide_learns_how_many_cpus_fit() -> None:
    """8 CPUs on a NUMA node, nothing else on the machine (all releases): 9 is one too many."""
    (advice,) = advise(stage(), [pod("a", cpus("app", "9"))])
    assert advice.fault == "rejected, TopologyAffinityError"
    assert kinds(advice.proposals)[:3] == [
        ("fewer", "app: cpu 9 -> 8"),
        ("split", "1 pod -> 3 pods with cpu 3, memory 342Mi each"),
        ("policy", "topologyManagerPolicy single-numa-node -> best-effort"),
    ]


def test_memory_is_found_to_the_mebibyte() -> None:
    """16Gi on each node, of which node 0 has 512Mi reserved: the largest is all of node 1."""
    (advice,) = advise(stage(), [pod("a", memory("app", "20Gi"))])
    assert ("fewer", "app: memory 20Gi -> 16Gi") in kinds(advice.proposals)


def test_where_no_single_number_helps_several_go_down_together() -> None:
    """9 CPUs and 20Gi: each is too much for any node."""
    (advice,) = advise(stage(), [pod("a", container("app", {"cpu": "9", "memory": "20Gi"}))])
    assert ("fewer", "app: cpu 9 -> 8, app: memory 20Gi -> 16Gi") in kinds(advice.proposals)


def test_a_change_of_a_template_is_checked_for_all_its_pods() -> None:
    """Two pods of 9 CPUs, then 7 and 8 are free: the second alone could have 8, both together fit with 7 each."""
    played = [pod("a", cpus("app", "9")), pod("b", cpus("app", "9"))]
    (one,), (other,) = advise(stage(), played, only="a"), advise(stage(), played, only="b")
    assert [one.proposals[0].text, other.proposals[0].text] == ["app: cpu 9 -> 8", "app: cpu 9 -> 8"]
    (both,) = advise(stage(), played, {"a": "Deployment/x", "b": "Deployment/x"})
    assert (both.alike, both.proposals[0].text) == (2, "app: cpu 9 -> 7")


def test_a_template_with_too_many_pods_learns_how_many_fit() -> None:
    """Two GPUs, three pods of one GPU: no number of the pod itself could help."""
    played = [pod(uid, cpus("app", "2", {GPU: "1"})) for uid in "abc"]
    *_, advice = advise(stage(), played, dict.fromkeys("abc", "Deployment/x"))
    assert kinds(advice.proposals) == [("replicas", "3 pods -> 2")]


def test_replicas_with_another_fault_are_named_where_their_template_is_spoken_for() -> None:
    """best-effort: the third pod lies apart, the fourth finds no CPUs; one change of the template is for both."""
    on = stage(topology_manager_policy="best-effort")
    played = [pod(uid, cpus("app", "5")) for uid in "abcd"]
    *well, last = advise(on, played, dict.fromkeys("abcd", "Deployment/x"))
    assert [advice.fault for advice in well] == ["", ""]
    assert "would fit on fewer" in last.fault
    assert (last.same, last.replicas) == ((), ("default/pod-d",))


def test_a_search_that_is_cut_keeps_what_it_found() -> None:
    """Nothing is tried once the caller says no, and no pod behind is begun."""
    app = container("app", {"cpu": "4", "memory": "1Gi"}, requests={"cpu": "2", "memory": "1Gi"})
    played = [pod("a", app), pod("b", app), pod("c", cpus("app", "9"))]
    looks = iter([True] * 2 + [False] * 100)
    (advice,) = advices(stage(), played, goes_on=lambda: next(looks))
    assert advice.cut
    assert kinds(advice.proposals) == [("guaranteed", "app: limits.cpu 4 -> 2")]
    assert list(advices(stage(), played, goes_on=lambda: False)) == []


def test_whole_cores_may_be_reached_by_a_cpu_more() -> None:
    """full-pcpus-only on SMT: 3 CPUs are one and a half cores (SMTAlignmentError since 1.22)."""
    on = stage(cpu_manager_policy_options={"full-pcpus-only": "true"})
    (advice,) = advise(on, [pod("a", cpus("app", "3"))])
    assert kinds(advice.proposals)[:3] == [
        ("more", "app: cpu 3 -> 4"),
        ("fewer", "app: cpu 3 -> 2"),
        ("option", "cpuManagerPolicyOptions without full-pcpus-only"),
    ]


def test_whole_cores_are_reached_in_all_containers_at_once() -> None:
    """full-pcpus-only on SMT: a single CPU is half a core, and one odd container is enough for a refusal."""
    on = stage(cpu_manager_policy_options={"full-pcpus-only": "true"})
    (advice,) = advise(on, [pod("a", cpus("app", "1"), cpus("web", "2"), cpus("log", "1"))])
    assert kinds(advice.proposals)[0] == ("more", "app: cpu 1 -> 2, log: cpu 1 -> 2")


def test_several_numbers_that_go_down_together_keep_whole_cores() -> None:
    """7 CPUs and 20Gi with full-pcpus-only: no node has the memory, and the least number of CPUs is a core's."""
    on = stage(cpu_manager_policy_options={"full-pcpus-only": "true"})
    (advice,) = advise(on, [pod("a", container("app", {"cpu": "7", "memory": "20Gi"}))])
    assert ("fewer", "app: cpu 7 -> 6, app: memory 20Gi -> 16Gi") in kinds(advice.proposals)


def test_a_burstable_pod_learns_what_would_pin_its_cpus() -> None:
    """Requests equal to limits and whole CPUs, or the static policy leaves it in the shared pool (all releases)."""
    app = container("app", {"cpu": "4", "memory": "1Gi"}, requests={"cpu": "2", "memory": "1Gi"})
    (advice,) = advise(stage(), [pod("a", app)])
    assert advice.fault == "admitted, but app shares its CPUs with others"
    assert kinds(advice.proposals) == [
        ("guaranteed", "app: limits.cpu 4 -> 2"),
        ("guaranteed", "app: requests.cpu 2 -> 4"),
    ]


def test_a_guaranteed_pod_with_a_fraction_learns_the_nearest_whole_numbers() -> None:
    app = container("app", {"cpu": "2500m", "memory": "1Gi"})
    (advice,) = advise(stage(), [pod("a", app)])
    found = [(proposal.kind, str(proposal.pods[0].containers[0].requests["cpu"])) for proposal in advice.proposals]
    assert found == [("whole-cpus", "2"), ("whole-cpus", "3")]


def test_containers_that_fit_one_by_one_are_told_so() -> None:
    """Pod scope: 6 + 6 CPUs need one node of 12; in the container scope, or as two pods, each finds its own."""
    on = stage(topology_manager_scope="pod")
    (advice,) = advise(on, [pod("a", cpus("x", "6"), cpus("y", "6"))])
    found = kinds(advice.proposals)
    assert ("scope", "topologyManagerScope pod -> container") in found
    assert ("split", "one pod per container: pod-a-x, pod-a-y") in found


def test_a_neighbour_that_finds_room_again_is_moved() -> None:
    """The only GPU is on node 0, where 7 CPUs are allocatable and a pod of 2 came first; node 1 is empty."""
    on = stage(box(2, 8, 2, memory=16 * GI, devices=gpus(0)))
    (_, advice) = advise(on, [pod("small", cpus("app", "2")), pod("late", cpus("app", "7", {GPU: "1"}))])
    assert ("move", "first this pod, then default/pod-small again") in kinds(advice.proposals)


def test_a_neighbour_without_any_room_is_removed() -> None:
    """Node 1 is full, and node 0 has room for 7 CPUs or for 2 and 5."""
    played = [pod("small", cpus("app", "2")), pod("large", cpus("app", "8")), pod("late", cpus("app", "7"))]
    *_, advice = advise(stage(), played)
    assert ("remove", "without default/pod-small") in kinds(advice.proposals)


def test_a_proposal_names_the_pods_that_it_keeps_out() -> None:
    """7 CPUs are free on node 0: for the wide pod, cut to 7, or for the last one."""
    played = [pod("a", cpus("app", "8")), pod("wide", cpus("app", "9")), pod("last", cpus("app", "7"))]
    _, advice, _ = advise(stage(), played)
    fewer = next(proposal for proposal in advice.proposals if proposal.kind == "fewer")
    assert (fewer.text, fewer.loses) == ("app: cpu 9 -> 7", ("default/pod-last",))


def test_a_placement_across_nodes_that_would_fit_one_is_a_fault() -> None:
    """best-effort admits 5 CPUs across both nodes once only 3 and 4 are free (all releases)."""
    on = stage(topology_manager_policy="best-effort")
    played = [pod("a", cpus("app", "4")), pod("b", cpus("app", "4")), pod("c", cpus("app", "5"))]
    *_, last = advise(on, played)
    assert last.fault == "admitted, but app lies on nodes 0-1 and would fit on fewer"
    assert last.proposals[0].text == "app: cpu 5 -> 4"


@FEW
@given(faults())
def test_who_is_lost_is_found_by_playing_all_pods(found: Trial | None) -> None:
    """Pods behind the last one that is admitted need not be played again: none of them can be lost."""
    if found is None:
        return
    (advice,) = advise(found.stage, found.pods, only=found.pod.uid)
    for proposal in advice.proposals:
        if proposal.config is not None:
            played = restarted(found.stage, proposal.config).play(found.pods)
            admitted = {step.decision.pod.uid for step in found.simulation.steps if step.decision.admitted}
            now = {step.decision.pod.uid for step in played.steps if step.decision.admitted}
            lost = [each.full_name for each in found.pods if each.uid in admitted - now]
            assert list(proposal.loses) == lost


def test_a_replica_that_cannot_be_admitted_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment of 100,000 replicas costs little more than its simulation."""
    calls = 0
    admit = front_door.admit

    def counted(*arguments: Any) -> Decision:
        nonlocal calls
        calls += 1
        return admit(*arguments)

    monkeypatch.setattr(front_door, "admit", counted)
    on = stage()
    costs = []
    for count in (50, 90):
        calls = 0
        replicas = [pod(f"uid-{i}", cpus("app", "4")) for i in range(count)]
        advise(on, replicas, {each.uid: "Deployment/web" for each in replicas})
        costs.append(calls)
    assert costs[1] - costs[0] == 40
