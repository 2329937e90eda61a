"""What a file holds, recognised by content: kubelet configurations, flags, pods, device plugin configurations."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from numafit.advice.inspection.places import DocumentPart, FlagFile, Position, value_at
from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.read.decoder import API_VERSION, KIND, known_fields
from numafit.settings.read.forms import is_configz, of_configz
from numafit.settings.versions import LATEST_PATCH, NEWEST_MINOR, KubeVersion
from numafit.workload.kinds import group_of, is_native, is_without_pods, templates_of
from numafit.workload.values import ObjectPart

_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_]*=")
_KUBELET_GROUP = API_VERSION.partition("/")[0]
_OTHER_KINDS = ("CredentialProviderConfig", "SerializedNodeConfigSource")
"""The other kinds of the kubelet's group."""
DROP_IN_SUFFIX = ".conf"
_NEWEST = KubeVersion(1, NEWEST_MINOR, LATEST_PATCH)
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


class SkippedPart(NamedTuple):
    place: Position
    what: str
    """`kind Service`, or what stands there instead of an object."""
    kind: str = ""
    """Of a Kubernetes object."""


class LintPage(NamedTuple):
    """A file and its parts."""

    name: str
    text: str
    kubelets: tuple[DocumentPart, ...] = ()
    flags: FlagFile | None = None
    pods: tuple[DocumentPart, ...] = ()
    plugins: tuple[DocumentPart, ...] = ()
    skipped: tuple[SkippedPart, ...] = ()
    """What lint has no opinion on."""

    @property
    def understood(self) -> bool:
        """There is something in it to look at."""
        flags = self.flags is not None and self.flags.arguments
        return bool(self.kubelets or flags or self.pods or self.plugins)


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
    skipped: list[SkippedPart] = []
    for document in read_documents(data, name):
        for part in _parts(document, (), text):
            if isinstance(part, SkippedPart):
                skipped.append(part)
            elif _is_kubelet(part.value) or (name.endswith(DROP_IN_SUFFIX) and _is_drop_in(part.value)):
                kubelets.append(part)
            elif _is_plugin(part.value):
                plugins.append(part)
            elif _has_pods(part) or _is_pod_without_kind(part.value):
                pods.append(part)
            else:
                skipped.append(_skipped(part))
    if kubelets or plugins:
        # The ConfigMap around a configuration is no object by itself.
        skipped = [part for part in skipped if part.kind != "ConfigMap"]
    return LintPage(name, text, tuple(kubelets), None, tuple(pods), tuple(plugins), tuple(skipped))


def _skipped(part: DocumentPart) -> SkippedPart:
    kind = part.value.get("kind")
    if isinstance(kind, str) and kind and part.value.get("apiVersion"):
        return SkippedPart(part.place(), f"kind {kind}", kind)
    return SkippedPart(part.place(), "a mapping that is no Kubernetes object")


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


def _is_drop_in(value: dict[str, object]) -> bool:
    return not value.get("kind") and bool(known_fields(_NEWEST) & value.keys())


def _is_plugin(value: dict[str, object]) -> bool:
    if "kind" in value or "version" not in value:
        return False
    flags, sharing = value.get("flags"), value.get("sharing")
    return isinstance(flags, dict) or (isinstance(sharing, dict) and bool({"timeSlicing", "mps"} & sharing.keys()))


def _has_pods(part: DocumentPart) -> bool:
    """A kind with pods, or one that is not known and has a pod template in it."""
    kind, group = part.value.get("kind"), group_of(part.value)
    if not isinstance(kind, str) or is_without_pods(kind, group):
        return False
    try:
        return is_native(kind, group) or bool(
            templates_of(ObjectPart(part.document, part.value, part.path), kind, group)
        )
    except InputError:
        # Only where there is a template something of it can be wrong; who reads its pods says what.
        return True


def _is_pod_without_kind(value: dict[str, object]) -> bool:
    spec = value.get("spec")
    return "kind" not in value and isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def _parts(document: Document, path: Path, text: str) -> Iterator[DocumentPart | SkippedPart]:
    value = value_at(document.value, path)
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else "a text or number"
        yield SkippedPart(DocumentPart(document).place(path), f"{what}, where objects are expected")
        return
    kind = value.get("kind")
    items = value.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index in range(len(items)):
            yield from _parts(document, (*path, "items", index), text)
        return
    if is_configz(value):
        yield DocumentPart(of_configz(document, path), text=text)
        return
    yield DocumentPart(document, path, text=text)
    data = value.get("data")
    if kind == "ConfigMap" and isinstance(data, dict):
        for key, inner in data.items():
            if isinstance(inner, str):
                yield from _inner_parts(document, (*path, "data", key), inner, text)


def _inner_parts(document: Document, path: Path, inner: str, text: str) -> Iterator[DocumentPart | SkippedPart]:
    """The documents inside one text of a ConfigMap. Only a `|` block keeps the lines as they are."""
    try:
        found = read_documents(inner, document.source)
    except InputError as error:
        if KIND in inner:
            what = f"a {KIND} that cannot be read: {error.message}, in its line {error.line}"
            yield SkippedPart(DocumentPart(document).place(path), what)
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
