"""The file that says which nodes are simulated: groups of equal ones, each with machine, configuration and release."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from numafit.cluster.sim.kubelet import START_SECONDS
from numafit.cluster.sim.node_object import NodeMark
from numafit.document import read_document
from numafit.errors import InputError
from numafit.machine.file.fields import Fields
from numafit.machine.model import Machine
from numafit.machine.sketch.devices import with_devices
from numafit.managers.device.plugin import Plugin
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.facts import Taint
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion, parse_version
from numafit.workload.api_server import subdomain_problem

T = TypeVar("T")

FORMAT = "numafit/nodes/v1"
MOST_NODES = 5000
"""Whose kubelets one process plays."""
LONGEST_START = 3600.0
STORAGE = "100Gi"
_GROUP = (
    "name",
    "count",
    "machine",
    "devices",
    "kubelet",
    "release",
    "labels",
    "taints",
    "storage",
    "sockets",
    "startSeconds",
    "topology",
)
_TAINT = ("key", "value", "effect")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LABEL = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", re.ASCII)


class SimulatedGroup(msgspec.Struct, frozen=True):
    name: str
    count: int | None
    """None: one node, which is called like the group."""
    machine: Machine
    config: ConfigFile | None
    """None: the kubelet's own defaults."""
    version: KubeVersion
    mark: NodeMark
    sockets: bool = False
    start_seconds: float = START_SECONDS
    topology: bool = False
    """A NodeTopology is published for each node."""
    plugins: Mapping[str, Plugin] | None = None
    """Resource -> its device plugin, where somebody tells which devices it prefers; None: as the machine says."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) if self.count is None else tuple(f"{self.name}-{number}" for number in range(self.count))


class Readers(msgspec.Struct, frozen=True):
    """How what the file names is read: by whoever has the file."""

    machine: Callable[[str], Machine]
    """A name of the catalogue, a path, a sketch."""
    text: Callable[[Path], str]


def read_groups(
    text: str, source: str, readers: Readers, most: int = MOST_NODES, more: str = "are played by several processes"
) -> tuple[SimulatedGroup, ...]:
    """Paths in it are those beside the file. `most`: so many nodes; `more`: what becomes of more, where there is a way.
    Raises InputError with file, line and field."""
    document = read_document(text, source)
    root = Fields(document, (), document.value, ("format", "nodes"))
    if "format" in root and root.text("format") != FORMAT:
        raise root.error(f'"{root.text("format")[:60]}" is not a format of this file', "format", cure=f"write {FORMAT}")
    folder = Path(source).parent
    limit = _Limit(most, f"more {more}" if more else "")
    groups: list[SimulatedGroup] = []
    seen: set[str] = set()
    for index in range(len(root.items("nodes"))):
        fields = root.within("nodes", _GROUP, index)
        group = _group(fields, folder, readers, limit)
        twice = seen.intersection(group.names)
        if twice:
            raise fields.error(f'there are two nodes of the name "{min(twice)}"', "name")
        seen.update(group.names)
        if len(seen) > most:
            raise fields.error(f"more than {most} nodes", "count", cure=limit.more)
        groups.append(group)
    if not groups:
        raise root.error("no group of nodes is listed", "nodes")
    return tuple(groups)


class _Limit(NamedTuple):
    most: int
    more: str


def _group(fields: Fields, folder: Path, readers: Readers, limit: _Limit) -> SimulatedGroup:
    for needed in ("name", "machine"):
        fields.need(needed)
    name = fields.text("name")
    problem = subdomain_problem(name)
    if problem:
        raise fields.error(problem, "name")
    count = _count(fields, limit)
    version = DEFAULT_VERSION
    if "release" in fields:
        version = _found(fields, "release", lambda: parse_version(fields.text("release")))
    return SimulatedGroup(
        name,
        count,
        _machine(fields, folder, readers),
        _config(fields, folder, readers),
        version,
        NodeMark(dict(_labels(fields)), tuple(_taints(fields)), _storage(fields)),
        fields.flag("sockets", False),
        _start_seconds(fields),
        fields.flag("topology", False),
    )


def _count(fields: Fields, limit: _Limit) -> int | None:
    if "count" not in fields:
        return None
    value = fields.value("count")
    if isinstance(value, bool) or not isinstance(value, int):
        raise fields.error("a whole number is needed here", "count", cure=f"1 to {limit.most}")
    if not 1 <= value <= limit.most:
        cure = f"1 to {limit.most}" + f"; {limit.more}" * (value > limit.most and bool(limit.more))
        raise fields.error(f"{value} is out of range", "count", cure=cure)
    return value


def _machine(fields: Fields, folder: Path, readers: Readers) -> Machine:
    machine = _found(fields, "machine", lambda: readers.machine(_beside(fields.text("machine"), folder)))
    specs = fields.items("devices")
    for index, spec in enumerate(specs):
        if not isinstance(spec, str):
            raise fields.error("a text is needed here", "devices", index, cure="like example.com/gpu=g0@0,g1@1")
    try:
        return with_devices(machine, [str(spec) for spec in specs])
    except InputError as error:
        raise fields.error(error.message, "devices", cure="like example.com/gpu=g0@0,g1@1") from None


def _found(fields: Fields, name: str, read: Callable[[], T]) -> T:
    """What is wrong with what the field names is told with both places."""
    try:
        return read()
    except InputError as error:
        if error.line is not None:
            # It has a place of its own, in a file that the field names.
            raise
        said = f"{error.place}: {error.message}" if error.place else error.message
        raise fields.error(said, name, cure=error.cure) from None


def _beside(named: str, folder: Path) -> str:
    """What is a file beside this one; else a name."""
    path = folder / named
    return str(path) if path.exists() else named


def _config(fields: Fields, folder: Path, readers: Readers) -> ConfigFile | None:
    if "kubelet" not in fields:
        return None
    value = fields.value("kubelet")
    if isinstance(value, str):
        path = folder / value
        return ConfigFile(str(path), _found(fields, "kubelet", lambda: readers.text(path)))
    if not isinstance(value, dict):
        raise fields.error("a file or a configuration is needed here", "kubelet")
    inline = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **value}
    return ConfigFile(f"{fields.document.source}: kubelet of {fields.text('name')}", json.dumps(inline, indent=1))


def _labels(fields: Fields) -> Iterator[tuple[str, str]]:
    for name, text in fields.mapping("labels").items():
        if not isinstance(text, str):
            raise fields.error("a text is needed here", "labels", name, cure="put it in quotes")
        if not _LABEL.fullmatch(name) or (text and not _LABEL.fullmatch(text)) or "/" in text:
            raise fields.error(f'"{name}: {text}" is no label', "labels", name)
        yield name, text


def _taints(fields: Fields) -> Iterator[Taint]:
    for index in range(len(fields.items("taints"))):
        inner = fields.within("taints", _TAINT, index)
        for needed in ("key", "effect"):
            inner.need(needed)
        effect = inner.text("effect")
        if effect not in EFFECTS:
            raise inner.error(f'"{effect[:60]}" is no effect', "effect", cure=f"one of {', '.join(EFFECTS)}")
        yield Taint(inner.text("key"), inner.text("value", ""), effect)


def _storage(fields: Fields) -> Quantity:
    text = str(fields.value("storage")) if "storage" in fields else STORAGE
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise fields.error(f'"{text[:60]}" is not a quantity: {error}', "storage", cure="like 100Gi") from None


def _start_seconds(fields: Fields) -> float:
    if "startSeconds" not in fields:
        return START_SECONDS
    value = fields.value("startSeconds")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_START:
        raise fields.error("a number of seconds is needed here", "startSeconds", cure=f"0 to {LONGEST_START:g}")
    return float(value)
