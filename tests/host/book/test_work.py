"""Whether somebody still uses a lease: real processes, and a made-up /proc for those of others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.host.bind.cgroup import LeaseGroup
from numafit.host.book import work
from numafit.host.book.work import LEASE_VARIABLE, is_in_use, job_pids, moved_to
from numafit.host.lease import PENDING, Lease, LiveContainers
from numafit.host.process.identity import ProcessId, identify
from tests.host.ledgers import gone, me
from tests.host.process.test_identity import BOOT, add, child, proc, stat_line

__all__ = ["proc"]

LATER = 4_194_301
"""A number that the kernel gives to nobody here."""


def lease(**fields: object) -> Lease:
    return replace(Lease("0badcafe", "", os.getuid(), "", 0.0, owners=gone().processes), **fields)


def nobody() -> LiveContainers | None:
    raise AssertionError("Docker was asked")


def test_a_process_with_the_variable_keeps_the_lease() -> None:
    """What a job leaves behind in the background inherits its environment."""
    assert not is_in_use(lease(), nobody)
    with child("", **{LEASE_VARIABLE: "0badcafe"}):
        assert is_in_use(lease(), nobody)
        assert not is_in_use(lease(id="0badcaff"), nobody)
    assert not is_in_use(lease(), nobody)


def test_a_cgroup_that_was_not_written_down_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maker was killed between making it and telling so; the process in there ends in a moment."""
    group = LeaseGroup("0badcafe", str(tmp_path), 1, 1, ())
    monkeypatch.setattr(work, "lease_groups", lambda: [group])
    monkeypatch.setattr(work, "is_cgroup", lambda path: path == tmp_path)
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n")
    assert is_in_use(lease(), nobody)
    assert not is_in_use(lease(id="0badcaff"), nobody)
    assert not is_in_use(lease(rung="affinity"), nobody)
    (tmp_path / "cgroup.procs").write_text("")
    assert not is_in_use(lease(), nobody)


def test_a_cgroup_that_is_not_mounted_here_frees_nothing(tmp_path: Path) -> None:
    """In another mount namespace its folder may be missing while the job runs: its variable still tells of it."""
    with child("", **{LEASE_VARIABLE: "0badcafe"}):
        assert is_in_use(lease(cgroup=str(tmp_path / "not-mounted")), nobody)


def test_docker_is_asked_only_for_a_container() -> None:
    assert is_in_use(lease(owners=me().processes, container="c"), nobody)
    assert not is_in_use(lease(container="c"), dict)
    assert is_in_use(lease(container="c"), lambda: {"0badcafe": True})
    assert not is_in_use(lease(container=PENDING), lambda: {"0badcafe": False})


def test_a_docker_that_does_not_answer_frees_nothing() -> None:
    assert is_in_use(lease(container="c"), lambda: None)


def test_the_processes_of_a_cgroup_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever they are; an empty group, one that is gone, or a folder that is none does not."""
    monkeypatch.setattr(work, "is_cgroup", lambda path: path == tmp_path)
    (tmp_path / "cgroup.procs").write_text("")
    assert not is_in_use(lease(cgroup=str(tmp_path)), nobody)
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n")
    assert is_in_use(lease(cgroup=str(tmp_path)), nobody)
    assert not is_in_use(lease(cgroup=str(tmp_path / "gone")), nobody)
    monkeypatch.undo()
    assert not is_in_use(lease(cgroup=str(tmp_path)), nobody)


def test_only_what_the_kernel_shows_is_moved_or_ended() -> None:
    """A ledger that many share may name any process: one without the mark, the cgroup and the variable is no part."""
    with child("") as own, child("", **{LEASE_VARIABLE: "0badcafe"}) as part:
        pids = (os.getppid(), own.pid, part.pid)
        owners = (gone().processes[0], *(identify(pid) for pid in pids))
        assert set(job_pids(lease(owners=owners))) == {own.pid, part.pid}
        assert moved_to(lease(owners=owners[:2], rung="affinity"), 1) is None


# Processes of others, whose environment may not be read


def owner(proc: Path, **fields: object) -> ProcessId:
    return replace(ProcessId(LATER - 1, 500, BOOT, (proc / "self/ns/pid").stat().st_ino), **fields)


def hidden(proc: Path, *, start: int = 600, uid: int = 7, cpus: str = "2-3", memory: str = "VmSize:\t1 kB\n") -> None:
    """A process whose environment is a folder: to read it fails for root, too."""
    add(proc, LATER, stat_line(LATER, start=start))
    (proc / str(LATER) / "environ").mkdir()
    (proc / str(LATER) / "status").write_text(f"Uid:\t{uid}\t0\t0\t0\n{memory}Cpus_allowed_list:\t{cpus}\n")


def his(proc: Path, **fields: object) -> Lease:
    """Of a job that carries no mark."""
    return replace(lease(uid=7, exclusive=0b1111, owners=(owner(proc),), rung="affinity"), **fields)


def test_a_hidden_process_that_is_bound_to_the_lease_keeps_it(proc: Path) -> None:
    """Doubt keeps a lease."""
    hidden(proc)
    assert is_in_use(his(proc), nobody, proc)


@pytest.mark.parametrize(
    "fields",
    [{"start": 499}, {"uid": 8}, {"cpus": "2-4"}, {"memory": ""}, {"cpus": "nonsense"}],
    ids=["older than the lease", "another user", "not bound to it alone", "a thread of the kernel", "nonsense"],
)
def test_a_hidden_process_that_cannot_be_of_the_job_does_not(proc: Path, fields: dict[str, str]) -> None:
    hidden(proc, **fields)  # type: ignore[arg-type]
    assert not is_in_use(his(proc), nobody, proc)


def test_a_stranger_keeps_no_lease_whose_processes_are_marked(proc: Path) -> None:
    """Nor one that was never started: it has no processes."""
    hidden(proc)
    assert not is_in_use(his(proc, marked=True), nobody, proc)
    assert not is_in_use(his(proc, rung=""), nobody, proc)
    mark = 0x3FFFFFFF << 32 | 0x0BADCAFE
    (proc / str(LATER) / "limits").write_text(f"Max realtime timeout      unlimited   {mark}   us\n")
    assert is_in_use(his(proc, marked=True), nobody, proc)


def test_an_empty_cgroup_frees_a_lease_whose_owners_cannot_be_seen(tmp_path: Path, proc: Path) -> None:
    """Its command went into that cgroup before it was written down. One that cannot be seen says nothing, and nor does
    an empty list of processes: those of other pid namespaces are not in it."""
    (tmp_path / "cgroup.procs").write_text("")
    unseen = lease(owners=(owner(proc, namespace=1),), cgroup=str(tmp_path))
    assert is_in_use(unseen, nobody, proc)
    (tmp_path / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    assert is_in_use(unseen, nobody, proc)
    (tmp_path / "cgroup.events").write_text("populated 0\nfrozen 0\n")
    assert not is_in_use(unseen, nobody, proc)
    assert is_in_use(replace(unseen, cgroup=str(tmp_path / "not-mounted")), nobody, proc)
    assert is_in_use(replace(unseen, cgroup=""), nobody, proc)


def test_nothing_survives_a_restart_of_the_machine(proc: Path) -> None:
    """Start times of another boot say nothing about processes of this one."""
    hidden(proc)
    assert not is_in_use(his(proc, owners=(owner(proc, boot="another"),)), nobody, proc)


def test_a_lease_of_shared_work_is_not_kept_by_hidden_processes(proc: Path) -> None:
    """It holds no CPUs that anybody could miss."""
    hidden(proc)
    assert not is_in_use(his(proc, exclusive=0), nobody, proc)


def test_a_process_in_a_namespace_below_is_seen(tmp_path: Path) -> None:
    """A job that makes a pid namespace of its own still counts: the one around it sees all processes."""
    if os.geteuid():
        pytest.skip("only root can do this")
    command = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", "print('x', flush=True); input()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, LEASE_VARIABLE: "0badcafe"}
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline() != b"x\n":
            pytest.skip("no namespace can be made here")
        assert is_in_use(lease(), nobody)
        process.communicate(b"\n")
