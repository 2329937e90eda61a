"""How soon a rejected pod is made again."""

from numafit.fleet.simulation.controllers import CONTROLLERS, USUAL


def pauses(kind: str, most: int) -> list[float | None]:
    return [CONTROLLERS[kind].again_after(times) for times in range(1, most + 1)]


def test_a_job_doubles_its_pause_and_fails_at_the_seventh_rejection() -> None:
    """Job controller 1.36: 10 s, doubled, and backoffLimit 6."""
    assert pauses("Job", 8) == [10, 20, 40, 80, 160, 320, None, None]
    assert USUAL == "Job"


def test_a_daemon_set_doubles_its_pause_up_to_15_minutes() -> None:
    assert pauses("DaemonSet", 12) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    assert CONTROLLERS["DaemonSet"].again_after(5000) == 900


def test_replica_sets_and_stateful_sets_never_wait_longer() -> None:
    assert pauses("ReplicaSet", 3) == [1 / 37] * 3
    assert pauses("StatefulSet", 3) == [1 / 27] * 3
    assert [kind for kind, own in CONTROLLERS.items() if own.storms] == ["ReplicaSet", "StatefulSet"]


def test_a_pod_that_nobody_owns_is_not_made_again() -> None:
    assert pauses("Pod", 2) == [None, None]
