"""A mount namespace in which another machine's /sys and /proc lie over ours, with folders of its own for a kubelet.

It lives as long as the process that `unshare` becomes; a kubelet enters it with `nsenter`. Nothing of it is seen from
outside, and nothing is left of it.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

STORAGE = "1g"
"""What the node has for pods: a tmpfs, so that it is the same everywhere."""

WRITTEN = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")
KEYS = ("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
"""Settings of the kernel that a kubelet writes: it gets copies."""

CGROUPS = Path("/sys/fs/cgroup")
PODS = "kubepods"


def unpacked(archive: Path, folder: Path) -> Path:
    """A captured machine as files."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(folder)], check=True)
    return folder


def set_pages(machine: Path, pages: Mapping[int, int]) -> None:
    """So many huge pages of 2 MiB on each NUMA node, all of them free, in the place of those that were captured."""
    kind = "hugepages/hugepages-2048kB"
    counts = {f"sys/devices/system/node/node{node}/{kind}": count for node, count in pages.items()}
    if counts:
        counts[f"sys/kernel/mm/{kind}"] = sum(pages.values())
    for folder, count in counts.items():
        for name in ("nr_hugepages", "free_hugepages"):
            (machine / folder / name).write_text(f"{count}\n")


def packed(machine: Path, archive: Path) -> None:
    """It as it is now."""
    subprocess.run(["tar", "-czf", str(archive), "-C", str(machine), "."], check=True)


def inside(machine: Path, scratch: Path, command: Sequence[str]) -> list[str]:
    """The command that runs `command` on that machine."""
    binds = [(machine / path, f"/{path}") for path in ("sys/devices/system", "proc/cpuinfo", "proc/meminfo")]
    pages = machine / "sys/kernel/mm/hugepages"
    if pages.is_dir() and Path("/sys/kernel/mm/hugepages").is_dir():
        binds.append((pages, "/sys/kernel/mm/hugepages"))
    scratch.mkdir(parents=True, exist_ok=True)
    for name in (*WRITTEN, *KEYS):
        real, copy = Path("/proc/sys", name), scratch / name.replace("/", "-")
        if real.exists():
            copy.write_text(real.read_text())
            binds.append((copy, str(real)))
    lines = ["set -e", *(shlex.join(["mount", "--bind", str(own), over]) for own, over in binds)]
    lines += [
        "mount -t tmpfs tmpfs /var/lib",
        "mkdir /var/lib/kubelet",
        f"mount -t tmpfs -o size={STORAGE} tmpfs /var/lib/kubelet",
        "mount -t tmpfs tmpfs /var/log",
        f"exec {shlex.join(command)}",
    ]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(lines)]


def entered(process: int, folder: Path, command: Sequence[str]) -> list[str]:
    """It runs in that folder: a kubelet removes files by names that are relative to where it runs."""
    folder.mkdir(exist_ok=True)
    return ["nsenter", f"--target={process}", "--mount", f"--wdns={folder}", "--", *command]


def seen_from(process: int, path: str) -> Path:
    """A file as that process sees it."""
    return Path(f"/proc/{process}/root{path}")


class Cgroup:
    """A folder of its own in each hierarchy: pods of a kubelet are below it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version_2 = (CGROUPS / "cgroup.controllers").exists()
        roots = [CGROUPS] if self.version_2 else [path for path in CGROUPS.iterdir() if path.is_dir()]
        self.folders = [root / name for root in roots if not root.is_symlink()]

    def make(self) -> None:
        sweep()
        for folder in self.folders:
            self._make(folder)
            # One that is there already is not given all CPUs of a machine that has more than this one.
            self._make(folder / PODS)

    def _make(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            own, above = folder / file, folder.parent / file
            if not self.version_2 and own.exists() and not own.read_text().strip():
                own.write_text(above.read_text())
        control = folder / "cgroup.subtree_control"
        if self.version_2 and control.exists():
            able = (folder / "cgroup.controllers").read_text().split()
            control.write_text(" ".join(f"+{name}" for name in able))

    def remove(self) -> None:
        for folder in self.folders:
            _remove(folder)


PREFIX = "numafit-kube-"


def own_cgroup(node: str) -> Cgroup:
    """Named for the process that it belongs to."""
    return Cgroup(f"{PREFIX}{os.getpid()}-{node}")


def sweep() -> None:
    """Those that a process left when it was killed."""
    for folder in (*CGROUPS.glob(f"{PREFIX}*"), *CGROUPS.glob(f"*/{PREFIX}*")):
        process = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", process).exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    if not folder.is_dir():
        return
    for path in sorted((own for own in folder.rglob("*") if own.is_dir()), reverse=True):
        _rmdir(path)
    _rmdir(folder)


def _rmdir(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        # something runs in it still: the next sweep takes it
        return
