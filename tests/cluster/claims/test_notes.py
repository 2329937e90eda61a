"""Pods with devices by claims and exclusive CPUs are told with where both lie."""

from msgspec.structs import replace

from numafit.cluster.claims.notes import with_claims
from numafit.cluster.topology.model import ClaimedDevice
from numafit.decision.stage import Stage
from numafit.workload.pod import Unread
from numafit.workload.unread import CLAIMS_NOT_ALIGNED
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on


def device(numa: str | None) -> ClaimedDevice:
    return ClaimedDevice("c", "gpu.lab.io", "n1", "gpu-3", numa)


def texts(stage: Stage) -> list[str]:
    return [f"{note.about}: {note.text}" for note in stage.notes if note.code == CLAIMS_NOT_ALIGNED]


def test_a_pod_that_is_there_is_told_with_both_places() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), guaranteed("u-1", 4))
    rest = "nobody aligns these, the Topology Manager does not know claims"
    for numa, expected in (
        ("1", "and gpu-3 of gpu.lab.io on NUMA node 1 that claims give to it"),
        ("0", "and claims give gpu-3 of gpu.lab.io on NUMA node 0 to it, by luck near each other"),
        (None, "and claims give gpu-3 of gpu.lab.io to it"),
    ):
        told = texts(with_claims(stage, {"u-1": (device(numa),)}))
        assert told == [f"team/u-1-name: its exclusive CPUs lie on NUMA node 0, {expected}: {rest}"]


def test_a_pod_without_exclusive_cpus_has_nothing_to_align() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), replace(guaranteed("u-1"), containers=()))
    assert texts(with_claims(stage, {"u-1": (device("1"),)})) == []


def test_a_pod_to_come_says_it_in_the_note_that_it_has() -> None:
    pod = replace(guaranteed("u-2"), unread=(Unread(CLAIMS_NOT_ALIGNED, "something"),))
    stage = with_claims(replace(stage_on("dgx-h100"), pods=(pod,)), {"u-2": (device("1"),)})
    (unread,) = stage.pods[0].unread
    assert unread.text.startswith("it has gpu-3 of gpu.lab.io on NUMA node 1 by claims, and exclusive CPUs: nobody")


def test_where_no_cpus_are_exclusive_nothing_is_told() -> None:
    stage = replace(stage_on("dgx-h100"), pods=())
    node = replace(stage.node, cpu=replace(stage.node.cpu, static=False))
    assert with_claims(replace(stage, node=node), {"u-1": (device("1"),)}).notes == stage.notes
