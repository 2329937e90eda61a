"""Jobs of several processes in a virtual machine with two NUMA nodes: Debian's Open MPI, Slurm and torchrun start them,
and the kernel's own files say where each of them and its pages lie."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.bits import members, parse_cpuset
from tests.coming_from import pair_for
from tests.vm import Job, Node, Result, Shape, run_jobs
from tests.vm.image import LAUNCHERS

pytestmark = pytest.mark.real

JOBS = Path(__file__).with_name("jobs")
FILES = {name: (JOBS / name).read_text() for name in ("where.py", "steps.sh", "slurm.sh")}
SHAPE = Shape(nodes=(Node(cpus=8, memory=768), Node(cpus=8, memory=768)), sockets=2, threads=2)
"""CPUs 0-7 on the first node, the threads of a core side by side."""
GPUS = {"gpu0": 1, "gpu1": 0, "gpu2": 1, "gpu3": 0}
"""Their NUMA nodes: who only counted would be wrong for each of them."""
SECONDS = 900
"""For a job; on a host that has nothing else to do they take 5 to 60."""

HOST_FILE = "\n".join(
    [
        "devices:",
        *(f"- {{resource: nvidia.com/gpu, id: {gpu}, numa: {node}}}" for gpu, node in GPUS.items()),
        *(f"- {{resource: example.com/npu, id: npu{number}, numa: {number // 4}}}" for number in range(5)),
        "",
    ]
)
RANK = """numafit rank -- sh -c 'python3 where.py 20 > "$OUT/$NUMAFIT_RANK_GPU"'"""
RUN = "numafit run -q --gpus 4 --ranks 4 --cpus-per-rank 2 --"
MPIRUN = "mpirun --allow-run-as-root --oversubscribe"
TORCHRUN = """#!/bin/sh
set -- $(echo "$@" | sed 's/nproc-per-node/nproc_per_node/; s/no-python/no_python/')
exec python3 -m torch.distributed.run -r 1 -t 1 --master_port 29555 "$@"
"""
"""Debian's torch is older than these spellings, and does not read its own default of -r and -t under Python 3.11."""
TRAIN = """import os, subprocess
with open(f"{os.environ['OUT']}/{os.environ['NUMAFIT_RANK_GPU']}", "w") as file:
    subprocess.run(["python3", "where.py", "20"], stdout=file, check=True)
"""
PROGRAMS = {
    "solver": "#!/bin/sh\nexec python3 where.py 20\n",
    "torchrun": TORCHRUN,
    "python": '#!/bin/sh\nexec python3 "$@"\n',
    "train.py": TRAIN,
}
"""What the lines of docs/coming-from.md name."""


def job(name: str, script: str) -> Job:
    files = {**FILES, **PROGRAMS, "host.yaml": HOST_FILE}
    return Job(name, f". ./steps.sh\nPATH=$PWD:$PATH\n{script}", files, timeout=SECONDS)


def lines(today: str) -> str:
    """Of docs/coming-from.md: what people type today, and the same for numafit."""
    return "\n".join(pair_for(today))


def jobs() -> list[Job]:
    return [
        job("start", "echo 127.0.0.1 guest >> /etc/hosts; numafit run -q -- true && cp host.yaml /var/lib/numafit/"),
        job("spread", "numafit run -q --cpus 8 --memory 200Mi --gpus 4 -- python3 where.py 10"),
        job("uneven", "numafit run -q --cpus 10 --device example.com/npu=5 -- python3 where.py 10"),
        job(
            "cores",
            """
            hold first --cpus 1
            numafit run --cpus 1 -- python3 where.py 1
            hold second --cpus 1 --threads
            numafit run -q --cpus 1 --threads -- python3 where.py 1
            rm first second
            """,
        ),
        job("mpirun", f"{RUN} {MPIRUN} -n 4 --bind-to none {RANK}"),
        job("mpirun-alone", f"numafit run -q --cpus 4 -- {MPIRUN} -n 2 python3 where.py 1"),
        job("mpirun-page", "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n" + lines("mpirun")),
        job("torchrun", pair_for("torchrun").ours),
        job(
            "srun",
            f"""
            . ./slurm.sh
            {RUN} srun -n 4 --cpu-bind=none {RANK}
            hold first --cpus 8
            numafit run -q --cpus 2 -- srun -n 1 --cpu-bind=none python3 where.py 1
            rm first
            echo "the page"
            {lines("srun -n 4")}
            """,
        ),
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    found = run_jobs(SHAPE, jobs(), tmp_path_factory.mktemp("vm"), packages=LAUNCHERS)
    assert found["start"].status == 0, found["start"].stderr
    return found


def told(text: str) -> list[dict[str, Any]]:
    """The lines of `where.py`."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def cpus_by_node(where: dict[str, Any]) -> list[int]:
    cpus = list(members(parse_cpuset(where["cpus"])))
    return [sum(1 for cpu in cpus if cpu in SHAPE.cpus_of(node)) for node in range(len(SHAPE.nodes))]


def test_cpus_and_memory_go_to_the_nodes_of_the_devices(results: dict[str, Result]) -> None:
    """Two GPUs on each node, four and four CPUs; four devices here and one there, eight and two."""
    (even,) = told(results["spread"].stdout)
    assert (cpus_by_node(even), even["mems"]) == ([4, 4], "0-1")
    assert even["variables"]["NUMAFIT_MEMORY"] == f"{100 << 20}@0;{100 << 20}@1"
    (uneven,) = told(results["uneven"].stdout)
    assert (cpus_by_node(uneven), uneven["mems"]) == ([8, 2], "0-1")


def test_two_jobs_of_one_cpu_share_no_core(results: dict[str, Result]) -> None:
    """The sibling is held and bound, too, and the line about the lease says so; with --threads it is not."""
    whole, single = told(results["cores"].stdout)
    assert (whole["cpus"], single["cpus"]) == ("2-3", "3")
    assert "CPUs 2-3 (whole cores, 1 asked for)" in results["cores"].stderr


@pytest.mark.parametrize(("launcher", "each"), [("mpirun", 2), ("torchrun", 4), ("srun", 2)])
def test_each_process_lies_beside_its_gpu(results: dict[str, Result], launcher: str, each: int) -> None:
    """By /proc/self/status and numa_maps: cores of its own on the node of its GPU, and its pages there."""
    result = results[launcher]
    places = {gpu: told(path.read_text())[0] for gpu in GPUS if (path := result.folder / gpu).exists()}
    assert set(places) == set(GPUS), result.stderr
    cpus = [cpu for where in places.values() for cpu in members(parse_cpuset(where["cpus"]))]
    assert len(cpus) == len(set(cpus)) == 4 * each
    for gpu, where in places.items():
        assert cpus_by_node(where)[GPUS[gpu]] == each
        assert where["pages"][str(GPUS[gpu])] >= 20 << 20
        assert where["numactl"]["preferred"] == str(GPUS[gpu])


@pytest.mark.parametrize(("name", "launcher"), [("mpirun-alone", "mpirun binds"), ("srun", "srun lets Slurm's")])
def test_a_launcher_without_rank_does_not_bind_silently(results: dict[str, Result], name: str, launcher: str) -> None:
    """Said also with -q: what was asked for does not happen by itself."""
    assert f"numafit: {launcher}" in results[name].stderr


def test_what_mpirun_starts_is_in_the_lease(results: dict[str, Result]) -> None:
    """Where Open MPI binds it by itself, as it does with two processes: each to some of these CPUs."""
    for where in told(results["mpirun-alone"].stdout):
        assert where["variables"]["NUMAFIT_CPUS"] == "0-3"
        assert not parse_cpuset(where["cpus"]) & ~parse_cpuset("0-3")
    assert len(told(results["mpirun-alone"].stdout)) == 2


def test_what_srun_starts_is_outside_of_the_lease(results: dict[str, Result]) -> None:
    """What the sentence says is so: the task runs where Slurm lets it, also on CPUs that another job holds."""
    (where,) = told(results["srun"].stdout.partition("the page\n")[0])
    assert where["variables"]["NUMAFIT_CPUS"] == "8-9"
    assert not parse_cpuset(where["cpus"]) & parse_cpuset("8-9")


@pytest.mark.parametrize("name", ["mpirun-page", "srun"])
def test_the_line_for_who_comes_from_a_launcher_gives_each_process_as_much(
    results: dict[str, Result], name: str
) -> None:
    """docs/coming-from.md: on one NUMA node each, as the launcher by itself; and no two of them share a CPU."""
    places = told(results[name].stdout.partition("the page\n")[2] or results[name].stdout)
    theirs, ours = places[:4], places[4:]
    assert (len(theirs), len(ours)) == (4, 4), results[name].stderr
    assert all(min(cpus_by_node(where)) == 0 for where in (*theirs, *ours))
    cpus = [cpu for where in ours for cpu in members(parse_cpuset(where["cpus"]))]
    assert sorted(cpus) == list(range(16))
    assert [sum(cpus_by_node(where)) for where in ours] == [4] * 4
