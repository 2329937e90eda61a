"""Recognises a description of a machine by its content, whatever the file is called, and reads it."""

import re
from collections.abc import Callable

from numafit.document import read_documents
from numafit.errors import InputError
from numafit.machine import source
from numafit.machine.model import Machine
from numafit.machine.read.text import text_of
from numafit.machine.source import Source

Reader = Callable[[str, str], Machine]

KNOWN = (
    "a machine file, numactl --hardware, lscpu, lscpu -p, lscpu --json, nvidia-smi topo -m, nvidia-smi -L, lspci -v, "
    "lstopo, lstopo --of xml, cAdvisor's machine info, podresources answers, NodeResourceTopology objects and sketches "
    "are understood"
)

_LSTOPO = re.compile(r"^Machine(?: [LP]#\d{1,5})? \(", re.M)

# What each tool's text shows of itself, from the most to the least peculiar.
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (source.NVIDIA_LIST, re.compile(r"^[ \t]*GPU \d{1,4}: [^\n]{0,300}\(UUID: ", re.M)),
    (source.NVIDIA_TOPO, re.compile(r"^GPU0[ \t]+X(?=\s)", re.M)),
    (source.HWLOC, _LSTOPO),
    (
        source.NUMACTL,
        re.compile(r"^(?:available: \d+ nodes?\b|node \d{1,5} (?:cpus|size):)|NUMA (?:support|available) on", re.M),
    ),
    (source.LSCPU, re.compile(r"^# *CPU\b", re.M)),
    (source.LSCPU, re.compile(r"^[ \t]*(?:CPU\(s\)|On-line CPU\(s\) list):", re.M)),
    (source.LSPCI, re.compile(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S", re.M)),
    (source.NRT, re.compile(r"^[ \t-]{0,20}kind:[ \t]*[\"']?NodeResourceTopology\b", re.M)),
    (source.FILE, re.compile(r"^(?:format|numaNodes|cpus|caches|devices|links)[ \t]*:", re.M)),
    (source.SKETCH, re.compile(r"\A\s*\d{1,6}\s+(?:sockets?|numa|cores?|threads?)\b", re.I)),
)

# Names of fields that only one kind of JSON or YAML has; the machine file is what is left.
_FIELDS: tuple[tuple[str, frozenset[str]], ...] = (
    (source.FILE, frozenset({"format", "numaNodes"})),
    (source.CADVISOR, frozenset({"topology", "memory_capacity", "machine_id"})),
    (source.PODRESOURCES, frozenset({"pod_resources", "podResources", "cpu_ids", "cpuIds", "allocatable", "list"})),
    (source.LSCPU, frozenset({"lscpu"})),
)


def source_of(data: bytes | str, name: str) -> Source:
    """The machine with its source, and what kind of source that is."""
    try:
        text = text_of(data, name)
        kind = kind_of(text, name)
    except InputError:
        from numafit.machine.read.hwloc.console import refuse_drawing

        refuse_drawing(data, name)
        raise
    return Source(name, _reader(kind)(text, name), kind)


def _reader(kind: str) -> Reader:
    """Loads the reader of the kind that came, and no other: a command needs one of them."""
    match kind:
        case source.FILE:
            from numafit.machine.file.read import read_machine_file

            return read_machine_file
        case source.SKETCH:
            from numafit.machine.sketch.line import read_sketch

            return read_sketch
        case source.PODRESOURCES:
            from numafit.machine.read.podresources import read_podresources

            return read_podresources
        case source.CADVISOR:
            from numafit.machine.read.cadvisor import read_cadvisor

            return read_cadvisor
        case source.HWLOC:
            return _read_any_hwloc
        case source.LSCPU:
            from numafit.machine.read.lscpu import read_lscpu

            return read_lscpu
        case source.NUMACTL:
            from numafit.machine.read.numactl import read_numactl

            return read_numactl
        case source.NRT:
            from numafit.machine.read.nrt import read_nrt

            return read_nrt
        case source.LSPCI:
            from numafit.machine.read.lspci import read_lspci

            return read_lspci
        case source.NVIDIA_TOPO:
            from numafit.machine.read.nvidia_smi import read_nvidia_topo

            return read_nvidia_topo
        case source.NVIDIA_LIST:
            from numafit.machine.read.nvidia_smi import read_nvidia_list

            return read_nvidia_list
        case _:
            raise ValueError(f"there is no reader for {kind}")


def _read_any_hwloc(text: str, name: str) -> Machine:
    """XML, or what lstopo prints on a terminal."""
    if text.lstrip()[:1] == "<":
        from numafit.machine.read.hwloc.machine import read_hwloc

        return read_hwloc(text, name)
    from numafit.machine.read.hwloc.console import read_console

    return read_console(text, name)


def kind_of(text: str, name: str = "") -> str:
    """What kind of description this is; raises when nothing fits."""
    start = text.lstrip()[:1]
    if not start:
        raise InputError("there is nothing in it", source=name, cure=KNOWN)
    if start == "<":
        return source.HWLOC
    if start in "{[":
        return _kind_of_document(text, name)
    for kind, sign in _SIGNS:
        if sign.search(text):
            return kind
    from numafit.machine.sketch.synthetic import is_synthetic

    if is_synthetic(text):
        return source.SKETCH
    raise InputError("this is no description of a machine that numafit knows", source=name, cure=KNOWN)


def _kind_of_document(text: str, name: str) -> str:
    documents = read_documents(text, name)
    value = documents[0].value if documents else None
    if not isinstance(value, dict):
        raise InputError("this is no description of a machine: a mapping is needed", source=name, cure=KNOWN)
    if _is_nrt(value):
        return source.NRT
    for kind, names in _FIELDS:
        if names & value.keys():
            return kind
    cpus = value.get("cpus")
    if isinstance(cpus, list) and cpus and isinstance(cpus[0], dict) and "cpu" in cpus[0] and "numa" not in cpus[0]:
        # the table of `lscpu --json -e`
        return source.LSCPU
    devices = value.get("devices")
    if isinstance(devices, list) and devices and isinstance(devices[0], dict) and "id" not in devices[0]:
        return source.PODRESOURCES
    return source.FILE


def _is_nrt(value: dict[str, object]) -> bool:
    """One such object, or a list that begins with one."""
    items = value.get("items")
    first = items[0] if isinstance(items, list) and items else None
    kinds = [value.get("kind"), first.get("kind") if isinstance(first, dict) else None]
    return any(isinstance(kind, str) and kind.startswith("NodeResourceTopology") for kind in kinds)
