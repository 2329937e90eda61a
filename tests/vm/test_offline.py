"""CPUs that go offline under a lease, in virtual machines: the kernel takes them away for real, the job is moved where
something is free, and `ps` and `audit` tell of it."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

STEPS = {"steps.sh": (Path(__file__).with_name("jobs") / "steps.sh").read_text()}
NODES = (Node(cpus=4, memory=512), Node(cpus=4, memory=384))
SECONDS = 240
"""For a job; on a host that has nothing else to do they take 20."""
SCRIPT = """
. ./steps.sh
start() {
    mark=$1; shift
    $AS numafit run -q "$@" -- sh -c 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 600' "$PWD/$mark" &
    until_true test -e "$mark" || exit 1
}
look() {
    $AS numafit ps > "$OUT/$1" 2>&1
    cpus_of "$(cat first)" > "$OUT/$1-cpus"
}
audit() { $AS numafit audit --leases -o json > "$OUT/$1-audit"; }
cpu() { echo "$2" > "/sys/devices/system/cpu/cpu$1/online"; }
chmod 777 .
export NUMAFIT_STATE=$PWD/ledger
$AS mkdir ledger
start first --cpus 3
look before
cpu 1 0
audit lost
look moved
audit moved
start second --cpus 4
cpu 2 0
look stuck
audit stuck
cpu 1 1
$AS numafit run -q --cpus 1 -- echo ran > "$OUT/next" 2>&1
look freed
cpu 2 1
kill "$(cat first)" "$(cat second)"
until_true sh -c '$AS numafit ps | grep -q "^No leases"'
"""
AS_WORKER = "export AS='setpriv --reuid worker --regid worker --clear-groups'\n"


JOBS = {2: {"root": SCRIPT, "worker": AS_WORKER + SCRIPT}, 1: {"root": SCRIPT}}
"""By version of cgroups. Root's jobs are held by them, and the first takes a CPU that goes offline out of each cpuset
for good; those of an ordinary user are held by affinity in either."""
CASES = [(version, user) for version, scripts in JOBS.items() for user in scripts]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], dict[str, Result]]:
    @cache
    def booted(version: Literal[1, 2]) -> dict[str, Result]:
        shape = Shape(nodes=NODES, sockets=2, cgroup=version)
        jobs = [Job(user, script, STEPS, timeout=SECONDS) for user, script in JOBS[version].items()]
        return run_jobs(shape, jobs, tmp_path_factory.mktemp("vm"))

    return booted


@pytest.fixture(params=CASES, ids=lambda case: f"{case[1]} with cgroup v{case[0]}")
def result(machines: Callable[[int], dict[str, Result]], request: pytest.FixtureRequest) -> Result:
    version, user = request.param
    found = machines(version)[user]
    assert found.status == 0, found.stderr
    return found


def told(result: Result, name: str) -> str:
    return (result.folder / name).read_text()


def findings(result: Result, name: str) -> list[tuple[str, str]]:
    found: list[dict[str, Any]] = json.loads(told(result, f"{name}-audit"))["findings"]
    return [(one["code"], one["sentence"]) for one in found]


def test_a_job_whose_cpu_went_offline_is_moved_to_one_that_is_free(result: Result) -> None:
    """On its own NUMA node; the kernel confirms it, and nothing is left to be found."""
    assert told(result, "before-cpus") == "0-2\n"
    assert "of its CPUs 1 went offline; it was moved to CPUs 0,2-3" in told(result, "moved")
    assert told(result, "moved-cpus") == "0,2-3\n"
    assert findings(result, "moved") == []


def test_audit_finds_it_and_moves_nothing(result: Result) -> None:
    """It only reads."""
    assert findings(result, "lost") == [("NA015", "CPU 1 of its CPUs 0-2 is offline")]


def test_where_nothing_is_free_it_is_told(result: Result) -> None:
    """By ps and audit; the job goes on with what it has left, though an affinity still names what is gone."""
    assert ": CPU 2 is offline, and nothing else is free for it" in told(result, "stuck")
    assert findings(result, "stuck") == [("NA015", "CPU 2 of its CPUs 0,2-3 is offline")]
    assert told(result, "stuck-cpus") in ("0,3\n", "0,2-3\n")


def test_the_next_job_sees_to_it_first(result: Result) -> None:
    """A CPU that came back goes to the lease that lacks one, and the new job finds none."""
    assert "of its CPUs 2 went offline; it was moved to CPUs 0-1,3" in told(result, "next")
    assert "1 CPU is asked for and none is free" in told(result, "next")
    assert told(result, "freed-cpus") == "0-1,3\n"
    assert "offline" not in told(result, "freed")
