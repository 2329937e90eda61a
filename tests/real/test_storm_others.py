"""A storm of several users and pid namespaces on one ledger: whole namespaces and all jobs of a user are killed."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numafit.host.book.folder import SHARED_FOLDER
from numafit.host.process.identity import INITIAL_NAMESPACE
from tests.host.ledgers import eventually
from tests.real.numafit import NOBODY, Done, environment, lacking, numafit, python
from tests.real.test_storm import DEVICES, RESOURCE, STORM

pytestmark = pytest.mark.real

JOBS = 60
SECONDS = 60
"""Then it is over, and what still waits is killed."""
GROUP = 54300
USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={GROUP}", "--clear-groups"]
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


@pytest.fixture(scope="module")
def interpreter() -> str:
    found = "" if lacking() else python()
    if not found:
        pytest.skip(lacking() or "no interpreter that an ordinary user may run has numafit's packages")
    if Path("/proc/self/ns/pid").stat().st_ino != INITIAL_NAMESPACE:
        pytest.skip("the other pid namespaces of this machine cannot be seen from this one")
    return found


@pytest.fixture(scope="module")
def ledger(interpreter: str) -> Iterator[Path]:
    """Of a group, as `numafit host setup` makes it. Not among pytest's folders, which it closes again whenever another
    one starts."""
    with tempfile.TemporaryDirectory(prefix="numafit-storm-") as name:
        yield shared_ledger(Path(name), interpreter)


def shared_ledger(above: Path, interpreter: str) -> Path:
    above.chmod(0o755)
    folder = above / "ledger"
    folder.mkdir()
    lines = [f"- {{resource: {RESOURCE}, id: dev{number}, numa: 0}}" for number in range(DEVICES)]
    (folder / "host.yaml").write_text("\n".join(["devices:", *lines, ""]))
    os.chown(folder, 0, GROUP)
    folder.chmod(SHARED_FOLDER)
    done = numafit(folder, "run", "--shared", "--", "true", interpreter=interpreter)
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def storm(ledger: Path, interpreter: str) -> dict[str, Any]:
    plan = {
        "numafit": [interpreter, "-m", "numafit"],
        "ledger": str(ledger),
        "requests": [
            ["--device", f"{RESOURCE}=2", "--wait=40s"],
            ["--device", f"{RESOURCE}=5"],
            ["--cpus", "1", "--wait=40s"],
            ["--shared"],
        ],
        "ways": [[], USER, NAMESPACE, NAMESPACE],
        "user": NOBODY,
        "jobs": JOBS,
        "atOnce": 20,
        "longest": 3.0,
        "seconds": SECONDS,
        "pause": 0.02,
        "kills": 0.3,
        "seed": 3,
    }
    file = ledger.with_name("plan.json")
    file.write_text(json.dumps(plan))
    done = subprocess.run(
        [sys.executable, str(STORM), str(file)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS + 120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


def test_nothing_is_held_twice_whoever_was_killed(storm: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    seen = storm["observer"]
    with capsys.disabled():
        print(
            f"\nstorm of users and namespaces: {storm['jobs']} jobs, killed {storm['killed']}, statuses "
            f"{storm['statuses']}; {seen['looks']} looks, {len(seen['lastSeen'])} leases seen"
        )
    assert (seen["twice"], seen["strayed"]) == ([], [])
    assert storm["killed"]["namespaces"] >= 2
    assert storm["killed"]["users"] >= 1


def test_nothing_stays_held(storm: dict[str, Any], ledger: Path, interpreter: str) -> None:
    """Told by an ordinary user, who may look at nobody else's environment, and then by root."""
    assert storm["outlived"] == 0

    def left(user: int) -> Done:
        return numafit(ledger, "ps", "-o", "json", user=user, group=GROUP, interpreter=interpreter)

    for user in (NOBODY, 0):
        eventually(lambda user=user: json.loads(left(user).stdout) == {"leases": [], "waiting": []})  # type: ignore[misc]


def test_every_lease_that_was_taken_was_given_back_once(storm: dict[str, Any], ledger: Path, interpreter: str) -> None:
    done = numafit(ledger, "history", "-n", "10000", "-o", "json", interpreter=interpreter)
    entries = json.loads(done.stdout)["history"]
    taken = sorted(entry["lease"] for entry in entries if entry["event"] == "taken")
    ended = sorted(entry["lease"] for entry in entries if entry["event"] in ("released", "freed"))
    assert taken == ended
    assert len(set(taken)) == len(taken) >= 5
    users = Counter(entry["user"] for entry in entries if entry["event"] == "taken")
    assert min(users["root"], users["nobody"]) >= 3
