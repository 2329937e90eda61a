"""Leases while the Docker engine is down, and after it came back."""

import signal

import pytest

from tests.real.docker.conftest import Numafit, until
from tests.real.docker.engine import IMAGE, Engine
from tests.real.docker.test_containers import detached

pytestmark = pytest.mark.real


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_with_live_restore_the_lease_goes_on(engine: Engine, numafit: Numafit, how: signal.Signals) -> None:
    """The containers outlive the engine, and it knows them when it is back."""
    lease = detached(numafit, "web")
    engine.stop(how)
    assert [one["id"] for one in numafit.leases()] == [lease]
    engine.start("--live-restore")
    assert engine.state("web") == "running"
    assert [one["id"] for one in numafit.leases()] == [lease]
    engine.docker("kill", "web")
    assert numafit.leases() == []


@pytest.mark.parametrize(
    ("how", "policy"),
    [(signal.SIGTERM, "unless-stopped"), (signal.SIGTERM, "always"), (signal.SIGKILL, "always")],
)
def test_without_live_restore_the_policy_decides(
    engine: Engine, numafit: Numafit, how: signal.Signals, policy: str
) -> None:
    """The engine ends all containers, and starts again those that are to come back: only these keep their leases. (An
    engine of release 20.10 that was killed takes those with `unless-stopped` for stopped.)"""
    engine.stop()
    engine.start()
    try:
        back = detached(numafit, "back", "--stop-signal=KILL", "--restart", policy)
        gone = numafit("docker", "run", "--", "-d", "--stop-signal=KILL", "--name", "gone", IMAGE, "sleep", "3571")
        assert gone.returncode == 0, gone.stderr
        both = [one["id"] for one in numafit.leases()]
        assert len(both) == 2
        engine.stop(how)
        assert [one["id"] for one in numafit.leases()] == both
        engine.start()
        until(lambda: engine.state("back") == "running")
        assert engine.state("gone") == "exited"
        assert [one["id"] for one in numafit.leases()] == [back]
    finally:
        engine.remove_containers()
        engine.stop()
        engine.start("--live-restore")


def test_without_an_engine_nothing_is_taken(engine: Engine, numafit: Numafit) -> None:
    done = numafit("docker", "run", "--cpus", "1", "--", IMAGE, "true", DOCKER_HOST="unix:///nonexistent/socket")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "numafit: the Docker engine does not answer: unix:///nonexistent/socket: No such file"
    )
    assert "taken" not in numafit("history").stdout
