"""Nothing waits as long as in a cluster."""

import pytest

from numafit.cluster.place import placer, replacer, scale, stuck
from numafit.cluster.place.waiting import helped, notices, telling


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, seconds in (
        (placer, "START_SECONDS", 0.0),
        (placer, "TICK_SECONDS", 0.02),
        (telling, "TELL_SECONDS", 0.02),
        (scale, "SCALE_SECONDS", 0.1),
        (scale, "LOOK_SECONDS", 0.02),
        (placer, "RETRY_SECONDS", 0.05),
        (notices, "QUIET_SECONDS", 0.05),
        (notices, "AGAIN_SECONDS", 0.1),
        (helped, "AGAIN_SECONDS", 0.02),
        (replacer, "LOOK_SECONDS", 0.02),
        (stuck, "PATIENCE", 0.1),
        (stuck, "LOST_PATIENCE", 0.05),
        (stuck, "BETWEEN_SECONDS", 0.05),
    ):
        monkeypatch.setattr(module, name, seconds)
