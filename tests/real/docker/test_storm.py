"""Containers of a real engine and plain jobs at once, killed in each way there is and started again: nothing is held
twice, nothing stays held. NUMAFIT_STORM_SECONDS makes it longer.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.ledgers import eventually
from tests.real.docker.conftest import Numafit
from tests.real.docker.engine import Engine
from tests.real.docker.storm import ContainerStorm

pytestmark = pytest.mark.real

SECONDS = float(os.environ.get("NUMAFIT_STORM_SECONDS", "36"))
RESTS = 3
DEVICES = 8
ENDS = {0, 75, 125, 137, -signal.SIGKILL}
"""Done, refused, a container that was removed while Docker started it, killed, and numafit killed."""


@pytest.fixture
def storm(engine: Engine, numafit: Numafit) -> Iterator[ContainerStorm]:
    lines = [f"- {{resource: example.com/dev, id: dev{number}, numa: 0}}" for number in range(DEVICES)]
    numafit.folder.mkdir()
    (numafit.folder / "host.yaml").write_text("\n".join(["devices:", *lines, ""]))
    made = ContainerStorm(engine, numafit, seed=11)
    try:
        yield made
    finally:
        made.end()
        made.close()


def test_whatever_is_killed_nothing_is_held_twice_or_for_ever(
    storm: ContainerStorm, numafit: Numafit, capsys: pytest.CaptureFixture[str]
) -> None:
    """All the time: no device and no CPU has two holders, and each holder runs on its CPUs and no others. Whenever the
    storm rests, a look makes the ledger and the kernel agree, also on containers that were started again. At the end
    all is free, each lease was given back as often as it was taken, and no cgroup is left."""
    for _ in range(RESTS):
        storm.rage(SECONDS / RESTS)
        storm.rest()
    storm.end()
    eventually(lambda: numafit.leases() == [])
    seen = storm.watcher
    with capsys.disabled():
        print(
            f"\nstorm of containers: {dict(storm.done)}, statuses {dict(storm.statuses)}; {seen.looks} looks, "
            f"{len(seen.last_seen)} leases seen, at most {seen.most} in one look"
        )
    assert (seen.twice, seen.strayed) == (set(), set())
    assert storm.statuses.keys() <= ENDS
    assert [line for line in storm.told if "Traceback" in line] == []
    assert len(storm.done) >= 7
    assert len(seen.last_seen) >= 10
    entries = _history(numafit)
    begun = Counter(entry["lease"] for entry in entries if entry["event"] in ("taken", "rebuilt"))
    ended = Counter(entry["lease"] for entry in entries if entry["event"] in ("released", "freed"))
    moved = {entry["lease"] for entry in entries if entry["event"] == "moved"}
    assert {lease: count for lease, count in (begun - ended).items() if lease not in moved} == {}
    assert {lease: count for lease, count in (ended - begun).items() if lease not in moved} == {}
    left = {path.name for path in Path("/sys/fs/cgroup").glob("**/numafit/*")}
    assert left & set(begun) == set()


def _history(numafit: Numafit) -> list[dict[str, str]]:
    done = numafit("history", "-n", "10000", "-o", "json")
    found: list[dict[str, str]] = json.loads(done.stdout)["history"]
    return found
