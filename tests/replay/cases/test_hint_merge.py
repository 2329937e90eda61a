"""Merges that real kubelets made, and starts that they refused."""

import gzip
import json
from pathlib import Path

import pytest

from numafit.replay.cases.hint_merge import merge_case
from numafit.settings.versions import parse_version

RECORDINGS = Path(__file__).resolve().parents[3].parent / "shared" / "oracle"
EVERY = 10


@pytest.mark.parametrize("version", ["v1.20.1", "v1.27.3", "v1.34.11", "v1.36.4"])
def test_a_sample_of_recorded_merges(version: str) -> None:
    """Every tenth recording of the family hint-merge."""
    path = RECORDINGS / version / "hint-merge.jsonl.gz"
    if not path.exists():
        pytest.skip("the recordings are not here")
    with gzip.open(path, "rt") as lines:
        for line in list(lines)[::EVERY]:
            case = json.loads(line)
            assert (case["id"], merge_case(case["input"], parse_version(version))) == (case["id"], case["expect"])


def case(
    policy: str, ids: list[int], *, scope: str = "container", options: dict[str, str] | None = None
) -> dict[str, object]:
    return {
        "machine": {"numaNodes": [{"id": i, "distances": [10] * len(ids)} for i in ids], "cpus": []},
        "config": {
            "topologyManagerPolicy": policy,
            "topologyManagerScope": scope,
            "topologyManagerPolicyOptions": options or {},
        },
        "providers": [{"gpu": [[1 << i, True] for i in ids]}, None],
    }


@pytest.mark.parametrize(
    ("version", "given", "expected"),
    [
        (
            "1.36",
            case("none", list(range(9)), scope="x", options={"bogus": ""}),
            {"best": [None, False], "admit": True},
        ),
        ("1.27", case("none", list(range(9))), {"best": [None, False], "admit": True}),
        ("1.27", case("none", [0], scope="x"), {"error": 'unknown scope: "x"'}),
        ("1.36", case("restricted", list(range(9))), {"error": "unsupported on machines with more than 8 NUMA Nodes"}),
        ("1.36", case("Restricted", [0], scope="x"), {"error": 'unknown policy: "Restricted"'}),
        ("1.36", case("restricted", [0], scope=""), {"error": 'unknown scope: ""'}),
        (
            "1.36",
            case("restricted", [0, 8], options={"prefer-closest-numa-nodes": "true"}),
            {"panic": "runtime error: index out of range [8] with length 2"},
        ),
        (
            "1.36",
            case("restricted", list(range(9)), options={"max-allowable-numa-nodes": "9"}),
            {"best": [1, True], "admit": True},
        ),
    ],
)
def test_what_the_topology_manager_refuses_at_start(version: str, given: dict[str, object], expected: object) -> None:
    """Policy none checks nothing since 1.28; the limit of 8 nodes can be raised since 1.31."""
    assert merge_case(given, parse_version(version)) == expected
