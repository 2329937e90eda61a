"""The mark of a lease: on real processes of this kernel, through everything that takes their variables away."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from numafit.host.bind.mark import is_marked, marked_processes
from numafit.host.bind.marking import mark_self
from tests.host.children import NOBODY, in_child, needs_root
from tests.host.process.test_identity import add, child, proc, stat_line

__all__ = ["proc"]

CODE = "from numafit.host.bind.marking import mark_self; mark_self(sys.argv[1])"


def test_what_a_marked_process_starts_is_marked_too() -> None:
    """Without its variables, in a session of its own, and after its parent has ended."""
    code = f"{CODE}; import subprocess; subprocess.Popen(['env', '-i', 'setsid', 'sleep', '60'])"
    with child(code, "0badcafe") as process:
        found = marked_processes("0badcafe")
        assert process.pid in found
        assert len(found) == 2
    [left] = marked_processes("0badcafe")
    os.kill(left, 9)


def test_every_user_can_read_it() -> None:
    """Of another's process the environment is closed to him."""
    needs_root()
    with child(CODE, "0badcafe") as process:
        path = Path(f"/proc/{process.pid}/environ")
        assert in_child(lambda: (is_marked(process.pid, "0badcafe"), os.access(path, os.R_OK)), user=NOBODY) == (
            True,
            False,
        )


def test_a_job_inside_a_job_gets_a_mark_of_its_own() -> None:
    """Also of a user who may only lower limits."""
    needs_root()

    def both() -> tuple[bool, bool, bool]:
        mark_self("ffffffff")
        outer = is_marked(os.getpid(), "ffffffff")
        mark_self("00000001")
        return outer, is_marked(os.getpid(), "ffffffff"), is_marked(os.getpid(), "00000001")

    assert in_child(both, user=NOBODY) == (True, False, True)


def test_a_limit_that_somebody_set_is_left_alone() -> None:
    def kept() -> tuple[tuple[int, int], bool]:
        resource.setrlimit(resource.RLIMIT_RTTIME, (100, 200))
        mark_self("0badcafe")
        return resource.getrlimit(resource.RLIMIT_RTTIME), is_marked(os.getpid(), "0badcafe")

    assert in_child(kept) == ((100, 200), False)


def test_a_soft_limit_stays() -> None:
    def kept() -> tuple[int, bool]:
        resource.setrlimit(resource.RLIMIT_RTTIME, (100, resource.RLIM_INFINITY))
        mark_self("0badcafe")
        return resource.getrlimit(resource.RLIMIT_RTTIME)[0], is_marked(os.getpid(), "0badcafe")

    assert in_child(kept) == (100, True)


@pytest.mark.parametrize("lease", ["", "cafe", "not-hex!", "0badcafe0"])
def test_an_id_that_is_no_number_of_32_bits_makes_no_mark(lease: str) -> None:
    def limit() -> int:
        mark_self(lease)
        return resource.getrlimit(resource.RLIMIT_RTTIME)[1]

    assert in_child(limit) == resource.getrlimit(resource.RLIMIT_RTTIME)[1]


def test_other_limits_are_no_marks(proc: Path) -> None:
    """Unlimited, a plain number, another lease's, and a process that is gone."""
    for pid, hard in enumerate(("unlimited", "195935997", str(0x3FFFFFFF << 32 | 7), str(0x3FFFFFFF << 32 | 8)), 1):
        text = f"Limit  Soft Limit  Hard Limit  Units\nMax realtime timeout      unlimited            {hard}   us\n"
        add(proc, pid, stat_line(pid), limits=text.encode())
    add(proc, 5, stat_line(5))
    assert marked_processes("00000007", proc) == [3]


def test_real_time_programs_run_as_before() -> None:
    """The limit is on their time; the mark is too far up to end anybody."""
    needs_root()
    words = ["chrt", "-f", "1", "sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"]
    try:
        plain = subprocess.run(words, check=False).returncode
    except FileNotFoundError:
        pytest.skip("chrt is not there")
    if plain:
        pytest.skip("real-time programs cannot be started here")

    def run() -> int:
        mark_self("0badcafe")
        return subprocess.run(words, check=False).returncode

    assert in_child(run) == 0
