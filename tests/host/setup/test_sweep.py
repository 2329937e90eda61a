"""What is done each minute."""

from pathlib import Path

from numafit.host.book.book import Book
from numafit.host.session import open_session
from numafit.host.setup.sweep import is_overdue, sweep
from tests.host.ledgers import end, eventually, job


def test_a_job_whose_time_is_over_and_whom_nobody_watches_is_ended(tmp_path: Path) -> None:
    """While its watcher lives that is his to do."""
    said: list[str] = []
    with job(tmp_path, "--cpus", "1", "--time", "0.1s", "--grace", "60s", command=("sh", "-c", DEAF)) as process:
        with Book.open(tmp_path) as book:
            (lease,) = book.leases()
        assert not is_overdue(lease)
        end(process.pid)
        process.wait()
        eventually(lambda: is_overdue(lease))
        sweep(open_session(tmp_path, said.append, devices=False))
        with Book.open(tmp_path) as book:
            assert book.leases() == []
            assert {entry.event for entry in book.history(9)} >= {"taken", "expired", "freed"}
    assert said == [f"the time of lease {lease.id} is over: its job was ended"]


DEAF = "trap : TERM; echo ready; sleep 30 & wait; trap - TERM; sleep 30"
"""The first SIGTERM, which its watcher sends, wakes it only."""
