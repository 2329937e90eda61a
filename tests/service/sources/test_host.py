"""This machine as a source: what its audits tell."""

import asyncio
import socket
from pathlib import Path

import httpx
import msgspec
import pytest

from numafit.bits import cpuset_text
from numafit.host.audit.numastat import node_allocations
from numafit.host.audit.promise import Promise
from numafit.host.host import Host
from numafit.service.node import Snapshot
from numafit.service.sources.demo import Demo
from numafit.service.sources.host import HostSource
from numafit.show.records.audit import AuditAnswer
from tests.host.process.test_identity import child
from tests.host.test_session import without_last
from tests.service.agents import asked


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
    assert second.answer is not None
    assert [(one.name, one.pids) for one in second.answer.promises] == [("train (abc)", (process.pid,))]
    assert set(second.allocations) == set(second.allocated) == set(node_allocations())


def test_the_host_has_its_name_and_questions_keep_back_what_it_keeps_back(tmp_path: Path) -> None:
    """What if and the picture agree about reserved CPUs."""
    (tmp_path / "host.yaml").write_text("reservedCPUs: 1\n")
    source = HostSource(tmp_path)
    assert source.place.name == socket.gethostname()
    assert source.place.assumed
    assert source.idle.node.cpu.reserved == source.node.cpu.reserved == 0b10


def test_what_questions_keep_back_beside_the_host_is_told_with_the_ledger(tmp_path: Path) -> None:
    """No static policy starts without a reserved CPU; leases may have it all the same, and both is said of it."""
    source = HostSource(tmp_path)
    kept = source.idle.node.cpu.reserved
    assert (kept.bit_count(), source.node.cpu.reserved) == (1, 0)
    change = source._change([])
    view = Snapshot(source.place, change.stage, change.known).view(change.viewed)
    assert (view.reserved_cpus, view.kept_cpus) == ("", cpuset_text(kept))
    (tmp_path / "host.yaml").write_text("reservedCPUs: 1\n")
    source = HostSource(tmp_path)
    change = source._change([])
    view = Snapshot(source.place, change.stage, change.known).view(change.viewed)
    assert (view.reserved_cpus, view.kept_cpus) == ("1", "")


def test_this_machine_has_a_meter(tmp_path: Path) -> None:
    """Its CPUs are busy or not between two readings; memory is told of each NUMA node that has some."""
    source = HostSource(tmp_path)
    source.meter.read()
    use = source.meter.read()
    assert use.cpus.keys() >= {cpu.id for cpu in source.place.machine.cpus if cpu.online}
    assert use.nodes.keys() == {node.id for node in source.place.machine.numa_nodes if node.memory}


def test_the_last_audit_is_told_by_the_api(tmp_path: Path) -> None:
    """In the shape of `numafit audit --leases -o json`; who asks before the first is told to come again."""

    async def talk(client: httpx.AsyncClient) -> httpx.Response:
        while (response := await client.get("/api/v1/audit")).status_code == 503:
            await asyncio.sleep(0.05)
        return response

    found = asked(talk, HostSource(tmp_path))
    assert found.status_code == 200
    assert msgspec.json.decode(found.content, type=AuditAnswer).promises == ()


def test_only_a_host_has_an_audit() -> None:
    async def talk(client: httpx.AsyncClient) -> httpx.Response:
        return await client.get("/api/v1/audit")

    assert asked(talk, Demo()).status_code == 409


def test_each_sweep_reads_the_host_anew_and_looks_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Quotas and CPUs that changed count without a restart, and a mistake in `host.yaml` is told once."""
    monkeypatch.setattr("numafit.host.book.rebuild.running_leases", lambda **_: [])
    looked: list[Host] = []
    monkeypatch.setattr("numafit.service.sources.host.look_around", lambda book, host, warn: looked.append(host))
    source = HostSource(tmp_path)
    before = source.session.host
    left = without_last(monkeypatch, before)
    (tmp_path / "host.yaml").write_text("quotas: {users: {ann: {cpus: 3}}}\n")
    source._look(sweep=False)
    assert (source.session.host, looked) == (before, [])
    source._look(sweep=True)
    assert [(host.online, host.quotas.users["ann"].cpus) for host in looked] == [(left, 3)]
    (tmp_path / "host.yaml").write_text("quotas: 3\n")
    source._look(sweep=True)
    source._look(sweep=True)
    assert looked[1:] == [looked[0]] * 2
    assert capsys.readouterr().err.count("what was read before counts") == 1
