"""A folder that behaves as a cgroup hierarchy does, as far as numafit can tell: new groups have their files, a group
goes away with them, and what is written to a cpuset becomes effective."""

import os
from pathlib import Path

import pytest

from numafit.host.bind import cgroup

V1_FILES = ("cgroup.procs", "cpuset.cpus", "cpuset.mems", "cpuset.effective_cpus", "cpuset.effective_mems")
V2_FILES = (
    "cgroup.procs",
    "cgroup.type",
    "cgroup.controllers",
    "cgroup.subtree_control",
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.cpus.effective",
    "cpuset.mems.effective",
)
_EFFECTIVE = {"cpuset.cpus": "cpuset.cpus.effective", "cpuset.mems": "cpuset.mems.effective"}
_EFFECTIVE_V1 = {"cpuset.cpus": "cpuset.effective_cpus", "cpuset.mems": "cpuset.effective_mems"}


class Hierarchy:
    def __init__(self, root: Path, *, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.files = V2_FILES if version == 2 else (*V1_FILES, "cpuset.memory_migrate")
        self.effective = _EFFECTIVE if version == 2 else _EFFECTIVE_V1
        self.written: list[tuple[str, str]] = []
        self.refused: dict[str, int] = {}
        """File, relative to the root -> errno of a write to it."""
        self.make(root)
        real_mkdir, real_rmdir = Path.mkdir, os.rmdir

        def mkdir(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
            if exist_ok and path.is_dir():
                return
            real_mkdir(path, mode, parents)
            self.make(path)

        def rmdir(path: str | Path) -> None:
            procs = Path(path) / "cgroup.procs"
            if any(entry.is_dir() for entry in os.scandir(path)) or procs.read_text().strip():
                raise OSError(16, "Device or resource busy", str(path))
            for entry in os.scandir(path):
                os.unlink(entry)
            real_rmdir(path)

        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(os, "rmdir", rmdir)
        monkeypatch.setattr(Path, "rmdir", lambda path: rmdir(path))
        for module in (cgroup, __import__("numafit.host.bind.cgroup_v1", fromlist=["write"])):
            monkeypatch.setattr(module, "write", self.write)

    def make(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True) if folder == self.root and not folder.exists() else None
        for name in self.files:
            (folder / name).write_text("")
        if folder == self.root:
            (folder / "cgroup.type").unlink(missing_ok=True)
        if "cgroup.controllers" in self.files:
            (folder / "cgroup.controllers").write_text("cpuset cpu\n")

    def write(self, path: Path, text: str) -> None:
        name = str(path.relative_to(self.root))
        if name in self.refused:
            raise OSError(self.refused[name], os.strerror(self.refused[name]), str(path))
        self.written.append((name, text))
        if path.name == "cgroup.subtree_control":
            words = set(path.read_text().split())
            words = words | {text[1:]} if text[0] == "+" else words - {text[1:]}
            text = " ".join(sorted(words))
        path.write_text(f"{text}\n")
        if path.name in self.effective:
            (path.parent / self.effective[path.name]).write_text(f"{text}\n")

    def groups(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_dir())
