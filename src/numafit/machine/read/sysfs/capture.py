"""What of a machine goes into a capture: exactly the files that the reader of /sys uses, and nothing private.

The reader itself says which files these are: it reads through a `NotingTree`. Serial numbers, addresses of network
cards and the name of the host are left out or replaced, and so are UUIDs of GPUs, unless names are to be kept.
"""

import gzip
import io
import re
import tarfile
from collections.abc import Mapping

import msgspec

from numafit.errors import InputError
from numafit.machine.read.sysfs.machine import CPUINFO, read_sysfs
from numafit.machine.read.sysfs.node import NODES
from numafit.machine.read.sysfs.pci import DRIVER
from numafit.machine.read.sysfs.tree import Tree

COMMANDS = "commands"
"""The folder of a capture with the outputs of other tools."""

_KEPT_NAMES = re.compile(
    r"(?:cpu|node|index)[0-9]+|hugepages-[0-9]+kB|[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII
)
_KEPT_LINES = {
    CPUINFO: re.compile(r"(?:processor|vendor_id|model name|physical id|core id|cpu)[\t ]*:"),
    "meminfo": re.compile(r".*MemTotal:"),
    "information": re.compile(r"(?:Model|GPU UUID):"),
}
_KEPT_INFOS = {
    "Architecture",
    "Backend",
    "CPUFamilyNumber",
    "CPUModel",
    "CPUModelNumber",
    "CPUStepping",
    "CPUVendor",
    "CoreType",
    "GPUModel",
    "GPUVendor",
    "Inclusive",
    "NVIDIAUUID",
    "OSName",
    "PCISlot",
    "hwlocVersion",
}
_XML_INFO = re.compile(r'[\t ]*<info name="([^"]{0,80})"[^>]*>\r?\n?')
_UUID = re.compile(r"(?<![0-9a-zA-Z])(GPU|MIG)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_MAC = re.compile(r"(?<![0-9a-fA-F:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![0-9a-fA-F:])")
_NAMED_BY_MAC = re.compile(r"(?<![0-9a-zA-Z])(en|ib|iw|opa|roce|sl|wl|ww)x([0-9a-f]{12,16})(?![0-9a-zA-Z])")
"""Some systems name network and RDMA devices after the address of the card."""


class CapturedFiles(msgspec.Struct, frozen=True):
    files: dict[str, str]
    links: dict[str, str]
    folders: frozenset[str]
    """Those that may be empty."""
    error: str = ""
    """Why the machine cannot be read; the recording then ends there."""


class NotingTree:
    """A tree that remembers what was asked of it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()

    def text(self, path: str) -> str | None:
        text = self.tree.text(path)
        if text is not None:
            self.files[path] = text
        return text

    def names(self, path: str) -> list[str]:
        names = self.tree.names(path)
        rdma = path.endswith("/infiniband")
        self.folders |= {f"{path}/{name}" for name in names if rdma or _KEPT_NAMES.fullmatch(name)}
        return names

    def link(self, path: str) -> str | None:
        target = self.tree.link(path)
        if target is not None:
            self.links[path] = target
        return target


def captured_files(tree: Tree, source: str) -> CapturedFiles:
    recorder = NotingTree(tree)
    error = ""
    try:
        read_sysfs(recorder, source)
    except InputError as problem:
        error = str(problem)
    return CapturedFiles(recorder.files, recorder.links, frozenset(recorder.folders), error)


class Scrubber:
    """Takes out what is private. The same UUID gets the same stand-in wherever it stands."""

    def __init__(self, *, keep_names: bool) -> None:
        self.keep_names = keep_names
        self._numbers: dict[str, int] = {}

    def file(self, path: str, text: str) -> str:
        kept = _KEPT_LINES.get(path) or _KEPT_LINES.get(path.rpartition("/")[2])
        if kept and path.startswith((CPUINFO, "proc/meminfo", NODES, DRIVER)):
            text = "\n".join(line for line in text.split("\n") if not line or kept.match(line))
        return self.names(text)

    def command(self, text: str) -> str:
        if not self.keep_names and text.lstrip().startswith("<?xml"):
            text = _XML_INFO.sub(lambda info: info[0] if info[1] in _KEPT_INFOS else "", text)
        return self.names(text)

    def names(self, text: str) -> str:
        if self.keep_names:
            return text
        text = _MAC.sub("00:00:00:00:00:00", _UUID.sub(self._uuid, text))
        return _NAMED_BY_MAC.sub(lambda name: f"{name[1]}x{self._number(name[2]):012}", text)

    def _uuid(self, match: re.Match[str]) -> str:
        return f"{match[1]}-00000000-0000-0000-0000-{self._number(match[2]):012}"

    def _number(self, private: str) -> int:
        """From 1, in the order met."""
        return self._numbers.setdefault(private, len(self._numbers) + 1)


def capture_data(recording: CapturedFiles, outputs: Mapping[str, str], *, keep_names: bool) -> bytes:
    """The .tgz; equal input gives equal bytes. `outputs` are texts of other tools by file name."""
    scrubber = Scrubber(keep_names=keep_names)
    files = {path: scrubber.file(path, text) for path, text in sorted(recording.files.items())}
    for name, text in outputs.items():
        files[f"{COMMANDS}/{name}"] = scrubber.command(text)
    folders = [scrubber.names(path) for path in sorted(recording.folders) if path not in recording.links]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in folders:
            archive.addfile(_member(path, tarfile.DIRTYPE, 0o755))
        for path, target in sorted(recording.links.items()):
            member = _member(path, tarfile.SYMTYPE, 0o777)
            member.linkname = target
            archive.addfile(member)
        for path, text in files.items():
            data = text.encode("utf-8", "replace")
            member = _member(path, tarfile.REGTYPE, 0o644)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


def _member(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type = kind
    member.mode = mode
    return member


def captured_outputs(tree: Tree) -> dict[str, str]:
    """The outputs of other tools that a capture holds, by file name."""
    texts = {name: tree.text(f"{COMMANDS}/{name}") for name in tree.names(COMMANDS)}
    return {name: text for name, text in texts.items() if text is not None}
