"""The recordings in the repository: a clone without any others checks the claim of exactness with them."""

import gzip
import json
import os
from pathlib import Path

import pytest

from numafit.replay.replay import RUN, replay
from tests.recordings.choose import HERE, chosen, runs_in
from tests.test_replay_recordings import NOT_RECORDED, PARTS_OF_KUBELETS, RANDOM_LINES, RECORDINGS, VERSIONS

FILES = sorted(HERE.glob("v*/*.jsonl.gz"))
RUNS = {("v1.36.3", RUN), ("v1.36.4", RUN)}
"""No whole run of another release was recorded."""
LARGEST = 1_500_000
"""Bytes of all of them: a clone must stay quick."""


def lines_of(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return list(file)


def named(path: Path) -> str:
    return str(path.relative_to(HERE))


def test_each_release_and_family_has_some() -> None:
    """Where one was recorded at all."""
    there = {(path.parent.name, path.name.removesuffix(".jsonl.gz")) for path in FILES}
    parts = {(version, family) for version in VERSIONS for family in PARTS_OF_KUBELETS} - NOT_RECORDED
    assert there == parts | RUNS
    assert sum(path.stat().st_size for path in FILES) < LARGEST


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_kept_recording_is_reproduced(path: Path) -> None:
    """As recorded, or as one of the outcomes that the kubelet leaves to chance: marked, or listed with its order."""
    random = RANDOM_LINES.get(path.parent.name, {})
    for line in lines_of(path):
        case = json.loads(line)
        found = replay(case)
        assert found.verdict in ("match", "other order"), f"{case['id']} {found.difference}"
        assert found.verdict == "match" or found.marked or case["id"] in random, case["id"]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_none_of_them_could_be_left_away(path: Path) -> None:
    """Each shows something that no smaller one of its family shows: the rule chooses all of them again."""
    lines = lines_of(path)
    assert chosen(lines) == lines


def test_of_two_that_show_the_same_the_shorter_one_is_kept() -> None:
    def case(name: str, policy: str, room: str = "") -> bytes:
        config = {"topologyManagerPolicy": policy}
        return json.dumps({"id": name + room, "input": {"config": config}, "expect": {"admit": True}}).encode()

    short, long, other = case("a", "none"), case("b", "none", "-longer"), case("c", "restricted")
    assert chosen([other, long, short]) == [short, other]


@pytest.mark.skipif(not os.environ.get("NUMAFIT_ALL"), reason="reads all recordings: NUMAFIT_ALL=1")
@pytest.mark.parametrize("path", FILES, ids=named)
def test_they_are_the_choice_from_all_recordings(path: Path) -> None:
    if path.name.startswith(RUN):
        runs = runs_in(RECORDINGS.parent).get(path.parent.name)
        if runs is None:
            pytest.skip("the runs of the kubelet are not here")
        assert lines_of(path) == chosen(runs)
        return
    whole = RECORDINGS / path.relative_to(HERE)
    if not whole.exists():
        pytest.skip("the recordings of the kubelet are not here")
    assert lines_of(path) == chosen(lines_of(whole))
