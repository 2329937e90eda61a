"""What speaks grpc is tested in a process of its own (`tests/cluster/test_alone.py`).

The threads of grpc outlive a test, and would be in the way of later ones that fork, or that collect its garbage.
"""

import os

import pytest

from tests.cluster.test_alone import ALONE

collect_ignore_glob = [] if ALONE in os.environ else ["test_*.py"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name: where these tests do not run, nobody imports grpc."""
    for name, seconds in (("LOOK_SECONDS", 0.02), ("AGAIN_SECONDS", 0.1)):
        monkeypatch.setattr(f"numafit.cluster.device.registration.{name}", seconds)
