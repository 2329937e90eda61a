"""Containers of a real Podman, with storage of their own: pinned as their lease says, and followed until they end."""

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coming_from import pair_for
from tests.real.docker.conftest import until
from tests.real.docker.engine import IMAGE, first_core
from tests.real.docker.podman import Podman
from tests.real.docker.podman import missing as lacking

pytestmark = pytest.mark.real

LONG = ("sleep", "3571")


@pytest.fixture(scope="module")
def shared_podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    if why := lacking():
        pytest.skip(why)
    podman = Podman(tmp_path_factory.mktemp("podman"))
    try:
        if why := podman.prepare():
            pytest.skip(why)
        yield podman
    finally:
        podman.close()


@pytest.fixture
def podman(shared_podman: Podman, tmp_path: Path) -> Iterator[Podman]:
    shared_podman.ledger = tmp_path / "ledger"
    yield shared_podman
    shared_podman.remove_containers()


def detached(podman: Podman, name: str, cpus: int = 1) -> str:
    done = podman.numafit("podman", "run", "--cpus", str(cpus), "--", "-d", "--name", name, IMAGE, *LONG)
    assert done.returncode == 0, done.stderr
    return str(next(lease["id"] for lease in podman.leases() if lease["name"] == name))


def test_the_kernel_shows_the_cpus_of_the_lease(podman: Podman) -> None:
    """Affinity and cpuset of the first process; the memory is limited."""
    script = "grep _allowed_list /proc/self/status; env; cat /sys/fs/cgroup/memory*/memory.limit_in_bytes; true"
    words = ("podman", "run", "--cpus", "1", "--memory", "64Mi", "--", "--rm", IMAGE, "sh", "-c", script)
    done = podman.numafit(*words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    told = dict(line.split("=", 1) for line in lines if line.startswith("NUMAFIT_"))
    allowed = dict(line.split(":\t", 1) for line in lines if "_allowed_list" in line)
    assert allowed == {"Cpus_allowed_list": told["NUMAFIT_CPUS"], "Mems_allowed_list": told["NUMAFIT_MEMS"]}
    assert podman.leases() == []


def test_the_line_for_who_comes_from_podman_leads_to_the_same_cpu(podman: Podman) -> None:
    """docs/coming-from.md, on an idle host."""
    look = f"--rm {IMAGE} grep Cpus_allowed_list /proc/self/status"
    (_, *today), (_, *ours) = (shlex.split(line.replace("IMAGE", look)) for line in pair_for("podman run"))
    assert podman(*today).stdout == "Cpus_allowed_list:\t0\n"
    assert podman.numafit(*ours).stdout == f"Cpus_allowed_list:\t{first_core()}\n"


def test_a_container_keeps_its_lease_until_it_ends(podman: Podman) -> None:
    lease = detached(podman, "web")
    assert podman.cpus_of("web") == podman.leases()[0]["exclusive"] == podman.cpuset_of("web")
    assert podman.leases()[0]["rung"] == "podman"
    podman("restart", "-t", "0", "web")
    assert [one["id"] for one in podman.leases()] == [lease]
    podman("kill", "web")
    until(lambda: podman.leases() == [])


def test_killed_commands_leave_the_lease_to_the_container(podman: Podman) -> None:
    process = podman.start("podman", "run", "--cpus", "1", "--", "--name", "job", IMAGE, *LONG)
    until(lambda: podman.state("job") == "running")
    # The first one; others ask Podman and are gone in a moment.
    client = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
    process.kill()
    process.wait(30)
    os.kill(int(client), signal.SIGKILL)
    assert len(podman.leases()) == 1
    podman("kill", "job")
    until(lambda: podman.leases() == [])


def test_one_that_is_started_again_gets_its_lease_back_from_a_plain_run(podman: Podman) -> None:
    """A job that has nothing to do with containers looks first, and does not get its CPUs."""
    lease = detached(podman, "web", cpus=2)
    podman("kill", "web")
    until(lambda: podman.leases() == [])
    podman("start", "web")
    done = podman.numafit("run", "--cpus", "1", "--", "true")
    assert done.returncode == 75, done.stderr
    assert [one["id"] for one in podman.leases()] == [lease]


def test_one_whose_cpus_were_given_away_is_moved(podman: Podman) -> None:
    """As the kernel shows, off the CPU of the other."""
    detached(podman, "old")
    podman("kill", "old")
    until(lambda: podman.leases() == [])
    detached(podman, "new")
    podman("start", "old")
    done = podman.numafit("run", "--shared", "--", "true")
    assert "the container old was started again: " in done.stderr
    held = {lease["name"]: lease["exclusive"] for lease in podman.leases()}
    assert set(held) == {"old", "new"}
    assert held["old"] == podman.cpus_of("old") != held["new"] == podman.cpus_of("new")


def test_one_whose_time_is_over_is_stopped(podman: Podman) -> None:
    """And one that somebody cancels."""
    script = "trap 'exit 9' TERM; while :; do sleep 0.1; done"
    words = ("podman", "run", "--cpus", "1", "--time", "1s", "--", "--name", "job", IMAGE, "sh", "-c", script)
    done = podman.numafit(*words)
    assert done.returncode == 9, done.stderr
    assert "as long as it may: its container is stopped" in done.stderr
    assert podman.state("job") == "exited"
    lease = detached(podman, "web")
    done = podman.numafit("cancel", "--grace", "0s", lease)
    assert (done.returncode, podman.state("web")) == (0, "exited"), done.stderr
    until(lambda: podman.leases() == [])


def test_a_running_container_is_adopted(podman: Podman) -> None:
    podman("run", "-d", "--name", "web", IMAGE, *LONG)
    done = podman.numafit("podman", "adopt", "web", "--cpus", "1")
    assert done.returncode == 0, done.stderr
    [lease] = podman.leases()
    assert podman.cpus_of("web") == lease["exclusive"]
    podman("rm", "-f", "web")
    assert podman.leases() == []
