"""The tables of docs/study.md are what `python -m bench.study` prints."""

import os
from pathlib import Path

import pytest

from bench.study.page import tables_in, with_tables
from bench.study.plays import Play, Player, all_of, each_tenth
from bench.study.questions import LOADS, QUESTIONS
from bench.study.tables import FATE, USE, Cells, fates, one_of_both_scopes, rows_of, spread

ROOT = Path(__file__).resolve().parents[1]
TRACES = ROOT.parent / "shared" / "traces"
NODES, PODS = TRACES / "openb_node_list_all_node.csv", TRACES / "openb_pod_list_default.csv"
PAGE = (ROOT / "docs" / "study.md").read_text()
BUSY = LOADS[-1]
CHECKED = ("stock, blind", "least-allocated")
"""Of the fullest fleet: the first always, all with NUMAFIT_ALL=1, since each takes some seconds."""
SMALL_NODES = "name,count,cpu,memory,nvidia.com/gpu\nbox,11,16,64Gi,4\n"
SMALL_PODS = "arrival,run,cpu,memory,nvidia.com/gpu,owner\n" + "".join(
    f"{number},{50 + number % 7 * 20},{3 + number % 3},4Gi,1,ReplicaSet\n" for number in range(80)
)


@pytest.fixture
def player(tmp_path: Path) -> Player:
    (tmp_path / "nodes.csv").write_text(SMALL_NODES)
    (tmp_path / "pods.csv").write_text(SMALL_PODS)
    return Player(tmp_path / "nodes.csv", tmp_path / "pods.csv", tmp_path / "kept", jobs=2)


def test_the_page_has_each_table_and_no_other() -> None:
    assert sorted(tables_in(PAGE)) == sorted(own.name for own in QUESTIONS)


@pytest.mark.parametrize("rule", CHECKED if os.environ.get("NUMAFIT_ALL") else CHECKED[:1])
def test_a_row_of_the_page_is_what_is_played_now(rule: str) -> None:
    """Whoever changes what the engine, a rule or the model of the scheduler does makes the study anew."""
    if not NODES.exists():
        pytest.skip("the trace is not there: clusterdata's cluster-trace-gpu-v2023 in ../shared/traces")
    found = Player(NODES, PODS).answers([BUSY._replace(rules=(rule,))])
    *_, row = fates("trace", rows_of(found), (*USE, *FATE)).splitlines()
    assert row in tables_in(PAGE)["load"].splitlines()


def test_what_is_played_is_kept_and_not_played_again(player: Player) -> None:
    play = Play("small", ("--whole-cpus",), ("none", "restricted"), ("numafit", "most-allocated, blind"))
    found = player.answers([play])
    assert [(own.outcome.policy, own.outcome.rule) for _, own in found] == [
        (policy, rule) for policy in play.policies for rule in play.rules
    ]
    assert all(own.cpu_seconds > 0 and own.most_memory > 0 for _, own in found)
    # Played again it would use some other amount of time.
    assert Player(player.nodes, player.pods, player.kept).answers([play]) == found


def test_a_line_is_what_a_reader_can_type(player: Player) -> None:
    play = Play("x", ("--speed", "2"), ("none",), ("least-allocated, blind",), tenth=True)
    line = "numafit fleet simulate TENTH.csv pods.csv --speed 2 --policy none --rule 'least-allocated, blind'"
    assert player.line(play) == line


def test_pods_of_one_owner_are_those_of_the_trace_with_another_class(player: Player) -> None:
    pods = 'name,qos,gpu_spec\na,LS,\nb,BE,"V100,P100"\n'
    assert all_of(pods, "Job") == pods.replace("LS", "BE")
    assert all_of(pods, "ReplicaSet") == pods.replace("BE", "LS")
    play = Play("x", (), (), ("numafit",), owner="Job")
    assert player.line(play) == "numafit fleet simulate nodes.csv OF-JOBS.csv --rule numafit"
    assert player.key(play) != player.key(play._replace(owner="ReplicaSet"))


def test_of_each_ten_nodes_the_first_is_taken() -> None:
    assert each_tenth("sn\n" + "".join(f"{own}\n" for own in range(21))) == "sn\n0\n10\n20\n"


def test_rows_that_are_equal_with_both_scopes_are_called_by_the_policy() -> None:
    found: dict[str, list[Cells]] = {
        "none": [("a",)],
        "x/container": [("1",)],
        "x/pod": [("1",)],
        "y/container": [("1",)],
        "y/pod": [("2",)],
    }
    assert one_of_both_scopes(found) == {
        "none": [("a",)],
        "x": [("1",)],
        "y/container": [("1",)],
        "y/pod": [("2",)],
    }


def test_a_spread_names_the_least_and_the_most(player: Player) -> None:
    """Of the same play twice both are the same."""
    found = rows_of(player.answers([Play("small", ("--whole-cpus",), (), ("numafit",))] * 2))
    assert spread("fleet", found, FATE).splitlines()[2:] == fates("fleet", found[:1], FATE).splitlines()[2:]


def test_a_table_goes_between_its_marks_and_nowhere_else() -> None:
    page = "a\n<!-- study: one -->\n\nold\n\n<!-- end -->\nb\n<!-- study: two -->\nkept\n<!-- end -->\n"
    told = with_tables(page, {"one": "| new |", "three": "| none |"})
    assert tables_in(told) == {"one": "| new |", "two": "kept"}
    assert told.replace("| new |", "old") == page
