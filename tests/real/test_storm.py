"""Two hundred jobs at once on this very host, many of them killed: nothing is held twice, nothing is lost."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real

STORM = Path(__file__).with_name("storm.py")
NUMAFIT = [sys.executable, "-m", "numafit"]
JOBS = 200
DEVICES = 64
RESOURCE = "example.com/dev"
SECONDS = 75
"""Then the storm is over, and what still waits is killed."""
CGROUPS = ("/sys/fs/cgroup/cpuset/numafit", "/sys/fs/cgroup/numafit")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This host may have few CPUs; so that many jobs fit at one time, most hold devices."""
    folder = tmp_path_factory.mktemp("ledger")
    lines = [f"- {{resource: {RESOURCE}, id: dev{number}, numa: 0}}" for number in range(DEVICES)]
    (folder / "host.yaml").write_text("\n".join(["devices:", *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def storm(ledger: Path) -> dict[str, Any]:
    plan = {
        "numafit": NUMAFIT,
        "ledger": str(ledger),
        "requests": requests(random.Random(5)),
        "jobs": JOBS,
        "atOnce": JOBS,
        "longest": 1.0,
        "seconds": SECONDS,
        "pause": 0.02,
        "kills": 0.12,
        "seed": 1,
    }
    (ledger / "plan.json").write_text(json.dumps(plan))
    done = subprocess.run(
        [sys.executable, str(STORM), str(ledger / "plan.json")],
        capture_output=True,
        text=True,
        timeout=SECONDS + 90,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def left(storm: dict[str, Any], ledger: Path) -> dict[str, Any]:
    """What `numafit ps` still lists after the storm; looking frees what nobody uses."""
    return numafit(ledger, "ps", "-o", "json")


@pytest.fixture(scope="module")
def history(left: dict[str, Any], ledger: Path) -> list[dict[str, Any]]:
    return list(numafit(ledger, "history", "-n", "10000", "-o", "json")["history"])


def requests(chance: random.Random) -> list[list[str]]:
    found = []
    for _ in range(100):
        words = ["--device", f"{RESOURCE}={chance.choice((1, 1, 1, 2, 2, 3, 4, 6))}"]
        alone = chance.random() < 0.1
        if alone or chance.random() < 0.15:
            words = [*([] if alone else words), "--cpus", "1"]
        if chance.random() < 0.1:
            words = ["--shared"]
        found.append([*words, *(["--wait=60s"] if chance.random() < 0.8 else [])])
    return found


def numafit(ledger: Path, *words: str) -> dict[str, Any]:
    command = [*NUMAFIT, *words, "--state-dir", str(ledger)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return dict(json.loads(done.stdout))


def test_nothing_is_held_twice_at_any_instant(storm: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a device nor an exclusive CPU, as the variables of living processes tell it. Each job with CPUs of its
    own is allowed these and no others, and shared work, which root can move, never those of somebody. The numbers show
    that there was something to see, also on a host that is busy with other things."""
    seen = storm["observer"]
    with capsys.disabled():
        print(
            f"\nstorm: {storm['jobs']} jobs, killed {storm['killed']}, statuses {storm['statuses']}; "
            f"{seen['looks']} looks, {len(seen['lastSeen'])} leases seen, at most {seen['most']} in one look"
        )
    assert (seen["twice"], seen["strayed"]) == ([], [])
    if os.geteuid() == 0:
        assert seen["intruded"] == []
    assert storm["jobs"] == JOBS
    assert min(seen["looks"], len(seen["lastSeen"])) >= 20
    assert min(storm["killed"].values()) >= 3
    assert seen["most"] > 1


def test_every_lease_is_freed_at_the_end(storm: dict[str, Any], left: dict[str, Any]) -> None:
    """However its job ended; nobody waits any more either."""
    assert storm["outlived"] == 0
    assert left == {"leases": [], "waiting": []}


def test_no_lease_is_lost(history: list[dict[str, Any]], storm: dict[str, Any]) -> None:
    """Each one that was taken was given back once, and each that was seen had been taken."""
    taken = Counter(entry["lease"] for entry in history if entry["event"] == "taken")
    ended = Counter(entry["lease"] for entry in history if entry["event"] in ("released", "freed"))
    assert set(taken.values()) == {1}
    assert ended == taken
    assert set(storm["observer"]["lastSeen"]) <= set(taken)


def test_no_lease_is_freed_while_its_job_lives(history: list[dict[str, Any]], storm: dict[str, Any]) -> None:
    """The history tells whole seconds, so a job must not be seen once the second of its end is over."""
    seen = storm["observer"]["lastSeen"]
    early = [
        entry["lease"]
        for entry in history
        if entry["event"] in ("released", "freed")
        and seen.get(entry["lease"], 0) >= datetime.fromisoformat(entry["time"]).timestamp() + 1
    ]
    assert early == []


def test_no_cgroup_stays_behind(history: list[dict[str, Any]]) -> None:
    """Also of those that were killed between making one and writing it down."""
    leases = {entry["lease"] for entry in history}
    there = {path.name for folder in CGROUPS for path in Path(folder).glob("*") if path.is_dir()}
    assert there & leases == set()


def test_every_job_ended_in_a_way_that_is_documented(storm: dict[str, Any]) -> None:
    """The command's status, a refusal, or a kill; and no traceback on the way."""
    assert set(map(int, storm["statuses"])) <= {0, 3, 75, 137, -9}
    known = ("Killed", "numafit: waits for ")
    assert {text for text in storm["told"] if not text.endswith("lease …") and not text.startswith(known)} == set()
