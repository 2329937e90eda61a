"""`numafit docker`, as far as it can be called without a Docker engine."""

import json
import os
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.host.fake_docker import described, fake_engine

BOX = ["--machine", str(Path(__file__).resolve().parents[4] / "examples/gpu-box/machine.yaml")]


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "ledger"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["docker", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_plan_is_a_line_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(["plan", *BOX, "--cpus", "8", "--gpus", "2", "--", "--name", "x y", "box"], capsys)
    assert (status, out) == (
        0,
        "docker run --cpuset-cpus=0-3,64-67 --gpus '\"device=0,1\"' --shm-size=16g --name 'x y' box\n",
    )
    assert err.startswith("numafit: --shm-size=16g is added: ")


def test_a_plan_without_an_image_is_only_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(["plan", *BOX, "--cpus", "2", "--memory", "1Gi"], capsys)
    assert (status, out) == (0, "--cpuset-cpus=0,64 --cpuset-mems=0 --memory=1g\n")


def test_a_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(["plan", *BOX, "--cpus", "2", "--gpus", "1", "-o", "json"], capsys)
    assert (status, json.loads(out)) == (
        0,
        {
            "flags": ["--cpuset-cpus=0,64", "--gpus", '"device=0"'],
            "notes": [],
            "cpus": "0,64",
            "exclusive": True,
            "nodes": "0",
            "mems": "0",
            "memory": [],
            "devices": {"nvidia.com/gpu": ["GPU0"]},
        },
    )


def test_what_cannot_be_aligned_is_refused_with_status_75(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(["plan", *BOX, "--gpus", "5", "--policy", "single-numa-node"], capsys)
    assert (status, out) == (75, "")
    assert err.startswith("numafit: no lease for 5 nvidia.com/gpu: ")


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_contradiction_is_bad_input(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run([command, "--cpus", "1", "--", "--gpus", "all", "image"], capsys)
    assert (status, out) == (2, "")
    assert err == (
        "numafit: --gpus: all would give the container GPUs that are not those of its lease "
        "(leave it out, and ask with numafit's own --gpus before the --)\n"
    )


def test_without_an_engine_nothing_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(["run", "--cpus", "1", "--", "image"], capsys)
    assert (status, err) == (
        2,
        f"numafit: the Docker engine does not answer: unix://{tmp_path}/none: No such file or directory "
        "(start it, or set DOCKER_HOST; `docker info` must work)\n",
    )
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:2375", "ssh://box"])
def test_an_engine_elsewhere_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lease of this machine is nothing to a container on another one."""
    monkeypatch.setenv("DOCKER_HOST", address)
    status, _, err = run(["run", "--cpus", "1", "--", "image"], capsys)
    assert (status, err) == (
        2,
        f"numafit: {address}: its containers run on another machine (run numafit there, or unset DOCKER_HOST)\n",
    )


def test_an_engine_with_another_kernel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Docker of a desktop has its containers in a virtual machine, with CPUs of its own."""
    with fake_engine(tmp_path / "socket") as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        status, _, err = run(["run", "--cpus", "1", "--", "image"], capsys)
    assert status == 2
    assert "its containers run on another kernel (6.1.0-test), such as that of a virtual machine" in err


def test_a_container_keeps_its_devices_when_it_is_adopted(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(["adopt", "web", "--gpus", "1"], capsys)
    assert (status, err) == (
        2,
        "numafit: --device: a running container keeps the devices that it has (leave --gpus and --device away)\n",
    )


def test_a_container_that_does_not_run_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.host.fake_docker.KERNEL", os.uname().release)
    with fake_engine(tmp_path / "socket") as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        engine.containers = [described("c1", "exited")]
        assert run(["adopt", "c1"], capsys)[2] == (
            "numafit: c1: the container does not run, it is exited (start it first)\n"
        )
        assert run(["adopt", "c9"], capsys)[2] == (
            "numafit: c9: there is no such container (`docker ps` lists those that run)\n"
        )


def test_the_lines_of_a_script_are_reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong, what numafit adds, and how to ask for it; status 1 when anything is wrong and --check asks."""
    script = tmp_path / "start.sh"
    script.write_text("docker run -d --cpuset-cpus=0-1 --cpuset-mems=1 --gpus device=0 image\n")
    assert run(["plan", *BOX, "--file", str(script)], capsys)[0] == 0
    status, out, _ = run(["plan", *BOX, "--file", str(script), "--check"], capsys)
    assert (status, out) == (
        1,
        f"""\
{script}:1: image: 2 CPUs, 1 nvidia.com/gpu
  as written    CPUs 0-1, memory of node 1, GPU0 (node 0)
  wrong         its memory may come from node 1, its CPUs are on node 0
  numafit adds  --cpuset-cpus=0,64 --cpuset-mems=0 --gpus '"device=0"'
  run it as     numafit docker run --cpus 2 --memory-bind bind --gpus 1 -- -d image
""",
    )
    script.write_text("docker run -d image\n")
    status, out, _ = run(["plan", *BOX, "--file", str(script), "-o", "json"], capsys)
    assert (status, json.loads(out)["lines"][0]["command"]) == (0, "numafit docker run -- -d image")


def test_what_cannot_be_read_of_a_script_is_told_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values that a shell puts in are not known, and lines that begin otherwise are not read; the rest is reviewed."""
    script = tmp_path / "start.sh"
    script.write_text("docker run --cpuset-cpus=$CPUS --gpus device=0 one\nFOO=1 docker run two\n")
    status, out, errors = run(["plan", *BOX, "--file", str(script), "--check"], capsys)
    assert (status, out.splitlines()[1]) == (0, "  as written    CPUs $CPUS, memory of any node, GPU0 (node 0)")
    assert errors.splitlines() == [
        f"numafit: {script}:2: not read: FOO=1 docker run two (only a line that begins with `docker run` is)",
        f"numafit: {script}:1: --cpuset-cpus $CPUS is not known here, and left out of the plan",
    ]
    script.write_text("docker run one\ndocker run --cpuset-cpus=abc two\n")
    assert run(["plan", *BOX, "--file", str(script)], capsys) == (
        2,
        "",
        f'numafit: {script}:2: --cpuset-cpus: "abc" is not a list like 0-3,8\n',
    )


def test_a_file_without_docker_lines_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "start.sh"
    script.write_text("echo hello\n")
    assert run(["plan", *BOX, "--file", str(script)], capsys) == (
        2,
        "",
        f"numafit: {script}: has no `docker run` line\n",
    )
