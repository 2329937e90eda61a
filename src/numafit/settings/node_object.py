"""The Node object of the API server: what a node tells of itself, to be compared with what was given of it.

`kubectl get node NAME -o json` or `-o yaml`. Read of it are the release and the totals; it knows no NUMA node: it
takes the place of no machine and no configuration, but it shows that a wrong one was given.
"""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, quantity_of
from numafit.settings.allocatable import capacity_of
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


def read_nodes(data: str | bytes, source: str = "") -> tuple[NodeObject, ...]:
    """All Node objects of a file, in its order: an object, a list of them, several documents. None is an error."""
    nodes = tuple(
        _node(document, value, path)
        for document in read_documents(data, source)
        for value, path in _objects(document, document.value, ())
    )
    if not nodes:
        raise InputError("there is no Node in this file", source=source, cure=f"it comes from `{GET_NODE}`")
    return nodes


def read_node(data: str | bytes, source: str = "", name: str = "") -> NodeObject:
    """The Node of this name; without a name, the only one."""
    nodes = read_nodes(data, source)
    named = [node for node in nodes if not name or node.name == name]
    names = ", ".join(sorted(node.name for node in nodes))
    if not named:
        raise InputError(f"there is no Node {name} in this file", source=source, cure=f"there are {names}")
    if len(named) > 1:
        message = f"{len(named)} Nodes in this file, one is needed: {names}"
        raise InputError(message, source=source, cure=f"get the one by `{GET_NODE}`")
    return named[0]


def holds_node(data: str | bytes) -> bool:
    """Is the first object of this file a Node? False for what cannot be read."""
    try:
        documents = read_documents(data)
        return bool(documents) and any(_objects(documents[0], documents[0].value, ()))
    except InputError:
        return False


def _objects(document: Document, value: object, path: Path, kind: str = "") -> Iterator[tuple[NodeFields, Path]]:
    """The Nodes. `kind` is for the items of a list, which may leave it out."""
    fields = _mapping(document, value, path)
    found = fields.get("kind", kind)
    if found == "Node":
        yield fields, path
    elif isinstance(found, str) and found.endswith("List"):
        for index, item in enumerate(_list(document, fields.get("items"), (*path, "items"))):
            yield from _objects(document, item, (*path, "items", index), found.removesuffix("List"))
    else:
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
        operating_system=_text(document, info, info_path, "operatingSystem"),
        source=document.source,
        version_line=line,
        version_column=column,
    )


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

    `allocatable` is what the kubelet would offer. What is no matter of machine or configuration here (storage, volumes)
    is not compared. A resource whose capacity differs is told once, unless its reservation differs too.
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
