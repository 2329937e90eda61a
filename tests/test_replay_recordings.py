"""The whole engine against the recordings of real kubelet code.

An ordinary run takes every fourth line of the large families and all lines of the others; with NUMAFIT_ALL=1
(`./dev test --all`) it takes every line.

The kubelet leaves some things to chance, and most such lines are marked in the recordings. A few are not:
`random_lines.json` lists them, each with the order that explains it, and nothing else.
"""

import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from numafit.replay.replay import FAMILIES, RUN, replay

RECORDINGS = Path(__file__).resolve().parents[1].parent / "shared" / "oracle"
RANDOM_LINES: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("random_lines.json").read_bytes())

VERSIONS = ("v1.20.1", "v1.27.3", "v1.34.11", "v1.36.4")
PARTS = {"node": 4, "devices": 4, "memory": 4}
"""Into how many parts a family is divided, line by line in turn; the other families are one part."""
PARTS_OF_KUBELETS = FAMILIES - {RUN}
"""Whole runs lie in folders: `test_whole_runs.py`."""
NOT_RECORDED = {("v1.20.1", "memory"), ("v1.20.1", "validation")}
"""1.20 has no memory manager, and its configuration was not recorded."""

EVERYTHING = bool(os.environ.get("NUMAFIT_ALL"))


def parts() -> Iterator[tuple[str, str, int]]:
    for version in VERSIONS:
        for family in sorted(PARTS_OF_KUBELETS):
            if (version, family) not in NOT_RECORDED:
                yield from ((version, family, part) for part in range(PARTS.get(family, 1) if EVERYTHING else 1))


def lines(version: str, family: str) -> Iterator[str]:
    file = RECORDINGS / version / f"{family}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"the recordings of the kubelet are not here: no {version}/{family}")
    with gzip.open(file, "rt", encoding="utf-8") as text:
        yield from text


@pytest.mark.parametrize(("version", "family", "part"), list(parts()))
def test_the_kubelet_decided_the_same(version: str, family: str, part: int) -> None:
    """Every line comes out as recorded, or as one of the outcomes that the kubelet's random map order allows."""
    cases = [json.loads(line) for line in islice(lines(version, family), part, None, PARTS.get(family, 1))]
    differs, unmarked = [], set()
    for case in cases:
        found = replay(case)
        if found.verdict == "differs":
            differs.append(f"{case['id']} {found.difference}")
        elif found.verdict == "other order" and not found.marked:
            unmarked.add(case["id"])
    listed = {case["id"] for case in cases} & RANDOM_LINES.get(version, {}).keys()
    assert (differs, unmarked) == ([], listed)
    assert len(cases) > 20


@pytest.mark.skipif(not EVERYTHING, reason="reads all recordings: NUMAFIT_ALL=1")
@pytest.mark.parametrize("version", VERSIONS)
def test_each_listed_line_is_a_recorded_one(version: str) -> None:
    """A list that names lines that do not exist would excuse nothing and look as if it did."""
    recorded: set[str] = set()
    for family in sorted(PARTS_OF_KUBELETS):
        if (version, family) not in NOT_RECORDED:
            recorded |= {identity(line) for line in lines(version, family)}
    assert set(RANDOM_LINES.get(version, {})) <= recorded


def identity(line: str) -> str:
    case: dict[str, Any] = json.loads(line)
    return str(case["id"])


def test_each_listed_line_says_which_order_explains_it() -> None:
    """One sentence per line."""
    reasons = [reason for listed in RANDOM_LINES.values() for reason in listed.values()]
    assert set(RANDOM_LINES) <= set(VERSIONS)
    assert [reason for reason in reasons if len(reason) < 20] == []
