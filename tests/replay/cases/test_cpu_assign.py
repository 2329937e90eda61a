"""Family cpu-assign of the recordings."""

from typing import Any

import pytest

from numafit.managers.protocol import Choices
from numafit.replay.cases.cpu_assign import cpu_case
from numafit.settings.settings import Settings
from tests.decision.strategies import SEED_BOX, box, settings

SMT_BOX = box(1, 4, 2)


def case(ordered: Settings | None = None, **given: Any) -> dict[str, Any]:
    machine = SMT_BOX if given.get("kind") == "take" else SEED_BOX
    return cpu_case(given, machine, ordered or settings(), Choices())


def test_take_gives_cpus_of_a_free_set() -> None:
    """No reservation is involved; whole cores first."""
    assert case(kind="take", available="1-3,5-7", numCPUs=3) == {"cpus": "1-2,5", "error": None}


def test_take_of_too_many_gives_the_kubelet_s_error() -> None:
    """Nothing else stands beside it."""
    assert case(kind="take", available="1-3", numCPUs=4) == {
        "error": "not enough cpus available to satisfy request: requested=4, available=3"
    }


def test_alloc_gives_hints_and_cpus_beside_what_is_assigned() -> None:
    """Pods that are not active count as alive here; the affinity is given."""
    found = case(kind="alloc", numReserved=1, numCPUs=3, assigned={"old": {"app": "14-27"}}, affinity=1)
    assert found == {
        "reservedCPUs": "0",
        "hints": {"cpu": [[1, True], [3, False]]},
        "cpus": "1-3",
        "defaultCPUSet": "0,4-13",
        "error": None,
    }


def test_alloc_that_fails_keeps_the_hints() -> None:
    """No CPUs, the pool as it was."""
    found = case(kind="alloc", numReserved=1, numCPUs=28)
    assert (found["hints"], found["cpus"], found["defaultCPUSet"]) == ({"cpu": []}, "", "0-27")
    assert found["error"] == "not enough cpus available to satisfy request: requested=28, available=27"


@pytest.mark.parametrize(
    ("ordered", "reserved", "expected"),
    [
        (
            None,
            29,
            "[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 29)",
        ),
        (
            settings(options={"odd": "true"}),
            1,
            'unknown CPU Manager Policy option: "odd"',
        ),
    ],
)
def test_alloc_says_why_a_policy_cannot_be_made(ordered: Settings | None, reserved: int, expected: str) -> None:
    """Without the words that the kubelet puts before it."""
    assert case(ordered, kind="alloc", numReserved=reserved, numCPUs=1) == {"newPolicyError": expected}
