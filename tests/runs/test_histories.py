"""Histories that were thought out beforehand and then done to a real kubelet 1.36.4, a line each.

Each asks for something that the shared runs do not show: devices of init containers, resizes that wait while pods are
refused, starts that fail in between, huge pages and storage with critical pods, pod-level resources over restarts.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from numafit.replay.replay import replay

with gzip.open(Path(__file__).with_name("histories.jsonl.gz")) as _file:
    HISTORIES = [json.loads(line) for line in _file]


@pytest.mark.parametrize("case", HISTORIES, ids=[case["id"] for case in HISTORIES])
def test_a_history_goes_as_it_went(case: dict[str, Any]) -> None:
    found = replay(case)
    assert found.verdict == "match", str(found.difference)
