"""Which entries belong to nobody any more."""

import pytest

from numafit.ledger.ledger import Ledger, stale_containers
from numafit.workload.pod import Pod
from tests.decision.strategies import container, pod

HERE = pod("here", container("app"), init=[container("setup")])
GONE = pod("gone", container("app"))
ENTRIES = {"here": {"app": 1, "setup": 2, "renamed": 3}, "gone": {"app": 4, "side": 5}}


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        (None, [("gone", "app"), ("gone", "side"), ("here", "renamed")]),
        (HERE, [("gone", "app"), ("gone", "side"), ("here", "renamed")]),
        (GONE, [("gone", "side"), ("here", "renamed")]),
    ],
)
def test_containers_of_no_active_pod_are_stale(pending: Pod | None, expected: list[tuple[str, str]]) -> None:
    """Init containers of active pods are not; nor, from 1.22.1 to 1.31, are those of the pod asked about last."""
    assert stale_containers(Ledger(active={"here": HERE}), ENTRIES, pending) == expected


def test_nothing_is_stale_before_the_pod_sources_are_ready() -> None:
    """A kubelet that restarts does not know yet which pods are alive (all releases)."""
    assert stale_containers(Ledger(active={"here": HERE}, ready=False), ENTRIES, None) == []
