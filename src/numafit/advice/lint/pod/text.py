"""A workload of a manifest: the pod as the kubelet sees it, and the manifest with the places of what it says."""

from collections.abc import Iterator
from typing import NamedTuple

from numafit.advice.inspection.places import DocumentPart, Position, value_at
from numafit.document import Document, Path
from numafit.errors import InputError
from numafit.workload.api_server import is_extended
from numafit.workload.kinds import group_of, templates_of
from numafit.workload.manifest import read_workload
from numafit.workload.pod import Container, Pod
from numafit.workload.values import ObjectPart

Raw = dict[str, object]

POD = "Pod"


class ContainerText(NamedTuple):
    container: Container
    raw: Raw
    path: Path
    init: bool

    @property
    def name(self) -> str:
        return self.container.name

    @property
    def devices(self) -> dict[str, int]:
        limits = self.container.limits
        return {name: limit.value() for name, limit in limits.items() if is_extended(name) and limit.value() > 0}

    def environment(self) -> Iterator[tuple[str, str, Path]]:
        """Variables that are given as a text: name, value, and the path of the value."""
        for index, item in enumerate(raw_list(self.raw.get("env"))):
            entry = raw_mapping(item)
            name, value = entry.get("name"), entry.get("value")
            if isinstance(name, str) and isinstance(value, str):
                yield name, value, (*self.path, "env", index, "value")

    def words(self) -> list[str]:
        """Command and arguments, as far as they are texts."""
        given = (*raw_list(self.raw.get("command")), *raw_list(self.raw.get("args")))
        return [word for word in given if isinstance(word, str)]


class PodText:
    def __init__(self, part: DocumentPart, pod: Pod, template: Path = ()) -> None:
        self.part = part
        self.pod = pod
        self.spec_path: Path = (*template, "spec")
        self.spec = raw_mapping(value_at(part.value, self.spec_path))

    @property
    def containers(self) -> list[ContainerText]:
        """In the order of admission."""
        found = []
        for field, own in (("initContainers", self.pod.init_containers), ("containers", self.pod.containers)):
            raws = raw_list(self.spec.get(field))
            for index, container in enumerate(own):
                path: Path = (*self.spec_path, field, index)
                found.append(ContainerText(container, raw_mapping(raws[index]), path, field == "initContainers"))
        return found

    def place(self, path: Path, *, key: bool = False) -> Position:
        return self.part.place(path, key=key)

    def amount_place(self, container: ContainerText, resource: str) -> Position:
        """Of the limit or else the request; of the container where it says neither."""
        resources = raw_mapping(container.raw.get("resources"))
        for kind in ("limits", "requests"):
            if resource in raw_mapping(resources.get(kind)):
                return self.place((*container.path, "resources", kind, resource))
        return self.place((*container.path, "name"))


def read_pods(part: DocumentPart, *, pod_level: bool) -> Iterator[PodText | InputError]:
    """One for each template of the object; an error, with its place in the manifest, for one that cannot be read.

    What has no kind is taken for a pod.
    """
    source = part.document.source
    value: Raw = part.value if "kind" in part.value else {"metadata": {"name": "pod"}, **part.value, "kind": POD}
    own, kind = ObjectPart(Document(value, source), value), str(value["kind"])
    try:
        templates = templates_of(own, kind, group_of(value))
    except InputError as error:
        yield _placed(error, part)
        return
    for template in templates:
        try:
            workload = read_workload(own, kind, template, pod_level=pod_level)
        except InputError as error:
            yield _placed(error, part)
        else:
            yield PodText(part, workload.pod, template.part.path)


def _placed(error: InputError, part: DocumentPart) -> InputError:
    place = part.place(error.path, key=error.key)
    return InputError(
        error.message,
        source=part.document.source,
        line=place.line,
        column=place.column,
        field=error.field,
        cure=error.cure,
    )


def raw_mapping(value: object) -> Raw:
    return value if isinstance(value, dict) else {}


def raw_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
