"""What a file holds, recognised by content: kubelet configurations, flags, pods, device plugin configurations."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from numafit.advice.lint.findings import Position
from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.settings.read.arguments import Argument, arguments_of_env
from numafit.settings.read.decoder import API_VERSION, KIND
from numafit.workload.fields import TEMPLATES

_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_]*=")
_KUBELET_GROUP = API_VERSION.partition("/")[0]
_OTHER_KINDS = ("CredentialProviderConfig", "SerializedNodeConfigSource")
"""The other kinds of the kubelet's group."""
_TELLTALE_FIELDS = frozenset(
    (
        "cpuManagerPolicy",
        "cpuManagerPolicyOptions",
        "memoryManagerPolicy",
        "topologyManagerPolicy",
        "topologyManagerScope",
        "topologyManagerPolicyOptions",
        "reservedSystemCPUs",
        "reservedMemory",
        "kubeReserved",
        "systemReserved",
        "evictionHard",
    )
)
"""A mapping without a kind that has one of these is meant as a kubelet configuration."""


class DocumentPart:
    """A value of a file, with the places of everything in it.

    `shift` moves the places of a document that stands as a text inside another one; `fixed` is the place of all of it
    when the inner places cannot be told.
    """

    def __init__(
        self, document: Document, path: Path = (), *, text: str = "", shift: Position | None = None, fixed: bool = False
    ) -> None:
        self.document = document
        self.path = path
        self.text = text
        self.shift = shift or Position(document.source, 0, 0)
        self.fixed = fixed

    @property
    def value(self) -> dict[str, object]:
        found = _at(self.document.value, self.path)
        return found if isinstance(found, dict) else {}

    def place(self, path: Path = (), *, key: bool = False) -> Position:
        if self.fixed:
            return self.shift
        line, column = self.document.place((*self.path, *path), key=key)
        return Position(self.document.source, (line or 1) + self.shift.line, (column or 1) + self.shift.column)


class FlagFile(NamedTuple):
    source: str
    text: str
    arguments: tuple[Argument, ...]


class LintPage(NamedTuple):
    """A file and its parts."""

    name: str
    text: str
    kubelets: tuple[DocumentPart, ...] = ()
    flags: FlagFile | None = None
    pods: tuple[DocumentPart, ...] = ()
    plugins: tuple[DocumentPart, ...] = ()
    other: bool = False
    """There is also something that lint has no opinion on."""

    @property
    def empty(self) -> bool:
        return not (self.kubelets or self.flags or self.pods or self.plugins or self.other)


def read_page(data: bytes, name: str) -> LintPage:
    """Raises InputError, with the place, for what is neither YAML, JSON nor an environment file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # The reader of documents says where the bad byte is.
        text = ""
    if _is_env(text):
        return LintPage(name, text, flags=FlagFile(name, text, arguments_of_env(text, name)))
    kubelets: list[DocumentPart] = []
    pods: list[DocumentPart] = []
    plugins: list[DocumentPart] = []
    other = False
    for document in read_documents(data, name):
        for part in _parts(document, (), text):
            if _is_kubelet(part.value):
                kubelets.append(part)
            elif _is_plugin(part.value):
                plugins.append(part)
            elif part.value.get("kind") in TEMPLATES or _is_pod_without_kind(part.value):
                pods.append(part)
            else:
                other = other or bool(part.value.get("kind") and part.value.get("apiVersion"))
    return LintPage(name, text, tuple(kubelets), None, tuple(pods), tuple(plugins), other)


def _is_env(text: str) -> bool:
    for line in text.split("\n"):
        if line.strip() and line.lstrip()[0] not in "#;":
            return _ASSIGNMENT.match(line) is not None
    return False


def _is_kubelet(value: dict[str, object]) -> bool:
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if kind == KIND or (isinstance(api_version, str) and api_version.partition("/")[0] == _KUBELET_GROUP):
        return kind not in _OTHER_KINDS
    return kind is None and bool(_TELLTALE_FIELDS & value.keys())


def _is_plugin(value: dict[str, object]) -> bool:
    if "kind" in value or "version" not in value:
        return False
    flags, sharing = value.get("flags"), value.get("sharing")
    return isinstance(flags, dict) or (isinstance(sharing, dict) and bool({"timeSlicing", "mps"} & sharing.keys()))


def _is_pod_without_kind(value: dict[str, object]) -> bool:
    spec = value.get("spec")
    return "kind" not in value and isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def _parts(document: Document, path: Path, text: str) -> Iterator[DocumentPart]:
    value = _at(document.value, path)
    if not isinstance(value, dict):
        return
    kind = value.get("kind")
    items = value.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index in range(len(items)):
            yield from _parts(document, (*path, "items", index), text)
        return
    yield DocumentPart(document, path, text=text)
    data = value.get("data")
    if kind == "ConfigMap" and isinstance(data, dict):
        for key, inner in data.items():
            if isinstance(inner, str):
                yield from _inner_parts(document, (*path, "data", key), inner, text)


def _inner_parts(document: Document, path: Path, inner: str, text: str) -> Iterator[DocumentPart]:
    """The documents inside one text of a ConfigMap. Only a `|` block keeps the lines as they are."""
    try:
        found = read_documents(inner, document.source)
    except InputError:
        return
    line, column = document.place(path)
    start = Position(document.source, line or 1, column or 1)
    rows = text.split("\n")
    is_block = start.line < len(rows) and rows[start.line - 1][start.column - 1 :].startswith("|")
    if is_block:
        row = rows[start.line]
        start = Position(document.source, start.line, len(row) - len(row.lstrip()))
    for each in found:
        if isinstance(each.value, dict) and (_is_kubelet(each.value) or _is_plugin(each.value)):
            yield DocumentPart(each, text=inner, shift=start, fixed=not is_block)


def _at(value: object, path: Path) -> object:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
