"""What several modules about leases share."""

import pytest


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job of anybody else is found when a ledger is made anew; `test_rebuild` has real ones."""
    monkeypatch.setattr("numafit.host.book.rebuild.running_leases", lambda **_: [])
