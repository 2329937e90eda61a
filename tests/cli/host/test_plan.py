"""`numafit run --dry-run` and `--print` on machines of the catalogue."""

import json
import os
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.host.children import needs_cpus
from tests.host.ledgers import job, numafit

PLANS = {
    "gpu8-128cpu --cpus 8 --memory 32Gi --gpus 2 --explain": """\
CPUs            0-3,64-67 (8, exclusive)
NUMA nodes      0
memory          32Gi on node 0
nvidia.com/gpu  GPU0, GPU1
aligned         yes
why             CPUs 0-3,64-67, 32Gi, GPU0, GPU1 on node 0
GPUs            NUMA 0; linked by PIX; score 50
""",
    "dgx-a100 --cpus 16 --gpus 4 --explain": """\
CPUs            16-19,48-51,144-147,176-179 (16, exclusive)
NUMA nodes      1,3
memory          not held, preferred from node 1,3
nvidia.com/gpu  GPU0, GPU1, GPU2, GPU3
aligned         yes: each device has CPUs and memory on its own node
why             CPUs 16-19,48-51,144-147,176-179, GPU0, GPU1, GPU2, GPU3 on nodes 1,3
GPUs            crosses NUMA nodes 1, 3 (2+2): no node has more than 2 GPUs; all pairs NV12; score 80
""",
    "gpu8-128cpu --node 1 --policy none --limit-memory 8Gi": """\
CPUs        32-63,96-127 (64, shared)
NUMA nodes  1
memory      not held, preferred from node 1; at most 8Gi
aligned     not looked at
""",
    "gpu8-128cpu --gpus 2 --ranks 2 --cpus-per-rank 3": """\
CPUs            0-3,64-67 (8, exclusive; 6 asked for, in whole cores)
NUMA nodes      0
memory          not held, preferred from node 0
nvidia.com/gpu  GPU0, GPU1
aligned         yes
rank 0          CPUs 0-1,64-65, memory of node 0, GPU0
rank 1          CPUs 2-3,66-67, memory of node 0, GPU1
""",
    "dgx-a100 --cpus 16 --gpus 4 --like-kubelet --explain": """\
CPUs            16-23,144-151 (16, exclusive)
NUMA nodes      1
memory          not held, preferred from node 1
nvidia.com/gpu  GPU0, GPU1, GPU2, GPU3
aligned         no: it crosses NUMA nodes
why             CPUs 16-23,144-151 on node 1; GPU0, GPU1, GPU2, GPU3 on nodes 1,3, not aligned
""",
    "gb200 --cpus 4 --gpus 1": """\
CPUs            0-3 (4, exclusive)
NUMA nodes      0
memory          not held, preferred from node 0
nvidia.com/gpu  GPU0
aligned         yes
""",
    "grace-hopper --gpus 1": """\
CPUs            0-71 (72, shared)
NUMA nodes      0
memory          not held, preferred from node 0
nvidia.com/gpu  GPU0
aligned         yes
""",
    "laptop": """\
CPUs        0-7 (8, shared)
NUMA nodes  0
memory      not held, preferred from node 0
aligned     yes
""",
}
LINES = {
    "numactl -- ./solver 'a b'": "numactl --physcpubind=0-3,64-67 --membind=0 ./solver 'a b'\n",
    "docker -- image": (
        "docker run --cpuset-cpus=0-3,64-67 --cpuset-mems=0 --gpus '\"device=0,1\"' --memory=8g --shm-size=4g image\n"
    ),
    "systemd -- ./solver": ("systemd-run --scope -p AllowedCPUs=0-3,64-67 -p AllowedMemoryNodes=0 -- ./solver\n"),
    "env --omp": """\
export NUMAFIT_CPUS=0-3,64-67
export NUMAFIT_MEMS=0
export NUMAFIT_NODES=0
export NUMAFIT_DEVICES=nvidia.com/gpu=GPU0,GPU1
export OMP_NUM_THREADS=8
export OMP_PLACES='{0},{64},{1},{65},{2},{66},{3},{67}'
export GOMP_CPU_AFFINITY=0,64,1,65,2,66,3,67
export NUMAFIT_MEMORY=8589934592@0
""",
}


@pytest.fixture(autouse=True)
def own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "ledger"))


@pytest.mark.parametrize("words", PLANS)
def test_a_plan_is_told_in_few_lines(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--dry-run", "--machine", *words.split()]) == 0
    assert capsys.readouterr() == (PLANS[words], "")


@pytest.mark.parametrize("words", LINES)
def test_a_line_for_another_tool_is_printed_with_a_warning(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    options = ["--machine", "gpu8-128cpu", "--cpus", "8", "--gpus", "2", "--memory", "8Gi"]
    assert main(["run", *options, "--print", *shlex.split(words)]) == 0
    out, err = capsys.readouterr()
    assert out == LINES[words]
    assert err.endswith("numafit: nothing is held: another job may get the same CPUs and devices\n")
    assert ("--shm-size=4g is added" in err) == words.startswith("docker")


def test_json_has_the_plan_and_the_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--machine", "laptop", "--cpus", "2", "--dry-run", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "cpus": "0,4",
        "exclusive": True,
        "nodes": "0",
        "mems": "0",
        "memory": [],
        "devices": {},
        "aligned": True,
        "sentence": "CPUs 0,4 on node 0",
        "gpuReason": "",
        "environment": {
            "NUMAFIT_CPUS": "0,4",
            "NUMAFIT_MEMS": "0",
            "NUMAFIT_NODES": "0",
            "NUMAFIT_DEVICES": "",
            "NUMAFIT_BIND": "prefer",
            "OMP_NUM_THREADS": "2",
        },
        "bind": "prefer",
        "shares": [],
    }


def test_what_cannot_be_aligned_is_75_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    words = "run --machine dgx-a100 --cpus 40 --policy single-numa-node --dry-run"
    assert main(words.split()) == 75
    assert capsys.readouterr() == (
        "",
        "numafit: no lease for 40 CPUs: 40 CPUs need any 2 of nodes 0-7 together (at most 32 CPUs can be had on one "
        "node): `single-numa-node` rejects it.\n",
    )


def test_a_plan_takes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--dry-run", "--cpus", "1"]) == 0
    assert main(["ps"]) == 0
    assert capsys.readouterr().out.endswith("No leases: nobody holds anything.\n")


def test_a_plan_for_another_machine_needs_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That of this host may belong to others."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "file"))
    assert main(["run", "--machine", "laptop", "--cpus", "2", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("CPUs        0,4 (2, exclusive)\n")


def test_a_plan_on_this_host_keeps_to_the_cpus_that_the_caller_may_use(tmp_path: Path) -> None:
    """As the job itself would."""
    needs_cpus(2)
    first = min(os.sched_getaffinity(0))
    done = numafit(tmp_path, "run", "--dry-run", before=("taskset", "-c", str(first)))
    assert done.stdout.startswith(f"CPUs        {first} (1, shared)\n")
    done = numafit(tmp_path, "docker", "plan", before=("taskset", "-c", str(first)))
    assert done.stdout.startswith(f"--cpuset-cpus={first}\n")


def test_a_plan_is_refused_where_the_job_would_be(tmp_path: Path) -> None:
    """With every CPU held there is no shared pool, and a line without CPUs would be of no use to anybody."""
    everything = str(len(os.sched_getaffinity(0)))
    with job(tmp_path, "--cpus", everything):
        done = numafit(tmp_path, "run", "--print", "numactl", "--", "true")
    assert (done.returncode, done.stdout) == (75, "")
    assert "there is no shared pool to run in" in done.stderr


def test_a_line_that_cannot_limit_memory_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["run", "--machine", "laptop", "--cpus", "2", "--limit-memory", "1Gi", "--print"]
    for tool, limits in {"numactl": False, "env": False, "systemd": True, "docker": True}.items():
        assert main([*options, tool, "--", "image"]) == 0
        out, err = capsys.readouterr()
        assert ("this line does not limit its memory" in err) == (not limits)
        assert ("MemoryMax=1073741824" in out or "--memory=1g" in out) == limits


@pytest.mark.parametrize("tool", ["numactl", "systemd"])
def test_a_line_for_another_tool_names_gpus_or_says_that_it_does_not(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their UUIDs, in a variable; a machine of the catalogue has none."""
    words = ["run", "--cpus", "4", "--gpus", "1", "--print", tool]
    assert main([*words, "--machine", "dgx-h100", "--", "train"]) == 0
    out, err = capsys.readouterr()
    assert not out.startswith("CUDA_VISIBLE_DEVICES")
    assert "this line does not give it GPU0: the command has to be told to use it\n" in err
    assert main(["machine", "show", "--machine", "dgx-h100", "-o", "yaml"]) == 0
    machine = capsys.readouterr().out.replace("GPU0", "GPU-5f2c")
    (tmp_path / "box.yaml").write_text(machine)
    assert main([*words, "--machine", str(tmp_path / "box.yaml"), "--", "train"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("CUDA_VISIBLE_DEVICES=GPU-5f2c ")
    assert "does not give" not in err
