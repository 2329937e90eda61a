"""`numafit rank`, called as a launcher calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.bits import members, parse_cpuset
from numafit.host import environment as names
from numafit.host.run.rank import LAUNCHERS

BOX = "sketch:2 sockets x 4 cores x 2 threads, 8Gi per numa"
OF_LAUNCHERS = {name for launcher in LAUNCHERS for name in (launcher.rank, *launcher.size)}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name in OF_LAUNCHERS or name in names.OPENMP or name.startswith(names.OURS) or name == names.CUDA:
            monkeypatch.delenv(name)


def run(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    **variables: str,
) -> tuple[int, str, str]:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    status = main(["rank", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def started(rank: int, size: int, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since it becomes the command."""
    environment = {**os.environ, "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size), **variables}
    return subprocess.run(
        [sys.executable, "-m", "numafit", "rank", *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_shares_of_all_processes_stand_in_one_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The own one is marked."""
    status, out, _ = run(
        ["--dry-run", "--machine", BOX],
        capsys,
        monkeypatch,
        LOCAL_RANK="1",
        LOCAL_WORLD_SIZE="2",
        NUMAFIT_LEASE="a1",
        NUMAFIT_CPUS="0-5,8-13",
        NUMAFIT_MEMS="0-1",
    )
    assert (status, out.splitlines()) == (
        0,
        [
            "   RANK  GPU  GPU NODE  CPUS       MEMORY NODE",
            "   0     -    -         0-3,8-11   0",
            "*  1     -    -         4-5,12-13  1",
        ],
    )


def test_shares_follow_the_gpus(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, _ = run(
        ["--dry-run", "-o", "json", "--machine", "dgx-h100"],
        capsys,
        monkeypatch,
        OMPI_COMM_WORLD_LOCAL_RANK="0",
        OMPI_COMM_WORLD_LOCAL_SIZE="8",
    )
    record = json.loads(out)
    assert (status, record["launcher"], record["lease"], len(record["notes"])) == (0, "Open MPI", "", 1)
    assert [share["memoryNode"] for share in record["shares"]] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {share["gpuNode"] for share in record["shares"]} == {0, 1}
    assert record["shares"][0]["cpus"] == "0-13,112-125"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--dry-run"], "no launcher says"),
        ([], "no command to run"),
        (["--machine", BOX, "--", "true"], "--machine: goes with --dry-run only"),
        (["-o", "json", "--", "true"], "-o json: goes with --dry-run only"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = run(arguments, capsys, monkeypatch)
    assert status == 2
    assert text in err


def test_the_processes_of_a_job_get_all_cpus_and_none_twice() -> None:
    """Really bound: each tells what the kernel lets it use."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("only one CPU is allowed here")
    tell = "import os; print(*os.sched_getaffinity(0)); print(os.environ['NUMAFIT_RANK_CPUS'])"
    seen: list[int] = []
    for rank in range(2):
        first, second = started(rank, 2, "--", sys.executable, "-c", tell).stdout.splitlines()
        assert list(members(parse_cpuset(second))) == [int(word) for word in first.split()]
        seen += map(int, first.split())
    assert sorted(seen) == sorted(allowed)


def test_openmp_is_told_about_the_share_and_cuda_keeps_what_it_had() -> None:
    """What the lease set for the whole job gives way; what the user set stays, with a sentence."""
    allowed = sorted(os.sched_getaffinity(0))
    cpu = str(allowed[0])
    variables = {
        "NUMAFIT_LEASE": "a1",
        "NUMAFIT_CPUS": cpu,
        "NUMAFIT_DEVICES": "nvidia.com/gpu=GPU-a,GPU-b",
        "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b",
        "GOMP_CPU_AFFINITY": cpu,
        "OMP_NUM_THREADS": "7",
    }
    show = "printenv OMP_NUM_THREADS OMP_PLACES GOMP_CPU_AFFINITY CUDA_VISIBLE_DEVICES NUMAFIT_LEASE NUMAFIT_RANK_GPU"
    done = started(0, 1, "--omp", "--", *show.split(), **variables)
    assert done.stdout.splitlines() == ["7", f"{{{cpu}}}", cpu, "GPU-a,GPU-b", "a1", "GPU-a"]
    assert done.stderr == ("numafit: OMP_NUM_THREADS=7 of your environment is kept, but there is 1 CPU for it\n")


def test_no_thread_is_pinned_unless_that_is_asked_for() -> None:
    show = "printenv OMP_NUM_THREADS; printenv OMP_PLACES GOMP_CPU_AFFINITY"
    cpus = len(os.sched_getaffinity(0))
    assert started(0, 1, "--", "sh", "-c", show).stdout.splitlines() == [str(cpus)]


def test_explain_says_what_this_process_got() -> None:
    done = started(0, 1, "--explain", "--", "true")
    assert done.returncode == 0
    assert "numafit: process 0 of 1 (torchrun): CPUs " in done.stderr


def test_the_command_takes_the_place_of_numafit() -> None:
    """Its status is the status; what cannot start is reported as shells do."""
    assert started(0, 1, "--", "sh", "-c", "exit 9").returncode == 9
    done = started(0, 1, "--", "no-such-command")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (127, "numafit: no-such-command: command not found")


def test_the_host_file_says_where_its_devices_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else knows of them."""
    (tmp_path / "host.yaml").write_text("devices:\n- {resource: nvidia.com/gpu, id: mine, numa: 0}\n")
    status, out, _ = run(
        ["--dry-run", "-o", "json"],
        capsys,
        monkeypatch,
        LOCAL_RANK="0",
        LOCAL_WORLD_SIZE="1",
        NUMAFIT_STATE=str(tmp_path),
        NUMAFIT_LEASE="a1",
        NUMAFIT_CPUS="0",
        NUMAFIT_MEMS="0",
        NUMAFIT_DEVICES="nvidia.com/gpu=mine",
    )
    (share,) = json.loads(out)["shares"]
    assert (status, share["gpu"], share["gpuNode"]) == (0, "mine", 0)


def test_a_part_of_the_lease_is_taken_by_its_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = run(
        ["--dry-run", "--machine", BOX],
        capsys,
        monkeypatch,
        LOCAL_RANK="0",
        LOCAL_WORLD_SIZE="2",
        NUMAFIT_LEASE="a1",
        NUMAFIT_CPUS="0,4,8,12",
        NUMAFIT_MEMS="0-1",
        NUMAFIT_SHARES="4,12@1@;0,8@0@",
    )
    assert (status, [line.split() for line in out.splitlines()][1:]) == (
        0,
        [["*", "0", "-", "-", "4,12", "1"], ["1", "-", "-", "0,8", "0"]],
    )


def test_a_launcher_that_was_pinned_does_not_narrow_its_processes(tmp_path: Path) -> None:
    """An OpenMP library pins who loads it, and what he starts inherits that. The lease says what the job has."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU cannot be narrowed")
    lease = {"NUMAFIT_LEASE": "a1", "NUMAFIT_CPUS": f"{cpus[0]},{cpus[1]}", "NUMAFIT_MEMS": "0"}
    lease["NUMAFIT_SHARES"] = f"{cpus[0]}@0@;{cpus[1]}@0@"
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    os.sched_setaffinity(0, {cpus[0]})
    try:
        done = started(1, 2, "--", sys.executable, "-c", code, NUMAFIT_STATE=str(tmp_path), **lease)
    finally:
        os.sched_setaffinity(0, cpus)
    assert (done.stdout, done.stderr) == (f"[{cpus[1]}]\n", "")
