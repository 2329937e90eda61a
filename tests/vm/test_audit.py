"""`numafit audit` in a virtual machine: it finds planted mistakes, and nothing where all is well."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SECONDS = 240
"""For a job; on a host that has nothing else to do they take 10 to 15."""
SHAPE = Shape(nodes=(Node(cpus=4, memory=768), Node(cpus=4, memory=512)))
SCRIPTS = Path(__file__).with_name("jobs")
FILES = {name: (SCRIPTS / name).read_text() for name in ("where.py", "steps.sh", "stray.py")}

LEASED = """. ./steps.sh
numafit run -q --cpus 2 -- python3 where.py 80 "$PWD/mark" &
until_true test -e mark
numafit audit --leases -o json > "$OUT/neighbours"; echo $?
# The cure: all others keep to the rest. Threads of the kernel have no command line.
for process in /proc/[0-9]*; do
    if [ -n "$(tr '\\0' x < $process/cmdline)" ] && ! grep -q /numafit/ $process/cgroup; then
        taskset -apc 2-7 ${process#/proc/} > /dev/null 2>&1
    fi
done
numafit audit --leases -o json > "$OUT/clean"; echo $?
taskset -c 0 sh -c 'while :; do :; done' &
intruder=$!
until_true grep -q '^Cpus_allowed_list:.0$' /proc/$intruder/status
numafit audit --leases -o json > "$OUT/intruder"; echo $?
echo $intruder
kill $intruder
rm mark
"""

LOOSE = """. ./steps.sh
for node in 0 1; do
    numactl --physcpubind=0-1 --membind=$node python3 where.py 100 "$PWD/mark$node" > /dev/null &
    until_true test -e mark$node
    numafit audit $! -o json > "$OUT/$node"; echo $?
    rm mark$node
done
"""

WORKER = """. ./steps.sh
export NUMAFIT_STATE=$HOME/leases
numafit run -q --cpus 2 -- numactl --membind=1 python3 where.py 100 "$PWD/far" &
until_true test -e far
numafit audit --leases -o json > "$OUT/far"; echo $?
rm far
wait
numafit run -q --cpus 2 -- python3 stray.py "$PWD/stray" 5 &
until_true test -e stray
sleep 1
numafit audit --leases -o json > "$OUT/stray"; echo $?
rm stray
"""

JOBS = (
    Job("loose", LOOSE, FILES, timeout=SECONDS),
    Job("worker", WORKER, FILES, "worker", SECONDS),
    # Last: it moves also the first process, which starts the jobs.
    Job("leased", LEASED, FILES, timeout=SECONDS),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return run_jobs(SHAPE, JOBS, tmp_path_factory.mktemp("vm"))


def findings(result: Result, name: str) -> dict[str, dict[str, Any]]:
    """By code."""
    return {found["code"]: found for found in json.loads((result.folder / name).read_text())["findings"]}


def statuses(result: Result) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.isdecimal()]


def test_nothing_is_found_of_a_lease_that_is_kept(results: dict[str, Result]) -> None:
    """Its CPUs and pages are as promised, and all others keep away; exit 0."""
    assert findings(results["leased"], "clean") == {}
    assert statuses(results["leased"])[1] == "0"


def test_neighbours_that_may_run_on_exclusive_cpus_are_found(results: dict[str, Result]) -> None:
    """A cpuset keeps a job in, and nobody out; exit 1. Those that just ran there are another finding of the same."""
    found = findings(results["leased"], "neighbours")
    assert set(found) <= {"NA007", "NA008"}
    assert 1 in [pid for one in found.values() for pid in one["others"]]
    assert statuses(results["leased"])[0] == "1"


def test_an_intruder_on_exclusive_cpus_is_found(results: dict[str, Result]) -> None:
    """It and nothing else, with the command that moves it away."""
    *_, status, intruder = statuses(results["leased"])
    found = findings(results["leased"], "intruder")
    assert (status, list(found)) == ("1", ["NA007"])
    assert (found["NA007"]["others"], found["NA007"]["cure"]) == ([int(intruder)], f"taskset -apc 2-7 {intruder}")


def test_memory_far_from_the_cpus_is_found_without_a_lease(results: dict[str, Result]) -> None:
    """CPUs of node 0: memory bound there is well, bound to node 1 is not."""
    assert statuses(results["loose"]) == ["0", "1"]
    assert findings(results["loose"], "0") == {}
    assert set(findings(results["loose"], "1")) == {"NA013"}


def test_memory_elsewhere_than_promised_is_found(results: dict[str, Result]) -> None:
    """An ordinary user's job may change its memory policy: numactl inside of it did."""
    found = findings(results["worker"], "far")
    assert {"NA001", "NA004"} <= set(found)
    assert "lies on NUMA node 1, but NUMA node 0 was promised" in found["NA001"]["sentence"]


def test_a_thread_outside_of_its_cpus_is_found(results: dict[str, Result]) -> None:
    """One of two, on CPU 5."""
    found = findings(results["worker"], "stray")
    assert found["NA002"]["sentence"] == "1 of 2 threads ran last on CPU 5, but CPU 0-1 was promised"
    assert statuses(results["worker"]) == ["1", "1"]
