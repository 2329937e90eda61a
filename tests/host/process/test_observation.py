"""What the kernel says of a process: real children, and made-up trees for cpusets and for what may not be seen."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from numafit.host.gpu.users import GpuUse
from numafit.host.process.cpuset import Cpuset, effective_cpuset
from numafit.host.process.observation import glance, observe
from tests.host.process.test_identity import UNUSED, child


def test_a_real_child_is_seen_as_it_was_bound() -> None:
    """Affinity of the process and of each thread, its name, user and command."""
    cpu = max(os.sched_getaffinity(0))
    code = (
        f"import os, threading, time\nos.sched_setaffinity(0, [{cpu}])\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    )
    with child(code, "an argument") as process:
        seen = observe(process.pid, {process.pid: (GpuUse("GPU-1"),)})
    assert seen is not None
    assert (seen.cpus, seen.all_cpus, len(seen.threads), seen.user) == (1 << cpu, 1 << cpu, 2, os.getuid())
    assert {(thread.cpus, thread.last_cpu) for thread in seen.threads} == {(1 << cpu, cpu)}
    assert seen.command.endswith(" an argument")
    assert seen.gpus == (GpuUse("GPU-1"),)
    assert not seen.kernel
    assert seen.resident > 1 << 20


def test_one_thread_with_another_binding_is_seen() -> None:
    """Skipped where there is only one CPU to bind to."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    code = (
        "import os, threading\ndone = threading.Event()\n"
        f"def work():\n    os.sched_setaffinity(threading.get_native_id(), [{cpus[1]}])\n"
        "    done.set()\n    threading.Event().wait()\n"
        f"os.sched_setaffinity(0, [{cpus[0]}])\nthreading.Thread(target=work, daemon=True).start()\ndone.wait()"
    )
    with child(code) as process:
        seen = observe(process.pid)
    assert seen is not None
    assert (seen.cpus, seen.all_cpus) == (1 << cpus[0], 1 << cpus[0] | 1 << cpus[1])


def test_a_process_that_is_not_there_is_nothing() -> None:
    assert (observe(UNUSED), glance(UNUSED)) == (None, None)


def test_a_thread_of_the_kernel_is_known_as_one() -> None:
    """kthreadd, process 2 of a host; in a container there is none."""
    try:
        name = Path("/proc/2/comm").read_text()
    except OSError:
        name = ""
    if name != "kthreadd\n":
        pytest.skip("no kernel threads are seen here")
    seen = observe(2)
    assert seen is not None
    assert (seen.kernel, seen.pages) == (True, None)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """A copy of a real process without its pages: the rest is there."""
    folder = tmp_path / str(UNUSED)
    folder.mkdir()
    for name in ("stat", "status"):
        shutil.copyfile(f"/proc/self/{name}", folder / name)
    seen = observe(UNUSED, root=tmp_path)
    assert seen is not None
    assert seen.cpus == sum(1 << cpu for cpu in os.sched_getaffinity(0))
    assert seen.pages is None
    assert "the nodes of its pages: this kernel does not tell" in seen.unseen


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_somebody_elses_pages_are_not_seen_by_an_ordinary_user() -> None:
    """A reason, and no traceback; what everybody may read is there."""
    code = (
        "import os\nos.setuid(65534)\nfrom numafit.host.process.observation import observe\n"
        f"print(observe({os.getpid()}).unseen)"
    )
    source = Path(__file__).resolve().parents[3] / "src"
    paths = os.pathsep.join([str(source), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", f"import numafit.host.process.observation\n{code}"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "('the nodes of its pages: permission denied; ask as its user or as root',)\n", done.stderr


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_cpuset_of_v1_is_read_where_it_is_mounted(tmp_path: Path) -> None:
    write(tmp_path / "7/cgroup", "4:memory:/a\n3:cpu,cpuset:/a/b\n0::/\n")
    write(tmp_path / "self/mountinfo", f"34 31 0:31 / {tmp_path}/cs rw - cgroup cgroup rw,cpu,cpuset\n")
    write(tmp_path / "cs/a/b/cpuset.effective_cpus", "0-3\n")
    write(tmp_path / "cs/a/b/cpuset.effective_mems", "1\n")
    assert effective_cpuset(7, tmp_path) == Cpuset("v1", "/a/b", 0b1111, 0b10)


def test_in_v2_the_nearest_ancestor_with_the_controller_decides(tmp_path: Path) -> None:
    """The group itself has no cpuset files when its parent does not hand the controller on."""
    write(tmp_path / "7/cgroup", "0::/user.slice/session\n")
    write(tmp_path / "self/mountinfo", f"34 31 0:31 / {tmp_path}/cg rw - cgroup2 cgroup2 rw\n")
    write(tmp_path / "cg/user.slice/cpuset.cpus.effective", "4-7\n")
    write(tmp_path / "cg/user.slice/cpuset.mems.effective", "0-1\n")
    assert effective_cpuset(7, tmp_path) == Cpuset("v2", "/user.slice", 0xF0, 0b11)


@pytest.mark.parametrize(("group", "found"), [("/pod/x", True), ("/podium/x", False), ("/../other", False)])
def test_a_part_of_the_hierarchy_may_be_mounted(tmp_path: Path, group: str, found: bool) -> None:
    """In a container; a group outside that part cannot be seen."""
    write(tmp_path / "7/cgroup", f"0::{group}\n")
    write(tmp_path / "self/mountinfo", f"34 31 0:31 /pod {tmp_path}/cg rw - cgroup2 cgroup2 rw\n")
    write(tmp_path / "cg/x/cpuset.cpus.effective", "2\n")
    write(tmp_path / "cg/x/cpuset.mems.effective", "0\n")
    assert effective_cpuset(7, tmp_path) == (Cpuset("v2", "/x", 0b100, 1) if found else None)
