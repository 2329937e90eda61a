"""The lines of docs/coming-from.md in a virtual machine with two NUMA nodes, beside Debian's numactl, taskset and
hwloc-bind: where both let a program run and put its memory is the kernel's to say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.coming_from import BESIDE, pair_for
from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SHAPE = Shape(nodes=(Node(cpus=8, memory=640), Node(cpus=8, memory=512)), sockets=2, threads=2)
SCRIPTS = Path(__file__).with_name("jobs")
FILES = {name: (SCRIPTS / name).read_text() for name in ("where.py", "steps.sh")}
MIB = 1 << 20
SECONDS = 300
WHERE = "exec python3 where.py 40"
HOST_FILE = "devices:\n" + "".join(
    f"- {{resource: nvidia.com/gpu, id: gpu{number}, numa: {number // 2}}}\n" for number in range(4)
)
SMALLER = {"8Gi": "200Mi", "2h": "1s", "=10": "=1", "measure --node": "measure --rounds 1 --node"}
"""The guest has little memory, and nobody waits for two hours."""


def smaller(line: str) -> str:
    for large, small in SMALLER.items():
        line = line.replace(large, small)
    return line


def ours(today: str) -> str:
    return smaller(pair_for(today).ours)


def both(today: str) -> str:
    return "\n".join(map(smaller, pair_for(today)))


def job(name: str, script: str, solver: str = WHERE) -> Job:
    files = {**FILES, "solver": f"#!/bin/sh\n{solver}\n", "host.yaml": HOST_FILE}
    return Job(name, f". ./steps.sh\n{script}", files, timeout=SECONDS)


def beside(number: int, today: str) -> Job:
    return job(f"beside-{number}", both(today))


HELD = f"""
hold first --cpus 8
{pair_for("taskset").today}
{ours("taskset")}
hold second --cpus 8
{ours("srun --immediate -c")}; echo "status $?"
{ours("srun -c 8")} > waited &
waiter=$!
until_true sh -c 'numafit ps | grep "^waits"'
rm second
wait $waiter
cat waited
rm first
"""
GPU = f"""
hold all --gpus 4
{ours("flock")} > waited &
waiter=$!
until_true sh -c 'numafit ps | grep "^waits"'
cat waited
echo freed
rm all
wait $waiter
cat waited
"""
LOOKED_AT = f"""
lease() {{ numafit ps -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["leases"][0]["id"])'; }}
hold first --cpus 2 --name mine
{ours("squeue")}
{ours("numactl --hardware")}
PID=$!
{ours("numastat").replace("PID", "$PID")} || exit 1
{ours("hwloc-ps")}; echo "status $?"
{ours("pidstat")} > watched &
until_true grep -q "CPUS USED" watched
kill $!
{ours("scancel 1234").replace("LEASE", "$(lease)")}
hold second --cpus 2
{ours("scancel -u")}
{ours("squeue")}
{ours("sacct")}
"""
JOBS = [
    job("start", "mkdir -p /var/lib/numafit && cp host.yaml /var/lib/numafit/"),
    *(beside(number, today) for number, today in enumerate(BESIDE)),
    job("omp", both("OMP_PLACES"), "env | grep OMP_ | sort"),
    job("limit", ours("systemd-run"), "cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/memory.max"),
    job("memory", ours("srun --mem")),
    job("time", both("timeout").replace("\n", "; echo $?\n") + "; echo $?", "sleep 300"),
    job("hours", ours("srun --time"), "numafit ps"),
    job("nice", ours("srun --nice"), "numafit ps -o json"),
    job("minute", ours("srun --immediate=60")),
    job("gpus", ours("srun --gpus")),
    job("gres", ours("srun --gres"), "echo $NUMAFIT_DEVICES"),
    job("hint", ours("srun --hint")),
    job("exclusive", ours("srun --exclusive")),
    job("held", HELD),
    job("gpu", GPU, "echo $NUMAFIT_DEVICES"),
    job("looked-at", LOOKED_AT),
    job("measure", f"{ours('mlc')} --size 8Mi --rounds 1\n{ours('hyperfine')}"),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return run_jobs(SHAPE, JOBS, tmp_path_factory.mktemp("vm"))


def told(result: Result) -> list[dict[str, Any]]:
    """The lines of `where.py`."""
    assert result.status == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def nodes_of(where: dict[str, Any]) -> set[str]:
    """With a quarter or more of what it touched."""
    return {node for node, size in where["pages"].items() if size > 10 * MIB}


@pytest.mark.parametrize(
    ("today", "cpus", "own", "nodes"),
    [
        ("numactl -N 1 -m 1", "8-15", "8-15", {"1"}),
        ("numactl --preferred", "0-15", "8-15", {"1"}),
        ("numactl --interleave=all", "0-15", "0-15", {"0", "1"}),
        ("numactl --interleave=0,1", "0-15", "0-15", {"0", "1"}),
        ("numactl -C", "0-7", "0-7", {"0"}),
        ("taskset", "0-7", "0-7", {"0"}),
        ("hwloc-bind", "0-7", "0-7", {"0"}),
    ],
)
def test_both_lines_lead_to_the_same_place(
    results: dict[str, Result], today: str, cpus: str, own: str, nodes: set[str]
) -> None:
    """While nobody holds anything: CPUs by /proc/self/status, pages by numa_maps."""
    theirs, mine = told(results[f"beside-{BESIDE.index(today)}"])
    assert (theirs["cpus"], mine["cpus"]) == (cpus, own)
    assert nodes_of(theirs) == nodes_of(mine) == nodes


def test_what_is_held_is_left_alone(results: dict[str, Result]) -> None:
    """taskset looks at nobody. What is not free is refused with 75, or waited for."""
    theirs, mine, waited = told(results["held"])
    assert (theirs["cpus"], mine["cpus"], waited["cpus"]) == ("0-7", "8-15", "8-15")
    assert "\nstatus 75\n" in results["held"].stdout


def test_a_gpu_is_waited_for(results: dict[str, Result]) -> None:
    assert results["gpu"].stdout == "freed\nnvidia.com/gpu=gpu0\n", results["gpu"].stderr


def test_places_of_openmp_are_those_of_its_cpus(results: dict[str, Result]) -> None:
    theirs, _, mine = results["omp"].stdout.partition("OMP_PROC_BIND=close\n")
    assert theirs == "OMP_PLACES=cores\n"
    assert "OMP_NUM_THREADS=8\nOMP_PLACES={0},{1},{2},{3},{4},{5},{6},{7}\n" in mine


def test_a_limit_and_held_memory_are_the_kernels(results: dict[str, Result]) -> None:
    assert results["limit"].stdout == f"{200 * MIB}\n"
    (where,) = told(results["memory"])
    assert (where["mems"], where["variables"]["NUMAFIT_MEMORY"]) == ("0", f"{200 * MIB}@0")


def test_times_end_a_job_or_are_shown(results: dict[str, Result]) -> None:
    """timeout has a status of its own, numafit that of the command."""
    assert results["time"].stdout.split() == ["124", "143"]
    assert " of 8h " in results["hours"].stdout


def test_a_lower_priority_and_a_minute_start_at_once_on_an_idle_host(results: dict[str, Result]) -> None:
    assert results["nice"].status == 0, results["nice"].stderr
    (lease,) = json.loads(results["nice"].stdout)["leases"]
    assert lease["exclusive"] == "0-7"
    assert told(results["minute"])[0]["cpus"] == "0-7"


def test_each_gpu_has_its_cpus_beside_it(results: dict[str, Result]) -> None:
    assert told(results["gpus"])[0]["cpus"] == "0-3,8-11"


def test_devices_whole_cores_and_the_whole_host_are_to_be_had(results: dict[str, Result]) -> None:
    """Threads of a core are side by side here: eight are four cores."""
    assert results["gres"].stdout == "nvidia.com/gpu=gpu0,gpu1\n", results["gres"].stderr
    assert told(results["hint"])[0]["cpus"] == "0-7"
    assert told(results["exclusive"])[0]["cpus"] == "0-15"


def test_leases_are_shown_judged_and_ended(results: dict[str, Result]) -> None:
    looked = results["looked-at"]
    assert looked.status == 0, looked.stderr
    assert "6 of 8" in looked.stdout
    assert "No leases: nobody holds anything." in looked.stdout
    assert re.findall(r"^cancelled", looked.stdout, re.MULTILINE) == ["cancelled"] * 2
    assert len(re.findall(r"^\S+Z +cancelled ", looked.stdout, re.MULTILINE)) == 2


def test_the_machine_and_a_command_are_measured(results: dict[str, Result]) -> None:
    assert results["measure"].status == 0, results["measure"].stderr
    assert "read bandwidth" in results["measure"].stdout
    assert "bound badly" in results["measure"].stdout
