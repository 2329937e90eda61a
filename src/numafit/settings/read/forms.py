"""The forms in which people have a kubelet's configuration, and the document that all of them become.

- a KubeletConfiguration: YAML or JSON, as the kubelet takes it
- what a running kubelet answers under /configz: `{"kubeletconfig": {…}}`, every field filled in, kind left out up to
  1.35
- a ConfigMap with such a file in it, as kubeadm keeps it (`kubelet-config`; `kubelet-config-1.23` for old releases), or
  a list of ConfigMaps
- kubeadm's own file, in which it is one of several documents
"""

from typing import NamedTuple

from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.notes import Note
from numafit.settings.read.decoder import API_VERSION, KIND
from numafit.settings.read.inner import documents_in, member_of, value_at
from numafit.settings.versions import KubeVersion

CONFIGZ = "kubeletconfig"
"""The one member of what /configz answers."""
GET_CONFIG_MAP = "kubectl -n kube-system get configmap kubelet-config -o yaml"
_KUBEADM_GROUPS = ("kubeadm.k8s.io", "kubeproxy.config.k8s.io")
"""Of the documents that stand beside a KubeletConfiguration in kubeadm's file."""


class ConfigDocument(NamedTuple):
    document: Document
    """A KubeletConfiguration, with its places in the file that was given."""
    text: str
    """As the kubelet would read it."""
    running: bool = False
    """A running kubelet printed it."""
    notes: tuple[Note, ...] = ()


def config_document(text: str, source: str, version: KubeVersion) -> ConfigDocument:
    """`version` chooses among the ConfigMaps that old kubeadm keeps for each release."""
    documents = read_documents(text, source)
    document = documents[0] if documents else Document(None, source)
    if len(documents) > 1:
        document = _of_kubeadm_file(documents, source)
    value = document.value
    if not isinstance(value, dict):
        return ConfigDocument(document, text)
    if is_configz(value):
        return ConfigDocument(of_configz(document), text, running=True, notes=(_CONFIGZ_NOTE,))
    kind = value.get("kind")
    if kind == "ConfigMap" or (isinstance(kind, str) and kind.endswith("List") and "items" in value):
        return _of_config_maps(document, text, version)
    return ConfigDocument(document, text)


def is_configz(value: dict[str, object]) -> bool:
    return "kind" not in value and isinstance(value.get(CONFIGZ), dict)


def of_configz(document: Document, path: Path = ()) -> Document:
    """Every field is told, so those that are left out are empty: they are not filled in a second time."""
    more: dict[str, object] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "evictionHard": {},
        "enforceNodeAllocatable": [],
    }
    return member_of(document, (*path, CONFIGZ), more)


_CONFIGZ_NOTE = Note(
    "flags-not-told",
    "kubelet",
    "/configz tells the configuration with all that flags say of it, but no other flags: "
    "--experimental-allocatable-ignore-eviction and --root-dir are taken as not given",
)


def _of_kubeadm_file(documents: list[Document], source: str) -> Document:
    groups = [_group(document.value) for document in documents]
    own = [document for document, group in zip(documents, groups, strict=True) if group == _group_of(API_VERSION)]
    if len(own) == 1 and all(group in (*_KUBEADM_GROUPS, _group_of(API_VERSION)) for group in groups):
        return own[0]
    line, column = documents[1].place(())
    raise InputError("one document expected, here starts a second one", source=source, line=line, column=column)


def _group(value: object) -> str:
    return _group_of(str(value.get("apiVersion", ""))) if isinstance(value, dict) else ""


def _group_of(api_version: str) -> str:
    return api_version.partition("/")[0]


class _Held(NamedTuple):
    name: str
    """Of the ConfigMap."""
    path: Path
    document: Document
    text: str


def _of_config_maps(document: Document, text: str, version: KubeVersion) -> ConfigDocument:
    held = [found for path in _config_maps(document.value, ()) for found in _held_by(document, path, text)]
    if not held:
        message = "there is no ConfigMap with a KubeletConfiguration in it"
        raise InputError(message, source=document.source, cure=f"kubeadm's is that of `{GET_CONFIG_MAP}`")
    of_release = [each for each in held if each.name == f"kubelet-config-1.{version.minor}"]
    chosen = of_release if len(held) > 1 and len(of_release) == 1 else held
    if len(chosen) > 1:
        names = ", ".join(sorted(each.name for each in held))
        raise document.error(
            f"several KubeletConfigurations, one is needed: {names}",
            chosen[1].path,
            cure=f"get the one by `{GET_CONFIG_MAP}`",
        )
    [one] = chosen
    note = Note(
        "kubelet-of-cluster",
        "kubelet",
        f"the ConfigMap {one.name} is the configuration of the cluster; a node may have patches and flags of its own "
        "(kubeadm-flags.env, which --kubelet-env takes)",
    )
    return ConfigDocument(one.document, one.text, notes=(note,))


def _config_maps(value: object, path: Path) -> list[Path]:
    if not isinstance(value, dict):
        return []
    items = value.get("items")
    if value.get("kind") != "ConfigMap" and isinstance(items, list):
        is_list_of_them = value.get("kind") == "ConfigMapList"
        return [
            found
            for index, item in enumerate(items)
            for found in _config_maps(
                {"kind": "ConfigMap", **item} if is_list_of_them and isinstance(item, dict) else item,
                (*path, "items", index),
            )
        ]
    return [path] if value.get("kind") == "ConfigMap" else []


def _held_by(document: Document, path: Path, text: str) -> list[_Held]:
    fields = value_at(document, path)
    metadata, data = fields.get("metadata"), fields.get("data")
    name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
    held = []
    for key, inner in data.items() if isinstance(data, dict) else ():
        if not isinstance(inner, str) or KIND not in inner:
            continue
        here: Path = (*path, "data", key)
        for each in documents_in(document, here, text):
            if isinstance(each.value, dict) and each.value.get("kind") == KIND:
                held.append(_Held(name, here, each, inner))
    return held
