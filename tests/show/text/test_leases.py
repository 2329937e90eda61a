"""Leases as tables: what `ps`, `free` and `history` print."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import parse_cpuset
from numafit.host.bind.target import CGROUP_V2
from numafit.host.book.tables import LeaseEvent
from numafit.host.free import free_on
from numafit.host.lease import Lease
from numafit.host.usage import MemoryUsage, Usage
from numafit.host.verdicts import lease_alignments
from numafit.ledger.ledger import Block
from numafit.show.table import Screen
from numafit.show.text.leases import free_text, history_text, leases_text
from tests.host.ledgers import host_named

PAGE = Path(__file__).resolve().parents[3] / "docs" / "leases.md"
GIB = 1 << 30
NOW = 1_800_000_000.0
HELD = [
    Lease(
        "1f0c9a3e",
        "",
        1000,
        "ann",
        NOW - 7260,
        "python train.py",
        exclusive=parse_cpuset("0-3,64-67"),
        nodes=0b01,
        memory=(Block((0,), "memory", 32 * GIB),),
        devices={"nvidia.com/gpu": ("GPU0", "GPU1")},
        rung=CGROUP_V2,
        sentence="CPUs 0-3,64-67, 32Gi, GPU0, GPU1 on node 0",
    ),
    Lease(
        "77b1d20c", "notes", 1001, "bob", NOW - 90, "./notebook.sh", bound=parse_cpuset("4-63,68-127"), rung=CGROUP_V2
    ),
]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW)


def shown(command: str) -> str:
    """What the page shows under a command that it cannot run: the leases of a host differ."""
    found = re.search(rf"^```text\n\$ numafit {command}\n(.*?)\n```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, command
    return found[1]


def test_the_page_shows_leases_as_ps_prints_them() -> None:
    table, _, waiting = shown("ps").rpartition("\n")
    host = host_named("gpu8-128cpu")
    assert table == leases_text(HELD, {}, lying=lease_alignments(host, HELD))
    assert waiting.startswith("waits since 2027-01-15T08:00:00Z as w7: eve for 8 nvidia.com/gpu (place 1: ")


def test_the_page_shows_what_is_left_as_free_prints_it() -> None:
    memory = {0: MemoryUsage(97 * GIB, 120 * GIB), 1: MemoryUsage(240 * GIB, 12 * GIB)}
    host = replace(host_named("gpu8-128cpu"), usage=Usage(memory))
    assert shown("free") == free_text(free_on(host, HELD), {})


def test_the_page_shows_what_happened_as_history_prints_it() -> None:
    events = [
        LeaseEvent(2, NOW, "released", "1f0c9a3e", "ann", sentence=HELD[0].sentence, command="python train.py"),
        LeaseEvent(1, NOW - 7260, "taken", "1f0c9a3e", "ann", sentence=HELD[0].sentence, command="python train.py"),
    ]
    assert shown("history") == history_text(events)


def test_on_a_narrow_terminal_a_lease_takes_two_lines() -> None:
    lines = leases_text(HELD, {}, Screen(80)).splitlines()
    assert lines[2] == "    BOUND BY cgroup v2; COMMAND python train.py"
    assert max(map(len, lines)) <= 80
