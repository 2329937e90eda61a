"""`numafit cluster up` with real programs, as a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from numafit.cli.commands import COMMANDS
from tests.kube.build import RELEASE, binaries, missing
from tests.kube.processes import stop, until

pytestmark = pytest.mark.real

END_SECONDS = 30
SIMULATED = """\
format: numafit/nodes/v1
nodes:
  - {name: gpu, count: 2, machine: dgx-h100}
  - {name: small, machine: "sketch:2 sockets x 4 cores, 8Gi per numa"}
"""


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("NUMAFIT_KUBE_BINARIES", str(binaries()))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))


def words(*more: str) -> list[str]:
    return [sys.executable, "-m", "numafit", "cluster", "up", *more]


@contextmanager
def up(tmp_path: Path, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """The process, and what it said when all was there."""
    out = tmp_path / "out"
    with out.open("wb") as output:
        process = subprocess.Popen(words("-o", "json", *more), stdout=output, stderr=subprocess.PIPE)
    try:

        def told() -> bytes:
            assert process.poll() is None, process.stderr and process.stderr.read()
            return out.read_bytes()

        yield process, json.loads(until("it is up", 90, told))
    finally:
        stop(process, END_SECONDS)
        if process.stderr is not None:
            process.stderr.close()


def kubectl(kubeconfig: str, *more: str) -> str:
    command = [str(binaries() / "kubectl"), f"--kubeconfig={kubeconfig}", *more]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def alive(processes: Sequence[int]) -> list[int]:
    """Those that run; who has ended and is not yet fetched does not."""
    found = []
    for process in processes:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            continue
        found += [process] if state != "Z" else []
    return found


def test_a_command_finds_the_cluster_and_its_status_is_ours(tmp_path: Path) -> None:
    script = f"{binaries() / 'kubectl'} get namespaces -o name && exit 7"
    done = subprocess.run(words("--", "sh", "-c", script), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (7, "namespace/default", "")
    assert os.listdir(tmp_path / "tmp") == []


def test_a_folder_is_used_again_with_its_certificates_ports_and_data(tmp_path: Path) -> None:
    """SIGINT ends it and leaves nothing that runs. Who copied the kubeconfig has one for next time."""
    folder = tmp_path / "state"
    with up(tmp_path, "--state", str(folder)) as (process, first):
        assert (first["release"], first["kept"], first["nodes"]) == (RELEASE, True, [])
        kubectl(first["kubeconfig"], "create", "namespace", "stays")
        # a second one is refused
        done = subprocess.run(words("--state", str(folder)), capture_output=True, text=True, check=False)
        said = f"numafit: {folder}: a cluster of this folder is up already (process {process.pid})"
        assert (done.returncode, done.stderr.partition(" (end")[0]) == (2, said)
        process.send_signal(signal.SIGINT)
        assert process.wait(END_SECONDS) == 0
        assert alive([own["pid"] for own in first["programs"].values()]) == []
    authority = (folder / "pki" / "ca.crt").read_bytes()
    with up(tmp_path, "--state", str(folder)) as (process, second):
        assert "namespace/stays" in kubectl(first["kubeconfig"], "get", "namespaces", "-o", "name")
        assert second["server"] == first["server"]
        assert (folder / "pki" / "ca.crt").read_bytes() == authority
        # killed, it leaves nothing that runs either
        process.kill()
        process.wait()
        until("all have ended", 60, lambda: not alive([own["pid"] for own in second["programs"].values()]))
    assert folder.is_dir()


def test_a_part_that_ends_ends_all_and_its_log_is_told(tmp_path: Path) -> None:
    with up(tmp_path) as (process, told):
        os.kill(told["programs"]["kube-scheduler"]["pid"], signal.SIGKILL)
        assert process.wait(END_SECONDS) == 2
        assert process.stderr is not None
        assert b"kube-scheduler ended by signal 9; the end of its log: " in process.stderr.read()
        assert alive([own["pid"] for own in told["programs"].values()]) == []
    assert os.listdir(tmp_path / "tmp") == []


def test_a_program_that_does_not_start_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    """Here an etcd of nobody's."""
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        (tmp_path / name).symlink_to(binaries() / name)
    (tmp_path / "etcd").write_text("#!/bin/sh\necho no room for the database >&2\nexit 3\n")
    (tmp_path / "etcd").chmod(0o755)
    done = subprocess.run(words("--binaries", str(tmp_path)), capture_output=True, text=True, check=False)
    said = "numafit: etcd ended with status 3; the end of its log: no room for the database (--state DIR keeps the"
    assert (done.returncode, done.stderr.startswith(said), done.stdout) == (2, True, ""), done.stderr
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.skipif("kubelet-sim" not in COMMANDS, reason="there is no command that plays nodes")
def test_simulated_nodes_are_ready_when_it_says_that_it_is_up(tmp_path: Path) -> None:
    """And when it starts again: nodes of the first time that nobody plays any more are not counted."""
    file, folder = tmp_path / "nodes.yaml", str(tmp_path / "state")
    file.write_text(SIMULATED)
    with up(tmp_path, "--nodes", str(file), "--state", folder) as (_, first):
        assert first["nodes"] == ["gpu-0", "gpu-1", "small"]
        states = kubectl(first["kubeconfig"], "get", "nodes", "--no-headers").splitlines()
        assert [line.split()[1] for line in states] == ["Ready"] * 3
    assert alive([own["pid"] for own in first["programs"].values()]) == []
    file.write_text(SIMULATED.replace("count: 2", "count: 1"))
    with up(tmp_path, "--nodes", str(file), "--state", folder) as (_, second):
        assert second["nodes"] == ["gpu-0", "small"]
