"""This host as one sees it who stays for long."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.host import session as sessions
from numafit.host.book.book import Book
from numafit.host.grant import QueuePlace
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.host.session import Outlook, look_around, open_session
from tests.host.ledgers import me, small_host

pytestmark = pytest.mark.usefixtures("alone")

GPU = "nvidia.com/gpu"


class FewerCpus:
    """The kernel, after a CPU was switched off."""

    def __init__(self, cpus: int) -> None:
        self.cpus = cpus

    def text(self, path: str) -> str | None:
        return f"{cpuset_text(self.cpus)}\n" if path == "sys/devices/system/cpu/online" else None


def without_last(monkeypatch: pytest.MonkeyPatch, host: Host) -> int:
    """The last CPU goes offline; returns those that are left."""
    last = host.online.bit_length() - 1
    left = host.online & ~(1 << last)
    changed = tuple(replace(cpu, online=cpu.online and cpu.id != last) for cpu in host.machine.cpus)
    monkeypatch.setattr(sessions, "live_tree", lambda: FewerCpus(left))
    monkeypatch.setattr(sessions, "live_machine", lambda *, devices: replace(host.machine, cpus=changed, devices=()))
    return left


def test_who_stays_sees_cpus_that_went_offline_and_what_the_administrator_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers are not asked again: devices are those that were found first."""
    session = open_session(tmp_path, print)
    before = session.host
    session.read_anew()
    assert session.host == before
    left = without_last(monkeypatch, before)
    (tmp_path / "host.yaml").write_text("reservedCPUs: 0\nquotas: {users: {ann: {cpus: 3}}}\n")
    session.read_anew()
    assert (session.host.online, session.host.reserved_cpus) == (left, 0b1)
    assert session.host.quotas.users["ann"].cpus == 3
    assert (session.host.machine.devices, session.host.live) == (before.machine.devices, True)


def test_who_watches_over_the_queue_looks_around_before_somebody_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else CPUs could be given away which a container is pinned to that came back. The driver of the GPUs is asked how
    full they are only if somebody wants some."""
    seen: list[str] = []
    asked: list[JobRequest] = []
    monkeypatch.setattr(sessions, "reenter_containers", lambda *_: seen.append("containers"))
    monkeypatch.setattr(sessions, "looked_at", lambda host, request: asked.append(request) or host)
    with Book.open(tmp_path) as book:
        outlook = Outlook(tmp_path, book)
        first = outlook.host()
        assert (first.allowed_cpus, first.live, seen, asked) == (None, True, [], [])
        left = without_last(monkeypatch, first)
        shared, cpus, gpus = (
            QueuePlace(me(), request, 0.0)
            for request in (JobRequest(), JobRequest(cpus=1), JobRequest(devices={GPU: 2}))
        )
        assert outlook.host_now([shared]).online == outlook.host().online == left
        assert (seen, asked) == (["containers"], [])
        outlook.host_now([shared, cpus])
        outlook.host_now([cpus, gpus])
        assert [request.devices for request in asked] == [{}, {GPU: 2}]


@pytest.mark.parametrize("listed", [True, False])
def test_cpus_that_are_gone_are_missed_whether_they_are_listed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    """A virtual machine that loses CPUs altogether lists none that is offline."""
    missed: list[int] = []

    def mend(book: Book, host: Host) -> list[str]:
        missed.append(host.online)
        return ["moved"]

    monkeypatch.setattr("numafit.host.book.moves.mend", mend)
    monkeypatch.setattr(sessions, "reenter_containers", lambda *_: None)
    host = small_host(4)
    three = small_host(3)
    if listed:
        cpus = tuple(replace(cpu, online=cpu.id < 3) for cpu in host.machine.cpus)
        three = replace(host, machine=replace(host.machine, cpus=cpus))
    said: list[str] = []
    with Book.open(tmp_path) as book:
        book.add(Lease("0badcafe", "", 0, "root", 1.5, exclusive=0b1000, owners=me().processes), "taken")
        look_around(book, host, said.append)
        assert (missed, said) == ([], [])
        look_around(book, three, said.append)
    assert (missed, said) == ([0b111], ["moved"])
