"""What several modules about leases share."""

import pytest


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job of anybody else is found when a ledger is made anew; `test_rebuild` has real ones."""
    monkeypatch.setattr("numafit.host.book.rebuild.running_leases", lambda **_: [])


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: processes of other pid namespaces cannot be seen from here."""
    monkeypatch.setattr("numafit.host.process.identity.INITIAL_NAMESPACE", 0)
