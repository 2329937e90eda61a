"""A systemd scope, as far as it can be tried without systemd: a program in the place of busctl writes down what it is
asked, and does to a made-up /proc what systemd would."""

import os
from pathlib import Path

import pytest

from numafit.host.bind import systemd
from numafit.host.bind.systemd import change_scope, enter_scope, lease_of_unit, unit_name
from numafit.host.bind.target import PREFER, RungRefused, Target

TARGET = Target(0b1_0000_0110, 0b10)
MANAGER = "org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager"


class Stage:
    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.process = folder / "proc"
        self.running = folder / "run"
        self.log = folder / "log"
        self.bin = folder / "bin"
        for made in (self.process, self.running, self.bin):
            made.mkdir()
        (self.process / "mountinfo").write_text(f"1 1 0:1 / {folder} rw - cgroup2 cgroup2 rw\n")
        (self.process / "cgroup").write_text("0::/user.slice/session-1.scope\n")
        (folder / "cgroup.controllers").write_text("cpuset cpu memory\n")
        self.status("0-15", "0-1")

    def status(self, cpus: str, mems: str) -> None:
        (self.process / "status").write_text(f"Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{mems}\n")

    def busctl(self, script: str) -> None:
        program = self.bin / "busctl"
        program.write_text(f'#!/bin/sh\necho "$@" >> {self.log}\n{script}\n')
        program.chmod(0o755)

    def enter(self) -> Path:
        return enter_scope("lease", TARGET, 77, running=self.running, process=self.process, wait=0.1)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(tmp_path)
    monkeypatch.setenv("PATH", f"{stage.bin}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return stage


def moves(stage: Stage, cpus: str, mems: str) -> str:
    """What systemd does to the process, as a script."""
    return (
        f"echo 0::/system.slice/numafit-lease.scope > {stage.process}/cgroup\n"
        f"printf 'Cpus_allowed_list:\\t{cpus}\\nMems_allowed_list:\\t{mems}\\n' > {stage.process}/status"
    )


def test_a_scope_is_asked_for_with_the_process_and_its_masks(stage: Stage) -> None:
    """Masks go over the bus as bytes, lowest first, with their number before them."""
    stage.busctl(moves(stage, "1-2,8", "1"))
    assert stage.enter() == stage.root / "system.slice/numafit-lease.scope"
    assert stage.log.read_text().split("\n")[0] == (
        f"--system call {MANAGER} StartTransientUnit ssa(sv)a(sa(sv)) numafit-lease.scope fail 5 "
        "Description s numafit lease lease CollectMode s inactive-or-failed PIDs au 1 77 "
        "AllowedCPUs ay 2 6 1 AllowedMemoryNodes ay 1 2 0"
    )


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'Call failed: Access denied' >&2; exit 1", "systemd refused: Call failed: Access denied"),
        ("exit 3", "systemd refused: busctl ended with 3"),
        ("true", r"numafit-lease\.scope did not start within 0.1 s"),
    ],
)
def test_a_refusal_says_what_systemd_said(stage: Stage, script: str, reason: str) -> None:
    stage.busctl(script)
    with pytest.raises(RungRefused, match=reason):
        stage.enter()


def test_a_scope_that_gives_other_cpus_is_not_claimed(stage: Stage) -> None:
    """Read back, not believed."""
    stage.busctl(moves(stage, "0-15", "0-1"))
    with pytest.raises(RungRefused, match="gave CPUs 0-15 and memory nodes 0-1"):
        stage.enter()


def test_without_systemd_nothing_is_asked(stage: Stage) -> None:
    stage.busctl("true")
    stage.running.rmdir()
    with pytest.raises(RungRefused, match="systemd does not run here"):
        stage.enter()
    assert not stage.log.exists()


def test_an_ordinary_user_needs_a_manager_with_the_controller(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask without it would move the process and bind nothing."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    stage.busctl(moves(stage, "1-2,8", "1"))
    with pytest.raises(RungRefused, match="has no systemd manager"):
        stage.enter()
    manager = stage.root / "user.slice/user-1000.slice/user@1000.service"
    manager.mkdir(parents=True)
    (manager / "cgroup.controllers").write_text("cpu memory pids\n")
    with pytest.raises(RungRefused, match="has no cpuset controller"):
        stage.enter()
    assert not stage.log.exists()
    (manager / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
    stage.enter()
    assert stage.log.read_text().startswith("--user call ")


def test_missing_busctl_is_a_reason(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(stage.bin))
    with pytest.raises(RungRefused, match="busctl, which speaks to systemd, is not installed"):
        stage.enter()


def test_a_call_that_never_ends_is_given_up(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "_CALL_TIMEOUT", 0.1)
    stage.busctl("exec sleep 60")
    with pytest.raises(RungRefused, match="timed out"):
        stage.enter()


def test_a_scope_limits_memory_and_forces_none_that_is_preferred(stage: Stage) -> None:
    """The limit is read back from its cgroup."""
    group = stage.root / "system.slice/numafit-lease.scope"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("1048576\n")
    stage.busctl(moves(stage, "1-2,8", "0-1"))
    target = Target(TARGET.cpus, 0b10, PREFER, 1 << 20)
    found = enter_scope("lease", target, 77, running=stage.running, process=stage.process, wait=0.1)
    assert found == group
    assert " fail 5 " in stage.log.read_text()
    assert stage.log.read_text().split()[-9:-1] == ["AllowedCPUs", "ay", "2", "6", "1", "MemoryMax", "t", "1048576"]
    (group / "memory.max").write_text("max\n")
    with pytest.raises(RungRefused, match="gave"):
        enter_scope("lease", target, 77, running=stage.running, process=stage.process, wait=0.1)


def test_a_scope_is_changed_through_systemd(stage: Stage) -> None:
    """It would undo what another wrote into its cgroup."""
    stage.busctl("true")
    change_scope("lease", Target(0b1))
    expected = f"--system call {MANAGER} SetUnitProperties sba(sv) numafit-lease.scope true 1 AllowedCPUs ay 1 1"
    assert stage.log.read_text().strip() == expected


def test_a_lease_is_known_by_its_unit() -> None:
    assert lease_of_unit(unit_name("a-1")) == "a-1"
    assert [lease_of_unit(name) for name in ("numafit-.scope", "session-1.scope", "numafit-x.service")] == [None] * 3
