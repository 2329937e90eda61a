"""A slice of a trace on the real control plane and in the model; `tests.kube.trace_played` plays a large one."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import RULES, PlacingRule
from numafit.fleet.simulation.run import fleet_of, play_rule
from numafit.fleet.simulation.scores import SCORINGS
from numafit.fleet.verdicts import VerdictMemory
from tests.kube.build import binaries, missing
from tests.kube.counted.watched import PodCourse
from tests.kube.trace_played.choices import judged
from tests.kube.trace_played.model import modelled
from tests.kube.trace_played.player import played, standing
from tests.kube.trace_played.result import PlayedResult, moved, same_node
from tests.kube.trace_played.slice import TraceSlice, cut
from tests.kube.trace_played.ways import WAYS

TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"
NODES = "name,count,cpu,memory,nvidia.com/gpu\nbox,8,16,64Gi,4\nlarge,4,32,128Gi,8\n"
SPREAD = PlacingRule("least-allocated", exact=False)
LONG_AFTER = 10_000.0
SMALL: dict[str, Any] = {"many_nodes": 6, "many_pods": 40, "seconds": 15.0, "load": 1.2, "policy": "single-numa-node"}


def pods_csv() -> str:
    lines = ["arrival,run,cpu,memory,nvidia.com/gpu,owner"]
    for number in range(90):
        gpus, owner = (1, 1, 2)[number % 3], ("Job", "ReplicaSet")[number % 2]
        lines.append(f"{number * 7},{60 + number % 11 * 40},{1.5 + number % 4 * 2},4Gi,{gpus},{owner}")
    return "\n".join((*lines, "0,10,64,4Gi,0,Job", ""))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Outside the folders of pytest, whose names are too long for sockets."""
    own = Path(tempfile.mkdtemp(prefix="numafit-played-"))
    yield own
    shutil.rmtree(own, ignore_errors=True)


@pytest.fixture
def piece(folder: Path) -> TraceSlice:
    (folder / "nodes.csv").write_text(NODES)
    (folder / "pods.csv").write_text(pods_csv())
    return cut(folder / "nodes.csv", folder / "pods.csv", folder, **SMALL)


def test_a_slice_wants_the_part_of_all_gpus_that_was_asked_for(piece: TraceSlice) -> None:
    """Nodes evenly from the list, pods from its middle in their order; who fits no empty node is left out."""
    assert sorted(piece.states) == ["kind0-0", "kind0-1", "kind0-2", "kind0-3", "kind1-0", "kind1-1"]
    assert len(piece.pods) == SMALL["many_pods"]
    arrivals = [pod.arrival for pod in piece.pods]
    assert arrivals == sorted(arrivals)
    assert (arrivals[0], arrivals[-1]) == (0.0, SMALL["seconds"])
    wanted = sum(pod.pod.containers[0].requests["nvidia.com/gpu"].value() * (pod.run or 0) for pod in piece.pods)
    assert wanted / (piece.gpus * SMALL["seconds"]) == pytest.approx(SMALL["load"], rel=0.01)
    assert all(pod.pod.containers[0].requests["cpu"].milli() % 1000 == 0 for pod in piece.pods)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_result_of_the_model_is_what_a_simulation_counts(piece: TraceSlice, rule: PlacingRule) -> None:
    """Long after the last arrival both tell the same of rejections, of waiting and of those who never ran."""
    outcome = play_rule(fleet_of(piece.states), piece.pods, rule, VerdictMemory())
    assert isinstance(outcome, RuleOutcome)
    own = modelled(piece, rule, LONG_AFTER)
    told = (outcome.rejected_pods, outcome.rejections, outcome.unplaced)
    assert (own.rejected, own.all_rejections, own.never) == told
    assert own.mean_wait == pytest.approx(outcome.mean_wait)


def test_pods_to_move_are_counted_by_nodes_and_the_same_node_by_pods() -> None:
    one, other = (
        PlayedResult(dict(zip("abcd", nodes, strict=True)), dict.fromkeys("abcd", 0.0), {})
        for nodes in ("mmnn", "nnmo")
    )
    assert moved(one, one) == 0
    # Two, one and none against two, one and one: one of four has to move.
    assert moved(one, other) == 0.25
    assert (same_node(one, one), same_node(one, other)) == (1.0, 0.0)


def test_a_choice_is_judged_by_what_stood_on_the_nodes_before_it(piece: TraceSlice) -> None:
    """Spreading: the second pod of a shape goes best where the first is not, unless that has ended."""
    name = piece.pods[0].pod.name
    first = PodCourse("a", name, 0.0, bound=0.0, node="kind1-0")
    second = PodCourse("b", name, 1.0, bound=5.0, node="kind1-0")
    scoring = SCORINGS["least-allocated"]
    beside = judged(piece, [first, second], scoring)
    assert (beside.bindings, beside.best, beside.fitting) == (2, 1, 1)
    first.ended = 1.0
    behind = judged(piece, [first, second], scoring)
    assert (behind.best, behind.fitting, behind.behind) == (2, 0, Counter())
    # The small nodes of this list are fuller with the same pod.
    second.node = "kind0-0"
    assert judged(piece, [second], scoring).fitting == 1


def traced(folder: Path) -> TraceSlice:
    if lacking := missing():
        pytest.skip(lacking)
    nodes, pods = TRACES / "openb_node_list_all_node.csv", TRACES / "openb_pod_list_default.csv"
    if not nodes.exists():
        pytest.skip("the trace is not there: clusterdata's cluster-trace-gpu-v2023 in ../shared/traces")
    return cut(nodes, pods, folder, **SMALL)


@pytest.mark.real
@pytest.mark.parametrize("name", ["fit", "stock"])
def test_the_scheduler_chooses_what_the_model_calls_best_and_kubelets_decide_alike(folder: Path, name: str) -> None:
    """1.36 scores as the model does: by NodeResourcesFit alone, and as it comes. A watch may be behind the scheduler on
    a busy machine, so a few bindings may look otherwise. Who ran was not rejected before by more than the model knows a
    reason for."""
    own, way = traced(folder), WAYS[name]
    with standing(way, own, folder, binaries()) as cluster:
        real = played(cluster, own, SMALL["seconds"] + 20)
    assert len(real.made) == len(own.pods)
    found = judged(own, real.courses, SCORINGS[way.rule.order])
    assert found.bindings >= len(own.pods) * 0.8
    assert found.best >= found.bindings * 0.9, found
    assert {course.rejected for course in real.courses} <= {"", "TopologyAffinityError", "UnexpectedAdmissionError"}


@pytest.mark.real
def test_the_placer_is_rejected_as_little_as_its_rule_in_the_model(folder: Path) -> None:
    own, way = traced(folder), WAYS["place"]
    with standing(way, own, folder, binaries()) as cluster:
        real = played(cluster, own, SMALL["seconds"] + 20)
    held = {course.owner for course in real.courses if course.gated}
    assert held
    # Those that no webhook has held came past it.
    assert not held & {course.owner for course in real.courses if course.rejected}
    assert modelled(own, way.rule, SMALL["seconds"] + 20).all_rejections == 0
