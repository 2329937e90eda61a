"""One who has waited starts without most of Python, and is bound as one who has not: on a real kernel with two NUMA
nodes and cgroups of version 2, where memory is directed by policies.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SHAPE = Shape(nodes=(Node(cpus=2, memory=640), Node(cpus=2, memory=384)), sockets=2)
SCRIPTS = Path(__file__).with_name("jobs")
FILES = {name: (SCRIPTS / name).read_text() for name in ("where.py", "steps.sh")}
SECONDS = 240
BOTH = """. ./steps.sh
export NUMAFIT_STATE=$PWD/leases
numafit run -q --cpus 3 -- sh -c 'touch held; until test -e free; do sleep 0.1; done' &
until_true test -e held
numafit run OPTIONS --wait -- sh -c 'tr "\\0" " " < /proc/$PPID/cmdline > parent; exec python3 where.py 40' &
until_true sh -c 'numafit ps | grep -q "^waits since"'
touch free
wait
grep -c wake/__main__.py parent
numafit run OPTIONS -- python3 where.py 40
numafit ps
"""
WAYS = {
    "preferred": "--cpus 2",
    "bound": "--cpus 2 --memory 60Mi",
    "interleaved": "--cpus 2 --interleave",
    "narrow": "--cpus 2 --node 1 --memory-bind bind",
}
JOBS = (
    *(Job(name, BOTH.replace("OPTIONS", options), FILES) for name, options in WAYS.items()),
    *(
        Job(f"{name}-by-a-user", BOTH.replace("OPTIONS", WAYS[name]), FILES, user="worker")
        for name in ("preferred", "interleaved")
    ),
)
HOW = {
    "preferred": "cgroup v2 (preferred 0)",
    "bound": "cgroup v2",
    "interleaved": "cgroup v2 (interleave 0-1)",
    "narrow": "cgroup v2",
    "preferred-by-a-user": "affinity and memory policy (preferred 0)",
    "interleaved-by-a-user": "affinity and memory policy (interleave 0-1)",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    jobs = [job._replace(timeout=SECONDS) for job in JOBS]
    return run_jobs(SHAPE, jobs, tmp_path_factory.mktemp("waiters"))


def told(result: Result) -> list[dict[str, Any]]:
    assert result.status == 0, result.stderr
    return [dict(json.loads(line)) for line in result.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("name", HOW)
def test_who_has_waited_is_bound_as_who_has_not(results: dict[str, Result], name: str) -> None:
    """CPUs, nodes, policy and where the pages lie, by the kernel's own files; its variables, and what is said of it."""
    result = results[name]
    waited, direct = told(result)
    for where in (waited, direct):
        where["pages"] = sorted(where["pages"])
        del where["variables"]["NUMAFIT_LEASE"]
    assert waited == direct
    said = [line.split(": ", 2)[2] for line in result.stderr.splitlines() if "bound by" in line and ": lease " in line]
    assert len(said) == 2
    assert said[0] == said[1]
    assert said[0].endswith(f"; bound by {HOW[name]}")


@pytest.mark.parametrize("name", HOW)
def test_it_was_the_small_one_that_started_it_and_nothing_is_left(results: dict[str, Result], name: str) -> None:
    lines = results[name].stdout.splitlines()
    assert "1" in lines
    assert lines[-1].startswith("No leases")
