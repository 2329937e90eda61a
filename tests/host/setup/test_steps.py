"""Which steps a host needs, on a system in a folder; tests/real and tests/vm have real ones."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from numafit.bits import parse_cpuset
from numafit.errors import InputError
from numafit.host.book.book import Book
from numafit.host.book.folder import SHARED_FOLDER
from numafit.host.request import JobRequest
from numafit.host.setup.steps import Setup, SetupStep, SetupWish
from numafit.host.setup.system import SetupError, System
from numafit.host.setup.texts import host_yaml
from tests.host.children import needs_root
from tests.host.ledgers import small_host, taken

pytestmark = pytest.mark.usefixtures("alone")

GROUP = 54300


class FolderSystem(System):
    """Its programs are written down and not called; systemd does at once what it is told."""

    def __init__(self, root: Path, *, systemd: bool = True) -> None:
        super().__init__(root)
        self.called: list[str] = []
        self.groups: set[str] = set()
        if systemd:
            (root / "run/systemd/system").mkdir(parents=True)
            for unit in (".", "system.slice"):
                (root / "sys/fs/cgroup" / unit).mkdir(parents=True, exist_ok=True)
                (root / "sys/fs/cgroup" / unit / "cpuset.cpus.effective").write_text("0-7\n")

    def group(self, name: str) -> int | None:
        return GROUP if name in self.groups else None

    def is_member(self, user: str, group: str) -> bool:
        return f"usermod --append --groups {group} {user}" in self.called

    def call(self, words: Sequence[str]) -> str:
        self.called.append(" ".join(words))
        if words[0] == "groupadd":
            self.groups.add(words[-1])
        elif words[0] == "groupdel":
            self.groups.remove(words[-1])
        elif "is-active" in words:
            return "active\n" if "systemctl enable --now numafit-sweep.timer" in self.called else "inactive\n"
        elif "daemon-reload" in words:
            drop_in = self.root / "etc/systemd/system/system.slice.d/50-numafit.conf"
            told = drop_in.read_text().partition("AllowedCPUs=")[2] if drop_in.exists() else ""
            if told:
                (self.root / "sys/fs/cgroup/system.slice/cpuset.cpus.effective").write_text(told)
        return ""


@pytest.fixture
def system(tmp_path: Path) -> FolderSystem:
    needs_root()
    return FolderSystem(tmp_path / "root")


def folder_of(system: FolderSystem) -> Path:
    return system.root / "var/lib/numafit"


def made(system: FolderSystem, wish: SetupWish | None = None) -> list[str]:
    """What was said of each step that was not done yet."""
    return walked(Setup(system, folder_of(system)).steps(wish or SetupWish()))


def undone(system: FolderSystem) -> list[str]:
    return walked(Setup(system, folder_of(system)).undo_steps())


def walked(steps: Iterator[SetupStep]) -> list[str]:
    said = []
    for step in steps:
        if not step.done:
            step.act()
            said.append(f"{step.what}: {step.verb}")
    return said


def files(root: Path) -> set[str]:
    return {
        str(path.relative_to(root)) for part in ("etc", "var") for path in (root / part).rglob("*") if path.is_file()
    }


def test_a_second_call_has_nothing_to_do(system: FolderSystem) -> None:
    assert len(made(system, SetupWish(("ann",), 0b11))) > 10
    assert made(system, SetupWish(("ann",), 0b11)) == []


def test_rights_that_somebody_changed_are_set_again(system: FolderSystem) -> None:
    made(system)
    folder = folder_of(system)
    (folder / "leases.lock").chmod(0o666)
    folder.chmod(0o777)
    assert made(system) == [
        f"folder {folder} for root and the group alone: set",
        f"rights of {folder / 'leases.lock'}: set",
    ]
    assert ((folder / "leases.lock").stat().st_mode & 0o777, folder.stat().st_mode & 0o7777) == (0o660, SHARED_FOLDER)


def test_a_ledger_that_was_there_keeps_its_leases(system: FolderSystem) -> None:
    folder = folder_of(system)
    with Book.open(folder) as book:
        lease = taken(book, small_host(), JobRequest(cpus=1))
        made(system)
        assert [one.id for one in book.leases()] == [lease.id]
    assert {path.stat().st_gid for path in folder.iterdir()} == {GROUP}


def test_undo_takes_away_what_was_made(system: FolderSystem) -> None:
    made(system, SetupWish((), 0b11))
    assert (system.root / "sys/fs/cgroup/system.slice/cpuset.cpus.effective").read_text() == "0-1\n"
    undone(system)
    assert (files(system.root), system.groups) == (set(), set())
    assert not folder_of(system).exists()
    assert (system.root / "sys/fs/cgroup/system.slice/cpuset.cpus.effective").read_text() == "0-7\n"
    assert "systemctl disable --now numafit-sweep.timer" in system.called
    assert undone(system) == []


def test_undo_keeps_what_others_made(system: FolderSystem) -> None:
    """A group that was there before, and a `host.yaml` that was changed."""
    system.groups.add("numafit")
    made(system)
    (folder_of(system) / "host.yaml").write_text("reservedCPUs: 0\n")
    undone(system)
    assert (files(system.root), system.groups) == ({"var/lib/numafit/host.yaml"}, {"numafit"})


def test_undo_is_refused_while_a_job_holds_something(system: FolderSystem) -> None:
    made(system)
    with Book.open(folder_of(system)) as book:
        lease = taken(book, small_host(), JobRequest(cpus=1))
    with pytest.raises(InputError, match=f"jobs hold leases: {lease.id}"):
        undone(system)


def test_a_file_of_somebody_else_is_not_overwritten(system: FolderSystem) -> None:
    path = system.root / "etc/tmpfiles.d/numafit.conf"
    path.parent.mkdir(parents=True)
    path.write_text("# mine\n")
    with pytest.raises(SetupError, match="was made by somebody else, and stays as it is"):
        made(system)
    assert path.read_text() == "# mine\n"


def test_settings_of_the_administrator_stay(system: FolderSystem) -> None:
    """He is told what is missing for jobs to keep off the housekeeping CPUs."""
    folder = folder_of(system)
    folder.mkdir(parents=True)
    own = sorted(os.sched_getaffinity(0))[0]
    (folder / "host.yaml").write_text(f"reservedCPUs: {own}\n")
    made(system)
    assert (folder / "host.yaml").read_text() == f"reservedCPUs: {own}\n"
    made(system, SetupWish((), 1 << own))
    with pytest.raises(InputError, match=r"it does not keep CPUs .* back"):
        made(system, SetupWish((), 1 << own | 1 << 100))


def test_our_own_settings_follow_a_new_wish(system: FolderSystem) -> None:
    made(system)
    made(system, SetupWish((), parse_cpuset("0-1")))
    assert (folder_of(system) / "host.yaml").read_text() == host_yaml("0-1")
    made(system, SetupWish((), parse_cpuset("0-2")))
    assert (folder_of(system) / "host.yaml").read_text() == host_yaml("0-2")
    # Without a wish what was made stays.
    assert made(system) == []


def test_what_systemd_did_not_do_is_not_believed(system: FolderSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numafit.host.setup.steps._SETTLE", 0.0)
    monkeypatch.setattr(FolderSystem, "call", lambda self, words: self.groups.add("numafit") or "active")
    with pytest.raises(SetupError, match=r"system.slice is on CPUs 0-7, though systemd was told 0-1"):
        made(system, SetupWish((), 0b11))


def test_without_systemd_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    needs_root()
    system = FolderSystem(tmp_path, systemd=False)
    made(system)
    assert {name.rpartition("/")[0] for name in files(tmp_path)} == {"var/lib/numafit"}
    with pytest.raises(InputError, match="--housekeeping: systemd, which would keep to it, does not run here"):
        made(system, SetupWish((), 0b11))
