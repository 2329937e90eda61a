"""Programs that are started, watched and taken down, with shell scripts in their place."""

import sys
from pathlib import Path

import pytest

from numafit.cluster.up.command import run_command
from numafit.cluster.up.control_plane import ControlPlane
from numafit.cluster.up.folder import ClusterFolder
from numafit.cluster.up.processes import until
from numafit.errors import InputError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")


@pytest.fixture
def cluster(tmp_path: Path) -> ControlPlane:
    own = ControlPlane(ClusterFolder(tmp_path, kept=False), {})
    own.logs.mkdir()
    return own


def test_a_program_that_ends_is_told_with_its_last_words(cluster: ControlPlane) -> None:
    cluster.start("long", ["sleep", "100"])
    cluster.start("short", ["sh", "-c", "for i in 1 2 3 4 5; do echo line $i; done; exit 4"])
    with pytest.raises(InputError) as told:
        cluster.wait_for("rain", lambda: None, 30)
    cluster.stop()
    assert told.value.message == "short ended with status 4; the end of its log: line 3 / line 4 / line 5"
    assert all(process.returncode is not None for process in cluster.processes.values())


def test_what_never_comes_ends_with_the_log_of_whom_all_wait_for(cluster: ControlPlane) -> None:
    cluster.start("slow", ["sh", "-c", "echo thinking; exec sleep 100"])
    until("it thinks", 10, lambda: cluster.log("slow"))
    with pytest.raises(InputError, match="still not so that it is ready; the end of its log: thinking"):
        cluster.wait_for("it is ready", lambda: None, 0.1)
    cluster.stop()


def test_a_program_that_is_none_is_one_sentence(cluster: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("not a program")
    (tmp_path / "etcd").chmod(0o755)
    with pytest.raises(InputError, match="etcd: cannot be started: Exec format error"):
        cluster.start("etcd", [str(tmp_path / "etcd")])


def test_the_log_of_the_last_start_is_kept_beside(cluster: ControlPlane) -> None:
    for word in ("first", "second"):
        cluster.start("own", ["echo", word])
        cluster.processes["own"].wait()
    assert cluster.log("own") == "second\n"
    assert (cluster.logs / "own.log.before").read_text() == "first\n"


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$", 137), ('test -n "$KUBECONFIG"', 0)])
def test_the_status_of_a_command_is_ours(cluster: ControlPlane, script: str, status: int) -> None:
    assert run_command(["sh", "-c", script], cluster, print) == status


def test_a_command_that_is_not_there_is_one_sentence(cluster: ControlPlane) -> None:
    with pytest.raises(InputError, match="no-such-command: cannot be run: No such file or directory"):
        run_command(["no-such-command"], cluster, print)


def test_a_command_goes_on_when_a_part_of_the_cluster_ends(cluster: ControlPlane, tmp_path: Path) -> None:
    """It may be what the command is about."""
    cluster.start("part", ["false"])
    cluster.processes["part"].wait()
    said, sign = list[str](), tmp_path / "said"

    def warn(text: str) -> None:
        said.append(text)
        sign.touch()

    assert run_command(["sh", "-c", f"until [ -e {sign} ]; do sleep 0.05; done"], cluster, warn) == 0
    assert said == ["part ended with status 1; its log is empty (--state DIR keeps the whole log)"]
