"""Containers of a real engine get what their lease holds, and the lease follows them through whatever happens."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.real.docker.conftest import Numafit, until
from tests.real.docker.engine import IMAGE, Engine

pytestmark = pytest.mark.real

LONG = ("sleep", "3571")


def detached(numafit: Numafit, name: str, *flags: str, cpus: int = 1) -> str:
    """The id of its lease."""
    done = numafit("docker", "run", "--cpus", str(cpus), "--", "-d", "--name", name, *flags, IMAGE, *LONG)
    assert done.returncode == 0, done.stderr
    lease = next(lease for lease in numafit.leases() if lease["name"] == name)
    return str(lease["id"])


def cpus_of(engine: Engine, name: str) -> str:
    """What the kernel says of its first process."""
    text = engine.docker("exec", name, "grep", "Cpus_allowed_list", "/proc/1/status").stdout
    return text.split()[1]


def test_the_options_arrive_in_the_container(numafit: Numafit) -> None:
    """CPUs and memory nodes are those of the lease, the memory is limited, and variables tell of it."""
    script = (
        "grep _allowed_list /proc/self/status; env; "
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; true"
    )
    done = numafit("docker", "run", "--cpus", "1", "--memory", "64Mi", "--", "--rm", IMAGE, "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    told = dict(line.split("=", 1) for line in lines if line.startswith("NUMAFIT_"))
    allowed = dict(line.split(":\t", 1) for line in lines if "_allowed_list" in line)
    assert allowed == {"Cpus_allowed_list": told["NUMAFIT_CPUS"], "Mems_allowed_list": told["NUMAFIT_MEMS"]}
    assert told["NUMAFIT_CPUS"].isdecimal()
    assert str(64 << 20) in lines
    assert numafit.leases() == []


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$; sleep 5", 137)])
def test_the_status_is_that_of_docker(numafit: Numafit, script: str, status: int) -> None:
    """Foreground: the container's own status, as `docker run` hands it on."""
    done = numafit("docker", "run", "--cpus", "1", "--", "--rm", "--init", IMAGE, "sh", "-c", script)
    assert (done.returncode, numafit.leases()) == (status, [])


def test_a_container_that_cannot_start_leaves_no_lease(engine: Engine, numafit: Numafit) -> None:
    """Docker keeps it in the state `created`; its start has failed, so it will not run by itself."""
    done = numafit("docker", "run", "--cpus", "1", "--", "--name", "broken", IMAGE, "no-such-program")
    assert (done.returncode, engine.state("broken"), numafit.leases()) == (127, "created", [])


def test_a_signal_reaches_the_container(numafit: Numafit) -> None:
    """SIGTERM to numafit goes to the docker command, and by it to the container."""
    script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
    words = ("docker", "run", "--cpus", "1", "--", "--rm", IMAGE, "sh", "-c", script)
    with numafit.start(*words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        process.wait(30)
    assert (process.returncode, numafit.leases()) == (9, [])


def test_a_detached_container_keeps_its_lease_until_it_ends(engine: Engine, numafit: Numafit) -> None:
    """Paused and restarted it is the same container; killed it is gone."""
    lease = detached(numafit, "web")
    assert numafit.leases()[0]["container"] == engine.docker("inspect", "--format", "{{.Id}}", "web").stdout.strip()
    assert cpus_of(engine, "web") == numafit.leases()[0]["exclusive"]
    engine.docker("pause", "web")
    assert [one["id"] for one in numafit.leases()] == [lease]
    engine.docker("unpause", "web")
    engine.docker("restart", "-t", "0", "web")
    assert [one["id"] for one in numafit.leases()] == [lease]
    engine.docker("kill", "web")
    assert numafit.leases() == []


def test_a_removed_container_is_gone(engine: Engine, numafit: Numafit) -> None:
    detached(numafit, "web")
    engine.docker("rm", "-f", "web")
    assert numafit.leases() == []


def test_a_container_that_always_comes_back_keeps_its_lease(engine: Engine, numafit: Numafit) -> None:
    """`--restart always`: also when somebody stopped it, the next start of the engine brings it back."""
    lease = detached(numafit, "web", "--restart", "always")
    engine.docker("stop", "-t", "0", "web")
    assert [one["id"] for one in numafit.leases()] == [lease]
    engine.docker("rm", "web")
    assert numafit.leases() == []


def test_a_stopped_container_that_comes_back_unless_stopped_is_gone(engine: Engine, numafit: Numafit) -> None:
    detached(numafit, "web", "--restart", "unless-stopped")
    engine.docker("stop", "-t", "0", "web")
    assert numafit.leases() == []


def test_killed_commands_leave_the_lease_to_the_container(engine: Engine, numafit: Numafit) -> None:
    """kill -9 of numafit, then of the docker command: the container lives on, and so does its lease."""
    process = numafit.start("docker", "run", "--cpus", "1", "--", "--name", "job", IMAGE, *LONG)
    until(lambda: engine.state("job") == "running")
    [client] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.wait(30)
    assert len(numafit.leases()) == 1
    os.kill(int(client), signal.SIGKILL)
    until(lambda: not Path(f"/proc/{client}/cmdline").exists() or not Path(f"/proc/{client}/cmdline").read_bytes())
    assert engine.state("job") == "running"
    assert len(numafit.leases()) == 1
    engine.docker("kill", "job")
    assert numafit.leases() == []


@pytest.mark.parametrize("milliseconds", range(0, 1200, 80))
def test_killed_at_any_instant(engine: Engine, numafit: Numafit, milliseconds: int) -> None:
    """numafit and its docker command are killed together: whatever container runs then has its lease in the ledger, no
    other one gets its CPUs, and no lease stays after the containers are gone."""
    process = numafit.start("docker", "run", "--cpus", "1", "--", "-d", IMAGE, *LONG)
    try:
        process.wait(milliseconds / 1000)
    except subprocess.TimeoutExpired:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    process.wait(30)
    for _ in range(3):
        running = engine.docker("ps", "-q", "--no-trunc").stdout.split()
        labels = {_label(engine, container) for container in running}
        assert labels <= {str(lease["id"]) for lease in numafit.leases()}
    engine.remove_containers()
    assert numafit.leases() == []


def _label(engine: Engine, container: str) -> str:
    return engine.docker("inspect", "--format", '{{index .Config.Labels "numafit.lease"}}', container).stdout.strip()


def test_a_lease_is_kept_by_those_who_ask_another_engine(engine: Engine, numafit: Numafit) -> None:
    """The lease remembers its engine: DOCKER_HOST of whoever looks does not matter."""
    lease = detached(numafit, "web")
    elsewhere = {"DOCKER_HOST": "unix:///nonexistent/socket"}
    assert [one["id"] for one in numafit.leases(**elsewhere)] == [lease]
    engine.docker("kill", "web")
    assert numafit.leases(**elsewhere) == []


def test_a_container_whose_time_is_over_is_stopped(engine: Engine, numafit: Numafit) -> None:
    """Gently: it hears SIGTERM, and its own status is that of the command."""
    script = "trap 'exit 9' TERM; while :; do sleep 0.1; done"
    done = numafit("docker", "run", "--cpus", "1", "--time", "1s", "--", "--name", "job", IMAGE, "sh", "-c", script)
    assert done.returncode == 9, done.stderr
    assert "numafit: the job has run for 1 s, as long as it may: its container is stopped\n" in done.stderr
    assert (engine.state("job"), numafit.leases()) == ("exited", [])
    assert "expired" in numafit("history").stdout


def test_after_the_grace_a_container_is_killed(engine: Engine, numafit: Numafit) -> None:
    words = ("docker", "run", "--cpus", "1", "--time", "1s", "--grace", "1s", "--")
    script = "trap '' TERM; while :; do sleep 0.1; done"
    done = numafit(*words, "--name", "job", IMAGE, "sh", "-c", script)
    assert (done.returncode, engine.state("job"), numafit.leases()) == (137, "exited", [])


def left_alone(numafit: Numafit, name: str, limit: str) -> str:
    """The lease of a container with a limit, whose numafit was killed."""
    flags = ("--name", name, "--stop-signal=KILL", IMAGE, *LONG)
    process = numafit.start("docker", "run", "--cpus", "1", "--time", limit, "--", *flags)
    until(lambda: any(lease["rung"] == "docker" for lease in numafit.leases()))
    process.kill()
    process.wait(30)
    return str(numafit.leases()[0]["id"])


def test_the_time_of_a_container_counts_though_its_numafit_was_killed(engine: Engine, numafit: Numafit) -> None:
    """The sweep ends it, as it ends other jobs."""
    lease = left_alone(numafit, "over", "3s")
    told: list[str] = []
    until(lambda: bool(told.append(numafit("host", "sweep").stderr)) or "its job" in told[-1])
    assert told[-1] == f"numafit: the time of lease over ({lease}) is over: its job was ended\n"
    assert (engine.state("over"), numafit.leases()) == ("exited", [])


def test_a_container_is_cancelled(engine: Engine, numafit: Numafit) -> None:
    lease = left_alone(numafit, "early", "1h")
    done = numafit("cancel", lease)
    assert (done.returncode, done.stderr) == (0, "")
    assert (engine.state("early"), numafit.leases()) == ("exited", [])


def test_a_contradiction_is_refused_before_a_lease_is_taken(numafit: Numafit) -> None:
    done = numafit("docker", "run", "--cpus", "1", "--", "--cpuset-cpus=0", IMAGE, "true")
    assert done.returncode == 2
    assert done.stderr.startswith("numafit: --cpuset-cpus: numafit chooses the CPUs of the lease, and 0 may be others")
    assert "taken" not in numafit("history").stdout


def test_a_container_of_the_shared_pool_follows_it(engine: Engine, numafit: Numafit) -> None:
    """Exclusive CPUs are taken out of the pool, and given back to it."""
    numafit("docker", "run", "--", "-d", "--name", "shared", IMAGE, *LONG)
    before = cpus_of(engine, "shared")
    detached(numafit, "alone")
    assert cpus_of(engine, "shared") != before
    taken = {lease["name"]: lease["exclusive"] for lease in numafit.leases()}["alone"]
    assert taken not in cpus_of(engine, "shared").replace("-", ",").split(",")
    engine.docker("rm", "-f", "alone")
    numafit.leases()
    assert cpus_of(engine, "shared") == before


def test_a_container_of_the_pool_follows_it_though_its_numafit_was_killed(engine: Engine, numafit: Numafit) -> None:
    """Also when that was before the container was written down."""
    process = numafit.start("docker", "run", "--", "--name", "shared", IMAGE, *LONG)
    until(lambda: engine.state("shared") == "running")
    process.kill()
    process.wait(30)
    detached(numafit, "alone")
    taken = {lease["name"]: lease["exclusive"] for lease in numafit.leases()}["alone"]
    assert taken not in cpus_of(engine, "shared").replace("-", ",").split(",")


def test_a_lost_ledger_is_made_anew_from_the_labels(engine: Engine, numafit: Numafit) -> None:
    lease = detached(numafit, "web")
    before = numafit.leases()[0]
    (numafit.folder / "leases.db").write_bytes(b"no database at all" * 100)
    for suffix in ("-wal", "-shm"):
        (numafit.folder / f"leases.db{suffix}").unlink(missing_ok=True)
    after = numafit.leases()
    assert [one["id"] for one in after] == [lease]
    kept = ("name", "exclusive", "nodes", "mems", "container", "user", "since")
    assert {key: after[0][key] for key in kept} == {key: before[key] for key in kept}


def test_a_container_that_is_started_again_gets_its_lease_back(engine: Engine, numafit: Numafit) -> None:
    """`docker start` pins it to the same CPUs; a plain job looks first, and does not get them."""
    lease = detached(numafit, "web", cpus=len(os.sched_getaffinity(0)))
    engine.docker("kill", "web")
    assert numafit.leases() == []
    engine.docker("start", "web")
    done = numafit("run", "--cpus", "1", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (75, "")
    assert [one["id"] for one in numafit.leases()] == [lease]


def test_a_container_that_is_started_again_where_another_sits_is_moved(engine: Engine, numafit: Numafit) -> None:
    """Its CPU was given away meanwhile: nobody loses a lease, the kernel shows it on another CPU, and it is said."""
    detached(numafit, "old")
    engine.docker("kill", "old")
    new = detached(numafit, "new")
    engine.docker("start", "old")
    assert cpus_of(engine, "old") == cpus_of(engine, "new")
    done = numafit("run", "--", "true")
    assert "numafit: the container old was started again: CPUs" in done.stderr
    assert f"are held by the lease new ({new}) now, so it was moved to CPUs" in done.stderr
    held = {lease["name"]: lease["exclusive"] for lease in numafit.leases()}
    assert held == {"old": cpus_of(engine, "old"), "new": cpus_of(engine, "new")}
    assert held["old"] != held["new"]


def test_a_running_container_is_adopted(engine: Engine, numafit: Numafit) -> None:
    """It is pinned as the lease says, keeps the lease through a restart, and a second call changes nothing."""
    engine.docker("run", "-d", "--name", "web", IMAGE, *LONG)
    done = numafit("docker", "adopt", "web", "--cpus", "1")
    assert done.returncode == 0, done.stderr
    [lease] = numafit.leases()
    assert cpus_of(engine, "web") == lease["exclusive"]
    assert numafit("docker", "adopt", "web").stdout == done.stdout
    engine.docker("restart", "-t", "0", "web")
    assert cpus_of(engine, "web") == lease["exclusive"]
    assert [one["id"] for one in numafit.leases()] == [lease["id"]]
    engine.docker("stop", "-t", "0", "web")
    assert numafit.leases() == []
    assert numafit("docker", "adopt", "web").stderr == (
        "numafit: web: the container does not run, it is exited (start it first)\n"
    )


def test_the_audit_knows_the_processes_of_a_container(engine: Engine, numafit: Numafit) -> None:
    """Also those of `docker exec`."""
    detached(numafit, "web")
    engine.docker("exec", "-d", "web", *LONG)
    until(lambda: _audited(numafit) == ["sleep", "sleep"])


def _audited(numafit: Numafit) -> list[str]:
    done = numafit("audit", "--docker", "-o", "json")
    return [process["name"] for process in json.loads(done.stdout)["processes"]]
