"""What is told of a rejected pod."""

import pytest
from msgspec.structs import replace

from numafit.cluster.guard.record import LoopRecord, PodRejection
from numafit.cluster.guard.telling.story import hold_story, plain_story, rejection_story, try_story
from numafit.cluster.live.pods import ClusterPod
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.fleet.waiting.why import WhyMemory
from numafit.machine.catalogue.names import machine_named
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION
from tests.cluster.guard.looping import after, owned_object, rejected_pod
from tests.cluster.guard.told_cluster import book
from tests.cluster.live.cluster_objects import kept

RECORD = LoopRecord(
    "ReplicaSet",
    "web",
    "team",
    rejections=tuple(PodRejection(f"u{n}", f"n{n}", "x", after(n)) for n in range(3)),
    rejected=3,
)


def strict_stage() -> Stage:
    machine = machine_named("gpu8-128cpu")
    text = example_kubelet(machine).replace("restricted", "single-numa-node")
    return new_stage(Start(version=DEFAULT_VERSION, sources=ConfigSources(ConfigFile("k", text)), machine=machine))


def rejected(gpus: int) -> ClusterPod:
    own = owned_object("p", gpus=gpus, node="n1", phase="Failed", reason="TopologyAffinityError", message="it says no.")
    return kept(own)


def test_the_engine_tells_why_and_what_would_help() -> None:
    """A node that refused it is asked once more: that it refused is no reason."""
    own, pod = book("n1", "n2", stage=strict_stage()), rejected(5)
    own.rejected(pod)
    text = rejection_story(pod, own, WhyMemory(), 0)
    assert text == (
        "the kubelet of n1 did not take the pod in (TopologyAffinityError): 5 nvidia.com/gpu need nodes 0-1 together "
        "(at most 4 nvidia.com/gpu can be had on one node): `single-numa-node` rejects the pod. 5 nvidia.com/gpu on "
        "one NUMA node: no node could ever have them, even with nobody on it. It would start now with main: "
        "nvidia.com/gpu 5 -> 4."
    )


def test_where_another_node_would_take_it_that_is_told() -> None:
    own = book("n1", "n2")
    assert rejection_story(rejected(2), own, WhyMemory(), 0).endswith(" 2 nodes would take it now.")


def test_without_a_report_the_kubelets_words_are_told_in_plain_ones() -> None:
    text = rejection_story(rejected(5), book(untold=("n1",)), WhyMemory(), 1)
    assert text == plain_story(rejected(5))
    assert text.endswith("than have room for it. It says: it says no.")


@pytest.mark.parametrize("reason", ["SMTAlignmentError", "OutOfcpu", "UnexpectedAdmissionError", "Other"])
def test_every_reason_has_a_sentence(reason: str) -> None:
    text = plain_story(replace(rejected_pod("p"), reason=reason, message=""))
    assert text.startswith(f"the kubelet of n1 did not take the pod in ({reason}): ")
    assert text.endswith(".")


def test_a_hold_is_told_with_its_nodes() -> None:
    assert hold_story(RECORD, enforced=True) == (
        "3 pods of it were rejected, the last 3 within a minute (on n0, n1, n2): its next pods are held until a node "
        "can take one; one is tried after 10 s all the same, or after 15 minutes where all nodes are known."
    )
    assert "would be held (dry run)" in hold_story(RECORD, enforced=False)


def test_a_release_is_told_with_what_came_before() -> None:
    assert try_story("a node can take it", ("n1", "n2"), replace(RECORD, tries=2), enforced=True) == (
        "released: a node can take it, on n1, n2; 2 before it came to grief."
    )
    assert try_story("x", (), None, enforced=False) == "would be released (dry run): x."
