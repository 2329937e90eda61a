"""Leases of containers live as long as the engine says that the container does."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.host.audit.holders import container_pids, docker_promises, lease_promises
from numafit.host.audit.promise import Promise
from numafit.host.book.book import Book
from numafit.host.book.strays import reenter, stray_text, strays
from numafit.host.docker.containers import START_SECONDS, container_leases, live_containers, lives, repinned
from numafit.host.docker.engine import DockerContainer
from numafit.host.docker.options import label_flags
from numafit.host.lease import PENDING, Lease
from numafit.host.process.identity import identify
from numafit.host.run.container import read_back
from numafit.ledger.ledger import Block
from tests.host.fake_docker import FakeEngine, described, fake_engine
from tests.host.ledgers import check_claims, small_host

LEASE = Lease("1234abcd", "web", 0, "root", 1.5, exclusive=0b11, nodes=1, mems=1)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    with fake_engine(tmp_path / "socket") as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "ledger"))
        yield engine


def labels(lease: Lease) -> dict[str, str]:
    pairs = (flag.removeprefix("--label=").partition("=") for flag in label_flags(lease))
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize(
    ("state", "restart", "alive"),
    [
        ("running", "no", True),
        ("paused", "no", True),
        ("restarting", "on-failure", True),
        ("exited", "no", False),
        ("exited", "on-failure", False),
        ("exited", "unless-stopped", False),
        ("exited", "always", True),
        ("removing", "no", False),
        ("dead", "always", False),
    ],
)
def test_a_container_lives_while_it_runs_or_will_run_again(state: str, restart: str, alive: bool) -> None:
    """An engine that answers has started again what it starts by itself; only `always` brings a stopped one back."""
    assert lives(DockerContainer("c", "c", "image", state, restart=restart), 0.0) is alive


def test_a_container_that_was_just_made_may_be_on_its_way() -> None:
    """The command that starts it may be gone, and the start under way. One that failed to start is not."""
    made = DockerContainer("c", "c", "image", "created", created=1000.0)
    ages = (-3600.0, 0.0, START_SECONDS - 1, START_SECONDS + 1)
    assert [lives(made, 1000.0 + age) for age in ages] == [True, True, True, False]
    assert not lives(replace(made, failed=True), 1000.0)


def test_the_engine_of_a_lease_is_asked_for_its_container(engine: FakeEngine, tmp_path: Path) -> None:
    """By id when it is known, else by label; an engine that does not answer frees nothing."""
    engine.containers = [
        described("c1"),
        described("c2", "exited"),
        described("c3", labels={"numafit.lease": "pending-1"}),
        described("c4", "exited", labels={"numafit.lease": "pending-2"}),
    ]
    here, nowhere = engine.address, f"unix://{tmp_path}/none"

    def held(name: str, container: str, address: str) -> Lease:
        return replace(LEASE, id=name, container=container, engine=address)

    found = live_containers(
        [
            held("runs", "c1", here),
            held("ended", "c2", ""),
            held("removed", "c9", here),
            held("pending-1", PENDING, here),
            held("pending-2", PENDING, here),
            held("unmade", PENDING, here),
            held("unknown", "c1", nowhere),
            held("unasked", PENDING, ""),
            LEASE,
        ]
    )
    assert found == {
        "runs": True,
        "ended": False,
        "removed": False,
        "pending-1": True,
        "pending-2": False,
        "unmade": False,
        "unknown": True,
        "unasked": False,
    }


def test_a_container_tells_of_its_lease(engine: FakeEngine) -> None:
    """With the CPUs that it is pinned to now. Labels that an image hands on are no lease, nor is nonsense."""
    engine.containers = [
        described("c1", cpus="2-3", mems="0", labels=labels(LEASE)),
        described("c2", cpus="", labels=labels(LEASE)),
        described("c3", cpus="0", labels={"numafit.lease": "x", "numafit.record": "nonsense"}),
        described("c4", cpus="0", labels={**labels(LEASE), "numafit.lease": "other"}),
        described("c5", "exited", cpus="0", labels=labels(LEASE)),
    ]
    expected = replace(LEASE, exclusive=0b1100, bound=0b1100, container="c1", engine=engine.address, rung="docker")
    assert container_leases() == [expected]


OTHER = Lease("0therone", "", 0, "root", 1.5, exclusive=0b10, container="c0", engine="unix:///none")
"""Of an engine that does not answer, so that it stays."""


def left_and_back(book: Book, lease: Lease) -> None:
    """The ledger had the lease and freed it, and its CPU 1 was given away."""
    book.add(lease, "taken")
    book.release(lease.id)
    book.add(OTHER, "taken")


def test_a_container_that_was_started_again_gets_its_lease_back(engine: FakeEngine, tmp_path: Path) -> None:
    """If what it is pinned to is free, which it is pinned to stays untouched."""
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(LEASE))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        assert reenter(book, small_host()) == []
        assert [(lease.id, lease.container) for lease in book.leases()] == [("1234abcd", "c1")]
        assert strays(book.leases()) == []
    assert not [asked for asked in engine.asked if "/update" in asked]


def test_one_that_nobody_came_to_write_down_is_entered(engine: FakeEngine, tmp_path: Path) -> None:
    """Its numafit was killed when it had started it, and only the label tells which container it is."""
    engine.containers = [described("c1", cpus="2-3", labels=labels(LEASE))]
    pending = replace(LEASE, container=PENDING, engine=engine.address, exclusive=0, rung="", bound=0b1)
    with Book.open(tmp_path / "ledger", live_containers) as book:
        book.add(pending, "taken")
        assert reenter(book, small_host()) == []
        assert book.leases() == [replace(pending, container="c1", rung="docker", bound=0b1100)]


def test_one_whose_cpus_were_given_away_is_moved_to_others(engine: FakeEngine, tmp_path: Path) -> None:
    """It keeps what is free of its own, and its lease says where it is."""
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(LEASE))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        left_and_back(book, LEASE)
        [stray] = reenter(book, small_host())
        assert stray_text(stray) == (
            "the container c1-name was started again: CPUs 1 are held by the lease 0therone now, so it was moved to "
            "CPUs 0,2"
        )
        held = {lease.id: (lease.exclusive, lease.bound) for lease in book.leases()}
        assert held == {"0therone": (0b10, 0), "1234abcd": (0b101, 0b101)}
        assert reenter(book, small_host()) == []
    check_claims(tmp_path / "ledger")
    assert engine.containers[0]["HostConfig"]["CpusetCpus"] == "0,2"


def test_where_too_few_are_free_it_becomes_shared_work(engine: FakeEngine, tmp_path: Path) -> None:
    """Nothing is held twice, and it is told."""
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(LEASE))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        left_and_back(book, LEASE)
        [stray] = reenter(book, small_host(2))
        assert stray_text(stray).endswith("so it was moved to CPUs 0 of the shared pool")
        assert [lease.exclusive for lease in book.leases()] == [0b10, 0]
        book.release("1234abcd")
    # When it comes back once more, its label still speaks of two CPUs.
    with Book.open(tmp_path / "ledger", live_containers) as book:
        assert reenter(book, small_host(2)) == []
        assert [(lease.exclusive, lease.bound) for lease in book.leases()] == [(0b10, 0), (0, 1)]


def test_one_of_another_ledger_is_not_moved(engine: FakeEngine, tmp_path: Path) -> None:
    """That ledger may hold these CPUs for it; it is told of."""
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(LEASE))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        book.add(OTHER, "taken")
        [stray] = reenter(book, small_host())
        assert stray_text(stray) == (
            "the container c1-name runs on CPUs 0-1 without a lease: CPUs 1 are held by the lease 0therone now "
            "(stop it, or move it with `numafit docker adopt`)"
        )
        assert [lease.id for lease in book.leases()] == ["0therone"]


def test_one_that_the_engine_does_not_move_gets_no_lease(engine: FakeEngine, tmp_path: Path) -> None:
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(LEASE))]
    engine.refusal = "no"
    with Book.open(tmp_path / "ledger", live_containers) as book:
        left_and_back(book, LEASE)
        [stray] = reenter(book, small_host())
        assert (stray.moved, stray.why) == (None, "CPUs 1 are held by the lease 0therone now")
        assert [lease.id for lease in book.leases()] == ["0therone"]


def test_a_device_that_was_given_away_cannot_be_had_back(engine: FakeEngine, tmp_path: Path) -> None:
    """A running container keeps its devices: who has them both is told."""
    mine = replace(LEASE, exclusive=0, devices={"nvidia.com/gpu": ("GPU-1",)})
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(mine))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        book.add(mine, "taken")
        book.release(mine.id)
        book.add(replace(OTHER, devices=mine.devices), "taken")
        [stray] = reenter(book, small_host())
        assert (stray.moved, stray.why) == (None, "nvidia.com/gpu GPU-1 are held by the lease 0therone now")


def test_memory_that_was_given_away_is_not_held_twice(engine: FakeEngine, tmp_path: Path) -> None:
    host = small_host()
    size = host.machine.numa_nodes[0].memory
    mine = replace(LEASE, memory=(Block((0,), "memory", size),))
    engine.containers = [described("c1", cpus="0-1", mems="0", labels=labels(mine))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        book.add(mine, "taken")
        book.release(mine.id)
        book.add(replace(OTHER, exclusive=0, memory=(Block((0,), "memory", 1),)), "taken")
        [stray] = reenter(book, host)
        assert stray_text(stray) == (
            "the container c1-name was started again: others hold the memory of its nodes now, so it was moved to CPUs "
            "0-1 and holds no memory any more"
        )
        assert [lease.memory for lease in book.leases()] == [(Block((0,), "memory", 1),), ()]


def test_of_two_that_were_started_again_on_the_same_cpus_one_gets_its_lease_back(
    engine: FakeEngine, tmp_path: Path
) -> None:
    """Their leases were held one after the other; the second is moved, and no command fails because of it."""
    later = replace(LEASE, id="5678abcd", name="db", exclusive=0b110)
    engine.containers = [
        described("c1", cpus="0-1", mems="0", labels=labels(LEASE)),
        described("c2", cpus="1-2", mems="0", labels=labels(later)),
    ]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        for lease in (LEASE, later):
            book.add(lease, "taken")
            book.release(lease.id)
        [stray] = reenter(book, small_host())
        assert (stray.container.id, stray.why) == ("c2", "CPUs 1 are held by the lease web (1234abcd) now")
        assert [(lease.container, lease.exclusive) for lease in book.leases()] == [("c1", 0b11), ("c2", 0b1100)]


def test_memory_nodes_that_a_compose_file_cannot_name_are_pinned(engine: FakeEngine, tmp_path: Path) -> None:
    engine.containers = [described("c1", cpus="0-1", labels=labels(LEASE))]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        assert reenter(book, small_host()) == []
    assert engine.containers[0]["HostConfig"]["CpusetMems"] == "0"


def test_a_second_container_with_the_same_label_is_no_holder(engine: FakeEngine) -> None:
    engine.containers = [described("c2", cpus="0-1", labels=labels(LEASE))]
    [stray] = strays([replace(LEASE, container="c1")])
    assert stray.why == "the lease web (1234abcd) belongs to another container"
    assert strays([replace(LEASE, container=PENDING)]) == []


def test_a_container_is_moved_when_the_engine_confirms_it(engine: FakeEngine) -> None:
    engine.containers = [described("c1", cpus="0-1")]
    shared = replace(LEASE, exclusive=0, bound=0b11, container="c1", engine=engine.address)
    assert repinned(shared, 0b10) == replace(shared, bound=0b10)
    assert repinned(replace(shared, container="c9"), 0b10) is None
    assert repinned(replace(shared, container=PENDING), 0b10) is None


def test_nothing_is_claimed_that_the_kernel_does_not_show() -> None:
    """This very process stands for the container's first one."""
    mine = DockerContainer("c1", "web", "image", "running", pid=os.getpid())
    cpus = mask_of(os.sched_getaffinity(0))
    assert read_back(replace(LEASE, exclusive=cpus, mems=0), mine).rung == "docker"
    elsewhere = read_back(replace(LEASE, exclusive=1 << 4000, mems=0), mine)
    assert elsewhere.rung == "none"
    assert elsewhere.notes[0].startswith("the kernel lets the container use CPUs ")
    gone = read_back(LEASE, replace(mine, pid=(1 << 22) + 1))
    assert (gone.rung, gone.notes, gone.container) == ("", (), "c1")


def test_promises_are_those_of_the_ledger_before_those_of_docker(engine: FakeEngine, tmp_path: Path) -> None:
    """A container without a lease was promised what it is pinned to; one that is not pinned, nothing."""
    engine.containers = [
        described("c1", cpus="0-3"),
        described("c2", cpus="4-5", mems="0"),
        described("c3"),
        described("c4", "exited", cpus="6"),
    ]
    with Book.open(tmp_path / "ledger", live_containers) as book:
        book.add(replace(LEASE, container="c1", engine=engine.address), "adopted")
    promises = [(one.name, one.cpus, one.mems, one.exclusive) for one in docker_promises()]
    assert promises == [("web (1234abcd)", 0b11, 1, True), ("c2-name", 0b110000, 1, False)]


def test_a_lease_without_container_is_used_by_its_job(tmp_path: Path) -> None:
    """The first owner only watches; what the others started is theirs."""
    folder = tmp_path / "ledger"
    assert lease_promises(folder) == []
    assert not folder.exists()
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        grandchild = int(job.stdout.readline())
        watcher, child = identify(os.getpid()), identify(job.pid)
        assert watcher is not None
        assert child is not None
        with Book.open(folder) as book:
            book.add(replace(LEASE, owners=(watcher, child)), "taken")
        promises = lease_promises(folder)
        os.kill(grandchild, signal.SIGKILL)
    own = tuple(sorted((job.pid, grandchild)))
    assert promises == [Promise("web (1234abcd)", own, 0b11, 1, {}, True, os.getpid(), "1234abcd")]


def test_processes_of_a_container_are_known_by_their_cgroup(tmp_path: Path) -> None:
    """Those of `docker exec` hang on another process."""
    for pid, text in ((4, "0::/docker/abc/x\n"), (9, "3:cpuset:/docker/abc\n0::/\n"), (11, "0::/user.slice\n")):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "cgroup").write_text(text)
    assert container_pids(DockerContainer("abc", "web", "image", "running"), tmp_path) == (4, 9)
