"""Why not here? What is told of a NUMA node is so."""

from hypothesis import given

from numafit.decision.admit import admit
from numafit.decision.decision import Decision, MergeStep
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.decision.story.elsewhere import MergeHere, elsewhere_of
from numafit.decision.story.elsewhere_words import elsewhere_in_words, merge_here_in_words
from numafit.decision.story.story import story_of
from numafit.managers.topology.hint import HintFamily
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod
from tests.decision.story.test_story import lived, odd_histories, odd_nodes
from tests.decision.strategies import GPU, Ordered, Step, box, container, cpus, gpus, pod, running, settings


def hints_of(step: MergeStep, resource: str) -> list[tuple[int | None, bool]]:
    for own in step.providers:
        found = (own or {}).get(resource)
        if found is not None:
            return list(found.listed() if isinstance(found, HintFamily) else found)
    return [(None, True)]


def check(node: Node, step: MergeStep, here: MergeHere, numa: int) -> None:
    """By the hints themselves, and by what the merge ended with."""
    alone = [
        [good for mask, good in hints_of(step, each.resource) if mask in (None, 1 << numa)] for each in here.resources
    ]
    assert [bool(own) for own in alone] == [each.offered for each in here.resources]
    assert [any(own) for own in alone] == [each.preferred for each in here.resources]
    mask, preferred = step.best
    if here.standing in ("taken", "refused"):
        assert mask in (1 << numa, None)
        assert step.admit == (here.standing == "taken")
    elif here.standing == "among":
        assert mask is not None
        assert mask >> numa & 1
        assert mask.bit_count() > 1
        assert here.admit
    elif here.standing == "open":
        assert not any(each.lacking for each in here.resources)
        assert all((None, True) in hints_of(step, each.resource) for each in here.resources)
    elif here.standing == "short":
        assert not all(alone) or not all(each.fits for each in here.resources)
    else:
        assert all(alone)
        assert not any(each.lacking for each in here.resources)
        assert mask != 1 << numa
        if here.standing == "not-preferred":
            assert not all(any(own) for own in alone)
            assert preferred or mask is None
        else:
            assert mask is not None
            assert mask.bit_count() == 1
            assert here.standing == "farther" or mask < 1 << numa
            assert preferred == all(any(own) for own in alone)


@given(odd_nodes(), odd_histories())
def test_how_each_merge_stands_to_each_node_is_so(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Counted again from the hints, on odd machines with odd pods; and there are words for each."""
    node, decisions = lived(ordered, history)
    for decision in decisions:
        if decision.panic:
            continue
        for each in node.machine.numa_nodes:
            told = elsewhere_of(node, decision, each.id)
            assert len(told.merges) == len(decision.merges or ())
            for step, here in zip(decision.merges or (), told.merges, strict=True):
                check(node, step, here, each.id)
                assert merge_here_in_words(here, each.id).endswith(".")
            if decision.admitted:
                assert elsewhere_in_words(told).endswith(".")


def asked(policy: str, numa: int, *pods: Pod, machine: int = 2) -> tuple[Decision, str]:
    """The last of these pods, and what is told of the node for its only merge."""
    node, ledger = running(box(machine, 8 * machine, devices=gpus(0, 0, 1, 1)), settings(cpu="static", topology=policy))
    for each in pods:
        decision = admit(node, ledger, each)
        told = elsewhere_of(node, decision, numa)
        ledger = start_containers(node, decision.ledger, each.uid)[0] if decision.admitted else decision.ledger
    (merge,) = told.merges
    return decision, merge_here_in_words(merge, numa)


def test_of_two_equal_nodes_the_lower_number_is_taken() -> None:
    _, sentence = asked("single-numa-node", 1, pod("a", cpus("app", "4")))
    assert sentence == (
        "Node 1 would do as well; of equal places the kubelet takes the lowest number, and the merge ends with node 0, "
        "preferred."
    )


def test_what_is_too_little_on_the_node_is_told_with_who_holds_it() -> None:
    """And what no node could ever give, by what it has."""
    first = pod("a", cpus("app", "6"))
    _, sentence = asked("restricted", 0, first, pod("b", cpus("app", "4")))
    assert sentence == (
        "Node 0 alone cannot give 4 CPUs: 1 CPU of 7 CPUs is free there, and default/pod-a holds some of it."
    )
    decision, sentence = asked("single-numa-node", 1, pod("a", cpus("app", "2", {GPU: "3"})))
    assert not decision.admitted
    assert sentence == f"Node 1 alone cannot give 3 {GPU}: it has 2 in all."


def with_memory(policy: str) -> Settings:
    return settings(cpu="static", topology=policy, memory="Static", reserved_memory={0: {"memory": "1Gi"}})


def test_memory_that_is_nowhere_is_lacking_here_too() -> None:
    """The memory manager has no hints then, which the merge takes for "anywhere": no node would do."""
    node, ledger = running(box(2, 16, memory=8 << 30), with_memory("best-effort"))
    for wanted in ("1", "500m"):
        decision = admit(node, ledger, pod("a", container("app", {"cpu": wanted, "memory": "40Gi"})))
        assert not decision.admitted
        for numa in (0, 1):
            (merge,) = elsewhere_of(node, decision, numa).merges
            sentence = merge_here_in_words(merge, numa)
            assert f"Node {numa} alone cannot give " in sentence
            assert sentence.endswith(" in all.")
            assert "would do" not in sentence
            assert "as good as any" not in sentence


def test_what_is_lacking_is_told_of_the_node_that_the_merge_ends_with() -> None:
    """More CPUs than the machine has: for them there are no hints, and the first node has the memory."""
    ends = {
        "restricted": (
            "Node 0 it would be, but the merge ends with node 0, not preferred, and the policy refuses container app."
        ),
        "best-effort": "Node 0 it is: the merge ends with node 0, not preferred.",
    }
    for policy, told in ends.items():
        node, ledger = running(box(2, 16, memory=8 << 30), with_memory(policy))
        decision = admit(node, ledger, pod("a", cpus("app", "64")))
        (merge,) = elsewhere_of(node, decision, 0).merges
        assert merge_here_in_words(merge, 0) == f"{told} Node 0 alone cannot give 64 CPUs: it has 7 CPUs in all."


def test_cpus_that_come_in_no_whole_cores_are_lacking() -> None:
    """Of equal places neither would do: full-pcpus-only is looked at after the merge."""
    full = settings(cpu="static", topology="best-effort", options={"full-pcpus-only": "true"})
    node, ledger = running(box(2, 8, 2), full)
    decision = admit(node, ledger, pod("a", cpus("app", "3")))
    assert not decision.admitted
    (merge,) = elsewhere_of(node, decision, 1).merges
    assert merge_here_in_words(merge, 1) == "Node 1 alone cannot give 3 CPUs as full-pcpus-only wants them."


def test_cpus_that_init_containers_leave_are_why_others_are_not_taken() -> None:
    node, ledger = running(box(2, 16), settings(cpu="static", topology="best-effort"))
    decision = admit(node, ledger, pod("a", cpus("app", "2"), init=[cpus("first", "8")]))
    assert decision.admitted
    first, app = elsewhere_of(node, decision, 0).merges
    assert merge_here_in_words(first, 0) == "Node 0 alone cannot give 8 CPUs: it has 7 CPUs in all."
    assert merge_here_in_words(app, 0) == (
        "Node 0 alone cannot give 2 CPUs, although 7 CPUs are free there: what init containers of the pod leave is "
        "used again, and not all of that lies there."
    )


def test_a_pod_that_nobody_places_may_go_anywhere() -> None:
    burstable = pod("a", container("app", requests={"cpu": "500m"}))
    _, sentence = asked("best-effort", 1, burstable)
    assert sentence == "Node 1 is as good as any: no manager asks for a NUMA node for container app."


def test_a_refusal_names_one_cause_and_counts_the_others() -> None:
    """Each is enough to refuse the pod. What no wait cures comes before what is only taken now."""
    node, ledger = running(box(2, 16, devices=gpus(0, 0, 1, 1)), settings(cpu="static", topology="single-numa-node"))
    for name in "ab":
        decision = admit(node, ledger, pod(name, cpus("app", "6")))
        ledger = start_containers(node, decision.ledger, decision.pod.uid)[0]
    decision = admit(node, ledger, pod("c", cpus("app", "3", {GPU: "3"})))
    assert story_of(node, decision).sentence == (
        f"3 {GPU} need nodes 0-1 together (at most 2 {GPU} can be had on one node): `single-numa-node` rejects "
        "container app. 3 CPUs alone would be rejected, too."
    )
