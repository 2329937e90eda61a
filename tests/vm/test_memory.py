"""Where memory comes from, on a real kernel with two NUMA nodes: preferred, bound, interleaved, limited."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

MIB = 1 << 20
SHAPE = Shape(nodes=(Node(cpus=2, memory=640), Node(cpus=2, memory=384)), sockets=2)
SCRIPTS = Path(__file__).with_name("jobs")
FILES = {name: (SCRIPTS / name).read_text() for name in ("where.py", "steps.sh")}
TOO_MUCH = 420
"""MiB: more than node 1 has, less than both."""
SECONDS = 240
LIMITED = "cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/memory.max; python3 where.py 100; echo $?"
OWN_LEDGER = "NUMAFIT_STATE=$HOME/leases"
OCCUPIED = """. ./steps.sh
numactl --membind=0 python3 where.py 350 "$PWD/mark" > /dev/null &
until_true test -e mark
numafit run --cpus 1 --memory 250Mi -- python3 where.py 20
numafit free
rm mark
"""
HUGE = """pages=/sys/devices/system/node/node0/hugepages/hugepages-2048kB
echo 200 > $pages/nr_hugepages
cat $pages/nr_hugepages
numafit run --cpus 1 --memory 250Mi -- python3 where.py 20
echo 0 > $pages/nr_hugepages
"""
JOBS = (
    Job("preferred", "numafit run --cpus 2 -- python3 where.py 40", FILES),
    Job("spilled", f"numafit run --cpus 2 --node 1 -- python3 where.py {TOO_MUCH}", FILES),
    Job("bound", f"numafit run --node 1 --memory-bind bind -- python3 where.py {TOO_MUCH}", FILES),
    Job("promised", f"numafit run --cpus 1 --node 1 --memory 100Mi -- python3 where.py {TOO_MUCH}", FILES),
    Job("interleaved", "numafit run --cpus 2 --interleave -- python3 where.py 100", FILES),
    Job("node", "numafit run --cpus 1 --node 1 -- python3 where.py 40", FILES),
    Job("shared", "numafit run --node 1 -- python3 where.py 40", FILES),
    Job("limited", f"numafit run --limit-memory 64Mi -- sh -c '{LIMITED}'; ls -d /sys/fs/cgroup/numafit/*/", FILES),
    Job("occupied", OCCUPIED, FILES),
    Job("huge", HUGE, FILES),
    Job("worker", f"{OWN_LEDGER} numafit run --cpus 2 -- python3 where.py 40", FILES, user="worker"),
    Job("refused", f"{OWN_LEDGER} numafit run --limit-memory 64Mi -- echo ran", user="worker"),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    jobs = [job._replace(timeout=SECONDS) for job in JOBS]
    return run_jobs(SHAPE, jobs, tmp_path_factory.mktemp("memory"))


def told(result: Result) -> dict[str, Any]:
    assert result.status == 0, result.stderr
    return dict(json.loads(next(line for line in result.stdout.splitlines() if line.startswith("{"))))


def test_memory_of_a_job_that_asked_for_none_is_preferred(results: dict[str, Result]) -> None:
    """By a policy of the process: its cpuset, which would force, leaves it both nodes."""
    where = told(results["preferred"])
    assert (where["cpus"], where["mems"], set(where["pages"])) == ("0-1", "0-1", {"0"})
    assert (where["numactl"]["policy"], where["numactl"]["preferred node"]) == ("preferred", "0")
    assert "memory of node 0 first; bound by cgroup v2 (preferred 0)" in results["preferred"].stderr


def test_a_full_node_does_not_end_it_while_another_is_free(results: dict[str, Result]) -> None:
    where = told(results["spilled"])
    assert where["pages"]["0"] + where["pages"]["1"] >= TOO_MUCH * MIB
    assert min(where["pages"].values()) > 30 * MIB


@pytest.mark.parametrize("name", ["bound", "promised"])
def test_bound_memory_ends_with_its_node(results: dict[str, Result], name: str) -> None:
    """What the same program gets that asks for it, or was promised memory there: the kernel ends it."""
    assert (results[name].status, results[name].stdout) == (137, "")
    assert "memory of node 1; bound by cgroup v2" in results[name].stderr


def test_interleaved_memory_lies_on_all_nodes_alike(results: dict[str, Result]) -> None:
    where = told(results["interleaved"])
    assert (where["cpus"], where["numactl"]["policy"]) == ("0-1", "interleave")
    assert min(where["pages"].values()) > 45 * MIB
    assert "memory interleaved over node 0-1" in results["interleaved"].stderr


@pytest.mark.parametrize("name", ["node", "shared"])
def test_a_job_keeps_to_the_node_that_it_asked_for(results: dict[str, Result], name: str) -> None:
    """With CPUs of its own, and in the shared pool."""
    where = told(results[name])
    assert (where["cpus"], set(where["pages"])) == ("2" if name == "node" else "2-3", {"1"})


def test_a_limit_is_the_kernels(results: dict[str, Result]) -> None:
    """Nothing of its cgroup is left behind."""
    assert results["limited"].stdout.splitlines() == [str(64 * MIB), "137"]
    assert ", at most 64Mi; bound by cgroup v2" in results["limited"].stderr


def test_an_ordinary_user_has_the_policy_and_no_limit(results: dict[str, Result]) -> None:
    """One who asks for a limit that cannot be had is told why, and nothing starts."""
    where = told(results["worker"])
    assert (where["numactl"]["policy"], set(where["pages"])) == ("preferred", {"0"})
    refused = results["refused"]
    assert (refused.status, refused.stdout) == (2, "")
    assert "the memory of the job cannot be limited: cgroup v2: " in refused.stderr


def test_memory_that_a_stranger_uses_is_not_promised(results: dict[str, Result]) -> None:
    """By the claims the first node is free: nobody there has a lease."""
    where = told(results["occupied"])
    assert (where["cpus"], set(where["pages"])) == ("2", {"1"})
    assert "numafit: 250Mi on node 0 are free by the claims, and really " in results["occupied"].stderr
    assert ": the job goes to node 1\n" in results["occupied"].stderr
    assert "REALLY FREE" in results["occupied"].stdout


def test_memory_set_aside_for_huge_pages_is_not_promised(results: dict[str, Result]) -> None:
    """Of node 0 more than half are, and nobody uses them."""
    where = told(results["huge"])
    assert int(results["huge"].stdout.split()[0]) > 150
    assert (where["cpus"], set(where["pages"])) == ("2", {"1"})
