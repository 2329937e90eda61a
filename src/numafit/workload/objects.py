"""The objects of a file: those that make pods, and how many there are of each other kind."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from numafit.document import DEEPEST, Path, read_documents
from numafit.workload.fields import TEMPLATES
from numafit.workload.kinds import NATIVE_GROUPS, Template, group_of, is_native, is_without_pods, templates_of
from numafit.workload.values import ObjectPart, list_at, mapping_at

MACHINES = "kubevirt.io"
"""The API group of virtual machines, which run in pods that nobody writes."""


class ManifestFile(NamedTuple):
    source: str
    data: str | bytes
    static: bool = False
    """One of those in which the kubelet looks for pods of its own."""
    node: str = ""
    """The name of its node, where somebody tells it: static pods are called after it."""


class Maker(NamedTuple):
    """An object that makes pods, or a Pod itself."""

    part: ObjectPart
    kind: str
    """With its API group where Kubernetes has a kind of this name, too."""
    templates: list[Template]
    metadata: ObjectPart

    @property
    def is_pod(self) -> bool:
        return self.kind == "Pod"

    @property
    def title(self) -> str:
        metadata = self.metadata
        name = metadata.text("name") or metadata.text("generateName")
        title = f"{metadata.text('namespace') or 'default'}/{name}"
        return title if self.is_pod else f"{self.kind} {title}"


class FileObjects:
    """What stands in one file."""

    def __init__(self, file: ManifestFile) -> None:
        self.source = file.source
        self.static = file.static
        self.node = file.node
        self.makers: list[Maker] = []
        self.nodes: list[str] = []
        """The names of its Node objects."""
        self.classes: list[ObjectPart] = []
        """Its PriorityClass objects."""
        self.events: list[ObjectPart] = []
        """Its Event objects."""
        self.seen: Counter[str] = Counter()
        """Kind -> how many, of those without pods."""
        self.unknown: Counter[str] = Counter()
        """Those of them that numafit does not know."""
        self.virtual: Counter[str] = Counter()
        """Those of them that are virtual machines."""
        for document in read_documents(file.data, file.source):
            for part, kind, group in _objects(ObjectPart(document, mapping_at(document, document.value, ())), "", None):
                self._add(part, kind, group)

    def _add(self, part: ObjectPart, kind: str, group: str | None) -> None:
        templates = [] if is_without_pods(kind, group) else templates_of(part, kind, group)
        if templates:
            if self.static and kind != "Pod":
                cure = "name it among PODS"
                raise part.document.error(f"a {kind} is no static pod", (*part.path, "kind"), cure=cure)
            native = kind not in TEMPLATES or is_native(kind, group)
            own = kind if native else f"{kind}.{group}"
            self.makers.append(Maker(part, own, templates, part.part("metadata")))
            return
        self.seen[kind] += 1
        if group == MACHINES:
            self.virtual[kind] += 1
        elif not is_without_pods(kind, group):
            self.unknown[kind] += 1
        elif kind == "Node":
            self.nodes.append(part.part("metadata").text("name"))
        elif kind == "PriorityClass":
            self.classes.append(part)
        elif kind == "Event":
            self.events.append(part)


def _objects(part: ObjectPart, kind: str, group: str | None) -> Iterator[tuple[ObjectPart, str, str | None]]:
    """Each object with its kind and API group. `kind` and `group` are for the items of a list, which may lack them."""
    found = part.value.get("kind", kind)
    group = group_of(part.value, group)
    if not isinstance(found, str) or not found:
        raise part.document.error("the object has no kind", part.path, cure="is this a Kubernetes manifest?")
    native = group is None or group in NATIVE_GROUPS
    if found.endswith("List") and (native or "items" in part.value) and not is_native(found, group):
        if len(part.path) >= DEEPEST:
            raise part.document.error(f"lists nested more than {DEEPEST} levels deep", part.path)
        path: Path = (*part.path, "items")
        for index, item in enumerate(list_at(part.document, part.value.get("items"), path)):
            here: Path = (*path, index)
            own = ObjectPart(part.document, mapping_at(part.document, item, here), here)
            yield from _objects(own, found.removesuffix("List"), group)
        return
    if native and not is_native(found, group) and not is_without_pods(found, group):
        # another API group is somebody's own kind; in Kubernetes' own groups it is a typing error
        cure = f"kinds with pods are {', '.join(TEMPLATES)}"
        raise part.document.error(f'the kind "{found}" is not known', (*part.path, "kind"), cure=cure)
    yield part, found, group


def counted(kinds: Counter[str]) -> str:
    """`2 Gateway, 1 Certificate`."""
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())
