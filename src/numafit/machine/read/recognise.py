"""Recognises a description of a machine by its content, whatever the file is called, and reads it."""

import re
from collections.abc import Callable

from numafit.document import read_documents
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.machine.read.text import text_of
from numafit.machine.source import Source

Reader = Callable[[str, str], Machine]

KNOWN = (
    "a machine file, numactl --hardware, lscpu, lscpu -p, lscpu --json, nvidia-smi topo -m, nvidia-smi -L, lspci -v, "
    "lstopo --of xml, cAdvisor's machine info, podresources answers and sketches are understood"
)

# What each tool's text shows of itself, from the most to the least peculiar.
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("nvidia-list", re.compile(r"^[ \t]*GPU \d{1,4}: [^\n]{0,300}\(UUID: ", re.M)),
    ("nvidia-topo", re.compile(r"^GPU0[ \t]+X(?=\s)", re.M)),
    (
        "numactl",
        re.compile(r"^(?:available: \d+ nodes?\b|node \d{1,5} (?:cpus|size):)|NUMA (?:support|available) on", re.M),
    ),
    ("lscpu", re.compile(r"^# *CPU\b", re.M)),
    ("lscpu", re.compile(r"^[ \t]*(?:CPU\(s\)|On-line CPU\(s\) list):", re.M)),
    ("lspci", re.compile(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S", re.M)),
    ("machine file", re.compile(r"^(?:format|numaNodes|cpus|caches|devices|links)[ \t]*:", re.M)),
    ("sketch", re.compile(r"\A\s*\d{1,6}\s+(?:sockets?|numa|cores?|threads?)\b", re.I)),
)

# Names of fields that only one kind of JSON or YAML has; the machine file is what is left.
_FIELDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("machine file", frozenset({"format", "numaNodes"})),
    ("cadvisor", frozenset({"topology", "memory_capacity", "machine_id"})),
    ("podresources", frozenset({"pod_resources", "podResources", "cpu_ids", "cpuIds", "allocatable", "list"})),
    ("lscpu", frozenset({"lscpu"})),
)


def source_of(data: bytes | str, name: str) -> Source:
    """The machine with its source, and what kind of source that is."""
    text = text_of(data, name)
    kind = kind_of(text, name)
    return Source(name, _reader(kind)(text, name), kind)


def _reader(kind: str) -> Reader:
    """Only the reader of the kind that came is loaded: all of them cost 50 ms, most alone 3 (bench_machine)."""
    match kind:
        case "machine file":
            from numafit.machine.file.read import read_machine_file

            return read_machine_file
        case "sketch":
            from numafit.machine.sketch.line import read_sketch

            return read_sketch
        case "podresources":
            from numafit.machine.read.podresources import read_podresources

            return read_podresources
        case "cadvisor":
            from numafit.machine.read.cadvisor import read_cadvisor

            return read_cadvisor
        case "hwloc":
            from numafit.machine.read.hwloc.machine import read_hwloc

            return read_hwloc
        case "lscpu":
            from numafit.machine.read.lscpu import read_lscpu

            return read_lscpu
        case "numactl":
            from numafit.machine.read.numactl import read_numactl

            return read_numactl
        case "lspci":
            from numafit.machine.read.lspci import read_lspci

            return read_lspci
        case "nvidia-topo":
            from numafit.machine.read.nvidia_smi import read_nvidia_topo

            return read_nvidia_topo
        case _:
            from numafit.machine.read.nvidia_smi import read_nvidia_list

            return read_nvidia_list


def kind_of(text: str, source: str = "") -> str:
    """What kind of description this is; raises when nothing fits."""
    start = text.lstrip()[:1]
    if not start:
        raise InputError("there is nothing in it", source=source, cure=KNOWN)
    if start == "<":
        return "hwloc"
    if start in "{[":
        return _kind_of_document(text, source)
    for kind, sign in _SIGNS:
        if sign.search(text):
            return kind
    from numafit.machine.sketch.synthetic import is_synthetic

    if is_synthetic(text):
        return "sketch"
    raise InputError("this is no description of a machine that numafit knows", source=source, cure=KNOWN)


def _kind_of_document(text: str, source: str) -> str:
    documents = read_documents(text, source)
    value = documents[0].value if documents else None
    if not isinstance(value, dict):
        raise InputError("this is no description of a machine: a mapping is needed", source=source, cure=KNOWN)
    for kind, names in _FIELDS:
        if names & value.keys():
            return kind
    cpus = value.get("cpus")
    if isinstance(cpus, list) and cpus and isinstance(cpus[0], dict) and "cpu" in cpus[0] and "numa" not in cpus[0]:
        # the table of `lscpu --json -e`
        return "lscpu"
    devices = value.get("devices")
    if isinstance(devices, list) and devices and isinstance(devices[0], dict) and "id" not in devices[0]:
        return "podresources"
    return "machine file"
