"""The Node object of the API server: what a node tells of itself.

`kubectl get node NAME -o json` or `-o yaml`. It knows no NUMA node: it takes the place of no machine and no
configuration, but it shows that a wrong one was given. What neither of them tells it knows alone: labels, taints, the
disk, and resources that no device of the machine stands for.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, quantity_of
from numafit.settings.allocatable import capacity_of
from numafit.settings.facts import NodeFacts, Taint, is_offer
from numafit.settings.versions import LATEST_PATCH, KubeVersion, parse_version

VERSION_PATH: Path = ("status", "nodeInfo", "kubeletVersion")
GET_NODE = "kubectl get node NAME -o json"

NodeFields = Mapping[str, object]


class NodeObject(msgspec.Struct, frozen=True):
    name: str
    kubelet_version: str
    """As the kubelet wrote it, such as `v1.30.4-eks-1234`."""
    capacity: Mapping[str, Quantity] = {}
    allocatable: Mapping[str, Quantity] = {}
    labels: Mapping[str, str] | None = None
    """None where they were left away: each Node has some."""
    taints: tuple[Taint, ...] = ()
    group_policies: bool = False
    """Its runtime knows `supplementalGroupsPolicy`."""
    operating_system: str = ""
    source: str = ""
    version_line: int | None = None
    version_column: int | None = None

    def version(self) -> KubeVersion:
        """Its release; raises InputError for one that is not covered."""
        try:
            return parse_version(self.kubelet_version)
        except InputError as error:
            raise InputError(
                error.message,
                source=self.source,
                line=self.version_line,
                column=self.version_column,
                field=".".join(str(step) for step in VERSION_PATH),
                cure=error.cure,
            ) from None

    def facts(self) -> NodeFacts:
        offers = {name: amount for name, amount in self.allocatable.items() if is_offer(name)}
        return NodeFacts(self.name, self.labels, self.taints, self.group_policies, offers)


def read_nodes(data: str | bytes, source: str = "", *, mixed: bool = False) -> tuple[NodeObject, ...]:
    """All Node objects of a file, in its order: an object, a list of them, several documents. None is an error.

    `mixed`: there may be others beside them.
    """
    nodes = tuple(
        _node(document, value, path)
        for document in read_documents(data, source)
        for value, path in _objects(document, document.value, (), mixed=mixed)
    )
    if not nodes:
        raise InputError("there is no Node in this file", source=source, cure=f"it comes from `{GET_NODE}`")
    return nodes


def read_node(data: str | bytes, source: str = "", name: str = "", *, mixed: bool = False) -> NodeObject:
    """The Node of this name; without a name, the only one."""
    nodes = read_nodes(data, source, mixed=mixed)
    named = [node for node in nodes if not name or node.name == name]
    names = ", ".join(sorted(node.name for node in nodes))
    if not named:
        raise InputError(f"there is no Node {name} in this file", source=source, cure=f"there are {names}")
    if len(named) > 1:
        message = f"{len(named)} Nodes in this file, one is needed: {names}"
        raise InputError(message, source=source, cure=f"get the one by `{GET_NODE}`")
    return named[0]


_KIND = re.compile(rb"""["']?kind["']?\s*:\s*["']?Node(?:List)?["']?\s*(?:[,}#\r\n]|$)""")


def names_among(data: bytes) -> tuple[str, ...]:
    """The names of the Nodes that stand in this file among other objects; none for what cannot be read."""
    if _KIND.search(data) is None:
        return ()
    try:
        return tuple(node.name for node in read_nodes(data, mixed=True))
    except InputError:
        return ()


def holds_node(data: str | bytes) -> bool:
    """Is the first object of this file a Node? False for what cannot be read."""
    try:
        documents = read_documents(data)
        return bool(documents) and any(_objects(documents[0], documents[0].value, ()))
    except InputError:
        return False


def _objects(
    document: Document, value: object, path: Path, kind: str = "", *, mixed: bool = False
) -> Iterator[tuple[NodeFields, Path]]:
    """The Nodes. `kind` is for the items of a list, which may leave it out."""
    fields = _mapping(document, value, path)
    found = fields.get("kind", kind)
    if found == "Node":
        yield fields, path
    elif isinstance(found, str) and found.endswith("List"):
        for index, item in enumerate(_list(document, fields.get("items"), (*path, "items"))):
            here: Path = (*path, "items", index)
            yield from _objects(document, item, here, found.removesuffix("List"), mixed=mixed)
    elif not mixed:
        message = f'a Node is expected here, not the kind "{found}"' if found else "the object has no kind"
        raise document.error(message, (*path, "kind"), cure=f"a Node comes from `{GET_NODE}`")


def _node(document: Document, fields: NodeFields, path: Path) -> NodeObject:
    metadata, metadata_path = _part(document, fields, path, "metadata")
    status, status_path = _part(document, fields, path, "status")
    info, info_path = _part(document, status, status_path, "nodeInfo")
    version = _text(document, info, info_path, "kubeletVersion")
    if not version:
        message = "the Node does not tell its kubelet's release"
        cure = f"give it as the API server has it: `{GET_NODE}`"
        raise document.error(message, (*path, *VERSION_PATH), cure=cure)
    line, column = document.place((*path, *VERSION_PATH))
    return NodeObject(
        name=_text(document, metadata, metadata_path, "name"),
        kubelet_version=version,
        capacity=_amounts(document, status, status_path, "capacity"),
        allocatable=_amounts(document, status, status_path, "allocatable"),
        labels=_texts(document, metadata, metadata_path, "labels") or None,
        taints=_taints(document, *_part(document, fields, path, "spec")),
        group_policies=_part(document, status, status_path, "features")[0].get("supplementalGroupsPolicy") is True,
        operating_system=_text(document, info, info_path, "operatingSystem"),
        source=document.source,
        version_line=line,
        version_column=column,
    )


def _texts(document: Document, fields: NodeFields, path: Path, name: str) -> dict[str, str]:
    part, part_path = _part(document, fields, path, name)
    return {key: _text(document, part, part_path, key) for key in part}


def _taints(document: Document, spec: NodeFields, path: Path) -> tuple[Taint, ...]:
    found = []
    for index, value in enumerate(_list(document, spec.get("taints"), (*path, "taints"))):
        here: Path = (*path, "taints", index)
        taint = _mapping(document, value, here)
        found.append(Taint(*(_text(document, taint, here, name) for name in ("key", "value", "effect"))))
    return tuple(found)


def _amounts(document: Document, fields: NodeFields, path: Path, name: str) -> dict[str, Quantity]:
    amounts: dict[str, Quantity] = {}
    part, part_path = _part(document, fields, path, name)
    for resource, amount in part.items():
        try:
            amounts[resource] = quantity_of(amount)
        except QuantityError as error:
            raise document.error(f'"{amount}" is not a quantity: {error}', (*part_path, resource)) from None
    return amounts


def _part(document: Document, fields: NodeFields, path: Path, name: str) -> tuple[NodeFields, Path]:
    here: Path = (*path, name)
    return _mapping(document, fields.get(name), here), here


def _mapping(document: Document, value: object, path: Path) -> NodeFields:
    """A missing mapping is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error("a mapping is expected here", path)
    return value


def _list(document: Document, value: object, path: Path) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise document.error("a list is expected here", path)
    return value


def _text(document: Document, fields: NodeFields, path: Path, name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise document.error("a text is expected here", (*path, name), cure="put it in quotes")
    return value


# --- the comparison --------------------------------------------------------------------------------------------------


def with_total_memory(machine: Machine, node: NodeObject) -> Machine:
    """MemTotal from the Node where no source of the machine tells it: both are read in the same place."""
    memory = node.capacity.get("memory")
    if machine.memory is not None or memory is None:
        return machine
    return msgspec.structs.replace(machine, memory=memory.value())


def node_disagreements(
    node: NodeObject, machine: Machine, allocatable: Mapping[str, Quantity], version: KubeVersion
) -> tuple[Note, ...]:
    """Where machine, configuration and release do not make the node that the Node object shows.

    `allocatable` is what the kubelet would offer by these, without what only the Node tells. What is no matter of
    machine or configuration (storage, volumes) is not compared. A resource whose capacity differs is told once, unless
    its reservation differs too.
    """
    notes = []
    if not _same_release(node.kubelet_version, version):
        notes.append(f"its kubelet is {node.kubelet_version}, and {version} is played")
    if node.operating_system not in ("", "linux"):
        notes.append(f"it runs {node.operating_system}, and the managers of a kubelet on linux are played")
    capacity = capacity_of(machine)
    for name in sorted({*node.capacity, *capacity}):
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            says, gives = _amount(node.capacity, name), _amount(capacity, name)
            if says != gives:
                notes.append(f"its capacity of {name} is {says}, and the machine that was given has {gives}")
    for name in sorted({*node.allocatable, *allocatable}):
        if name == "ephemeral-storage" or name.startswith(("attachable-volumes-", "requests.")):
            continue
        says, gives = _amount(node.allocatable, name), _amount(allocatable, name)
        reserved = _amount(node.capacity, name) - says, _amount(capacity, name) - gives
        if is_offer(name) and name not in allocatable:
            if not says.is_zero:
                text = f"it lists {says} {name}, for which the machine has no devices: they are counted, and not placed"
                notes.append(f"{text} (--device)")
            continue
        told = name in capacity and _amount(node.capacity, name) != capacity[name] and reserved[0] == reserved[1]
        if says != gives and not told:
            notes.append(f"its allocatable of {name} is {says}, and what was given makes {gives}")
    return tuple(
        Note("node-disagrees", "node", f"the Node object {node.name} says otherwise: {text}") for text in notes
    )


def _amount(amounts: Mapping[str, Quantity], name: str) -> Quantity:
    return amounts.get(name, Quantity(0))


def _same_release(text: str, version: KubeVersion) -> bool:
    """A release that was given without a patch is compared without one."""
    try:
        told = parse_version(text)
    except InputError:
        return False
    return told[:2] == version[:2] and version.patch in (told.patch, LATEST_PATCH)
