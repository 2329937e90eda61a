"""This machine as a source: what its audits tell."""

from pathlib import Path

import pytest

from numafit.host.audit.numastat import node_allocations
from numafit.host.audit.promise import Promise
from numafit.service.sources.host import HostSource
from tests.host.process.test_identity import child


def test_audits_tell_what_leases_did_since_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first knows of no time before it; counts go on from audit to audit."""
    source = HostSource(tmp_path)
    with child("") as process:
        promise = Promise("train (abc)", (process.pid,), lease="abc")
        monkeypatch.setattr("numafit.service.sources.host.lease_promises", lambda folder, machine: [promise])
        first, second = source._audit(), source._audit()
    assert first is not None
    assert second is not None
    assert (first.seconds, first.jobs) == (None, ())
    assert second.seconds is not None
    assert [(use.lease, use.name, use.processes) for use in second.jobs] == [("abc", "train (abc)", 1)]
    assert set(second.totals) == {"abc"}
    assert set(second.allocations) == set(second.allocated) == set(node_allocations())
