"""Who was told to start reports, and hears what is said of his lease."""

import os
import subprocess
from pathlib import Path

from msgspec.structs import replace

from numafit.host.book.book import Book
from numafit.host.book.starts import Starts
from numafit.host.grant import QueuePlace
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.host.wake.foreseen import Foreseen
from numafit.host.wake.words import NOTHING, WRITTEN
from tests.host.ledgers import me, small_host, taken

REMARK = "node 0 is nearly full (1Gi of 256Gi are really free): the job goes to node 1"


def test_what_differs_from_the_claims_is_said_first(tmp_path: Path) -> None:
    """As by one who did not wait: before how it is bound."""
    host = small_host()
    with Book.open(tmp_path) as book, subprocess.Popen(["sleep", "60"]) as child:
        lease = taken(book, host, JobRequest(cpus=1))
        lease = book.change(lease.id, lambda old: replace(old, remarks=(REMARK,))) or lease
        place = QueuePlace(me(), JobRequest(cpus=1), 0.0, ticket=7, foreseen=Foreseen("affinity", "", ()))
        heard, say = os.pipe()
        starts = Starts(book)
        starts.begin(place, lease, lease.exclusive, say)
        starts.heard(f"=7 {lease.id} {child.pid} - - 1\n".encode())
        word, variables, rest = os.read(heard, 1 << 16).decode().split()
        os.close(heard)
        child.kill()
    assert (word, variables) == (WRITTEN, NOTHING)
    assert bytes.fromhex(rest).decode().splitlines() == [
        f"numafit: {REMARK}",
        f"numafit: lease {lease.id}: CPUs 0, memory from anywhere; bound by affinity",
    ]


def test_one_who_received_his_lease_otherwise_hears_it_too(tmp_path: Path) -> None:
    said: list[str] = []
    with Book.open(tmp_path, None, said.append) as book:
        book.receive(Lease("0badcafe", "", 0, "root", 1.5, remarks=(REMARK,)), me())
    assert said == [REMARK]
