"""`numafit ps`, `free`, `release` and `history` as they are typed."""

import json
import sqlite3
import time
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.host.book.book import Book
from numafit.host.book.store import FILE
from numafit.host.free import free_on
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.ledger.ledger import Block
from numafit.show.records.leases import history_record
from numafit.show.table import Screen
from numafit.show.text.leases import age_text, free_text, history_text, leases_text
from tests.host.children import needs_cpus
from tests.host.ledgers import (
    as_user,
    children_of,
    cpus_of,
    elsewhere,
    end,
    eventually,
    host_named,
    job,
    me,
    numafit,
    small_host,
    taken,
    user_folder,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMAFIT_STATE", str(tmp_path / "ledger"))
    return tmp_path / "ledger"


def lease(**fields: object) -> Lease:
    record = {"id": "0badcafe", "name": "", "uid": 0, "user": "ann", "since": time.time() - 3700, **fields}
    return Lease(**record)  # type: ignore[arg-type]


LEASES = [
    lease(
        command="python train.py --size large --and more",
        exclusive=0b1111,
        nodes=1,
        memory=(Block((0,), "memory", 2 << 30),),
        devices={"nvidia.com/gpu": ("GPU-1",)},
        rung="affinity and memory policy",
    ),
    lease(id="1badcafe", user="bob", name="book", command="jupyter", bound=0b110000, rung="cgroup v2"),
]


# ps


def test_nobody_holds_anything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ps"]) == 0
    assert capsys.readouterr().out == "No leases: nobody holds anything.\n"
    assert main(["ps", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"leases": [], "waiting": []}


def test_the_table_has_a_line_per_lease() -> None:
    assert leases_text(LEASES, {"GPU-1": "GPU1"}).splitlines() == [
        "LEASE     USER  PLACED  NODES  CPUS        MEMORY  DEVICES  SINCE  BOUND BY                    COMMAND",
        "0badcafe  ann   -       0      0-3         2Gi     GPU1     1h     affinity and memory policy  "
        "python train.py --size large --and more",
        "1badcafe  bob   -       any    shared 4-5  -       -        1h     cgroup v2                   book: jupyter",
    ]


def test_on_a_narrow_screen_it_has_two_lines_of_80_columns() -> None:
    text = leases_text(LEASES, {}, Screen(80))
    assert text.splitlines() == [
        "LEASE     USER  PLACED  NODES  CPUS        MEMORY  DEVICES  SINCE",
        "0badcafe  ann   -       0      0-3         2Gi     GPU-1    1h",
        "    BOUND BY affinity and memory policy",
        "    COMMAND python train.py --size large --and more",
        "1badcafe  bob   -       any    shared 4-5  -       -        1h",
        "    BOUND BY cgroup v2; COMMAND book: jupyter",
    ]


def test_what_a_command_says_cannot_play_with_the_terminal() -> None:
    assert "\x1b" not in leases_text([lease(command="evil \x1b[2J", user="\x1bx")], {})


@pytest.mark.parametrize(("age", "text"), [(-5, "0s"), (59, "59s"), (60, "1m"), (7200, "2h"), (200_000, "2d")])
def test_ages_are_short_and_never_negative(age: float, text: str) -> None:
    """A clock that was set back makes a lease as good as new."""
    assert age_text(time.time() - age - 0.1) == text


def test_json_tells_everything_about_a_lease(folder: Path) -> None:
    with Book.open(folder) as book:
        mine = taken(book, small_host(), JobRequest(cpus=1, memory=1 << 20, name="n"), me("a command"))
        book.enqueue(small_host(), JobRequest(cpus=2), me("later"))
    done = numafit(folder, "ps", "-o", "json")
    found = json.loads(done.stdout)
    (one,) = found["leases"]
    assert {name: one[name] for name in ("id", "name", "command", "exclusive", "memoryBytes", "shared", "policy")} == {
        "id": mine.id,
        "name": "n",
        "command": "a command",
        "exclusive": "0",
        "memoryBytes": 1 << 20,
        "shared": False,
        "policy": "best-effort",
    }
    assert [(place["command"], place["request"]["cpus"]) for place in found["waiting"]] == [("later", 2)]
    assert "waits since" in numafit(folder, "ps").stdout


def test_a_picture_and_the_state_files_of_a_kubelet_are_written(folder: Path, tmp_path: Path) -> None:
    with Book.open(folder) as book:
        taken(book, small_host(), JobRequest(cpus=1), me())
    done = numafit(folder, "ps", "--picture", str(tmp_path / "box.svg"), "--write-state", str(tmp_path / "state"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "box.svg").read_text().startswith("<svg")
    # Devices have a file of their own, where there are any.
    names = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "state").rglob("*") if path.is_file())
    names = [name for name in names if "device-plugins" not in name]
    assert names == [
        "state/cpu_manager_state",
        "state/memory_manager_state",
    ]
    assert '"lease":"0"' in (tmp_path / "state/cpu_manager_state").read_text()


# free


def test_free_tells_what_is_left_of_each_node() -> None:
    host = host_named("gpu8-128cpu")
    held = Lease("a", "", 0, "", 0.0, exclusive=0b1111, devices={"nvidia.com/gpu": ("GPU4", "GPU5")})
    assert free_text(free_on(host, [held]), {}) == (
        "NODE  CPUS FREE                MEMORY FREE     DEVICES FREE\n"
        "0     60 of 64   4-31,64-95    256Gi of 256Gi  GPU0,GPU1,GPU2,GPU3\n"
        "1     64 of 64   32-63,96-127  256Gi of 256Gi  GPU6,GPU7\n"
        "\n"
        "Largest aligned job: on node 0: --cpus 56 --memory 262144Mi --device nvidia.com/gpu=4\n"
        "Shared pool: CPUs 4-127"
    )


def test_free_of_this_host_agrees_with_its_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["free", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["free"]) == 0
    assert f"Shared pool: CPUs {found['pool']}\n" in capsys.readouterr().out


# history


def test_history_is_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 0
    assert capsys.readouterr().out == "No history yet.\n"
    with Book.open(folder) as book:
        mine = taken(book, small_host(), JobRequest(cpus=1))
        book.release(mine.id)
        book.take(small_host(), JobRequest(cpus=4, policy="single-numa-node"), me())
    assert main(["history", "-n", "2", "-o", "json"]) == 0
    events = [(entry["event"], entry["lease"]) for entry in json.loads(capsys.readouterr().out)["history"]]
    assert events[1] == ("released", mine.id)
    assert events[0][0] == "taken"
    assert main(["history"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["TIME", "EVENT", "LEASE", "USER", "WHAT", "COMMAND"]
    assert len(lines) == 4


@pytest.mark.parametrize("data", [b"[]", b"3", b"{}", b"x"])
def test_an_entry_that_makes_no_sense_is_shown_all_the_same(folder: Path, data: bytes) -> None:
    with Book.open(folder) as book:
        assert book.history(1) == []
        with sqlite3.connect(folder / FILE) as connection:
            line = "INSERT INTO history (time, event, lease, user, data) VALUES (0, 'taken', 'a', 'root', ?)"
            connection.execute(line, (data,))
        connection.close()
        entries = book.history(1)
    assert history_text(entries).splitlines()[1].split() == ["1970-01-01T00:00:00Z", "taken", "a", "root", "-"]
    assert history_record(entries).history[0].data == {}


# release


def test_an_unknown_lease_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "0badcafe"]) == 2
    assert capsys.readouterr().err == "numafit: there is no lease 0badcafe (`numafit ps` lists them)\n"


def test_a_lease_that_was_freed_meanwhile_is_as_good_as_released(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Book.open(folder) as book:
        mine = taken(book, small_host(), JobRequest(cpus=1))
        book.release(mine.id)
    assert main(["release", mine.id]) == 0
    assert capsys.readouterr().out == f"{mine.id} is free already\n"


def test_the_lease_of_a_job_that_runs_is_released_by_force_only(tmp_path: Path) -> None:
    """Then it goes on in the shared pool, and others may take its CPU."""
    cpus = needs_cpus(2)
    with job(tmp_path, "--cpus", "1", "--name", "mine") as process:
        (child,) = children_of(process.pid)
        held = cpus_of(child)
        (one,) = json.loads(numafit(tmp_path, "ps", "-o", "json").stdout)["leases"]
        done = numafit(tmp_path, "release", one["id"])
        assert done.returncode == 2
        assert f"the job of lease {one['id']} runs: sh -c " in done.stderr
        done = numafit(tmp_path, "release", "--force", one["id"])
        assert (done.returncode, done.stdout) == (0, f"released {one['id']}\n")
        assert cpus_of(child) == set(cpus)
        with job(tmp_path, "--cpus", "1") as other:
            assert cpus_of(children_of(other.pid)[0]) == held
            assert cpus_of(child) == set(cpus) - held
        end(child)
        process.wait()
    eventually(lambda: json.loads(numafit(tmp_path, "ps", "-o", "json").stdout)["leases"] == [])


def test_the_lease_of_another_user_is_released_by_root_only(tmp_path: Path) -> None:
    folder = user_folder(tmp_path)
    with Book.open(folder) as book:
        mine = taken(book, small_host(), JobRequest(cpus=1), me())
    for path in folder.iterdir():
        path.chmod(0o666)
    done = numafit(folder, "release", "--force", mine.id, before=as_user())
    assert done.returncode == 2
    assert f"the lease {mine.id} belongs to root (root can release it)" in done.stderr
    assert numafit(folder, "release", "--force", mine.id).returncode == 0


def test_a_job_that_cannot_be_seen_from_here_loses_its_lease_by_force(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pid namespace may be gone with it, and from inside a container nobody else could ever free what it held."""
    monkeypatch.setattr("numafit.host.process.identity.INITIAL_NAMESPACE", 0)
    with Book.open(folder) as book:
        lost = taken(book, small_host(), JobRequest(cpus=1), elsewhere())
        assert [lease.id for lease in book.leases()] == [lost.id]
    assert main(["release", lost.id]) == 2
    assert main(["release", "--force", lost.id]) == 0
    assert capsys.readouterr().out == f"released {lost.id}\n"
    with Book.open(folder) as book:
        assert book.leases() == []
