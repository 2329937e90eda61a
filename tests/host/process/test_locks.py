"""Who holds a lock on a file."""

import fcntl
import os
import subprocess
import time
from pathlib import Path

from numafit.host.process.identity import user_name
from numafit.host.process.locks import LockHolder, lock_holder


def test_nobody_holds_a_file_that_is_not_locked(tmp_path: Path) -> None:
    handle = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    assert lock_holder(handle) is None
    os.close(handle)


def test_the_holder_is_named_with_its_program_and_user(tmp_path: Path) -> None:
    """Not one that waits for the lock, nor one of another kind of lock."""
    path = tmp_path / "file"
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.lockf(handle, fcntl.LOCK_EX)
    with subprocess.Popen(["flock", str(path), "sh", "-c", "echo; read end"], stdin=-1, stdout=-1) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        waiting = subprocess.Popen(["flock", str(path), "true"])
        try:
            while f"-> FLOCK  ADVISORY  WRITE {waiting.pid}" not in Path("/proc/locks").read_text():
                assert waiting.poll() is None
                time.sleep(0.01)
            found = lock_holder(handle)
        finally:
            holder.communicate(b"\n")
            waiting.wait()
    os.close(handle)
    assert found == LockHolder(holder.pid, "flock", user_name(os.getuid()))
    assert found.words == f"process {holder.pid} (flock, of {found.user})"


def test_of_one_that_is_hidden_the_number_is_known(tmp_path: Path) -> None:
    """As /proc/locks of a made up machine has it."""
    handle = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    stat = os.fstat(handle)
    place = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}:{stat.st_ino}"
    (tmp_path / "locks").write_text(f"1: FLOCK  ADVISORY  WRITE 4711 {place} 0 EOF\n")
    found = lock_holder(handle, tmp_path)
    os.close(handle)
    assert (found, found.words if found else "") == (LockHolder(4711, "", ""), "process 4711")
