"""The stories of what real kubelet code decided: every claim is so there, too."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from numafit.decision import decide
from numafit.decision.admit import admit
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.story.story import story_of
from numafit.ledger.ledger import Ledger
from numafit.managers.protocol import Choices
from numafit.replay.cases import scenario
from numafit.replay.replay import replay
from numafit.workload.pod import Pod
from tests.decision.story.truth import check_story

RECORDINGS = Path(__file__).resolve().parents[2].parent / "shared" / "oracle"
VERSIONS = ("v1.20.1", "v1.27.3", "v1.34.11", "v1.36.4")
EACH = 40
"""One line of so many is told."""
MOST_NODES = 5
"""Every set of NUMA nodes is tried, and there are too many on larger machines."""


@pytest.mark.parametrize("family", ["node", "memory", "devices", "seed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_claim_about_a_recorded_decision_is_so(
    version: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scenarios with restarts, vanished devices, groups of memory and init containers (1.20 to 1.36)."""
    file = RECORDINGS / version / f"{family}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"the recordings of the kubelet are not here: no {version}/{family}")
    told = 0

    def telling(node: Node, ledger: Ledger, pod: Pod, choices: Choices | None = None) -> Decision:
        nonlocal told
        decision = admit(node, ledger, pod, choices)
        if len(node.machine.numa_nodes) <= MOST_NODES:
            check_story(node, decision, story_of(node, decision))
            told += 1
        return decision

    monkeypatch.setattr(scenario, "admit", telling)
    monkeypatch.setattr(decide, "admit", telling)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in islice(lines, 0, None, EACH):
            replay(json.loads(line))
    assert told
