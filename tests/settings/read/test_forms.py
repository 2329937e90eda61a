"""The forms in which people have a configuration; every one becomes the same document."""

import json

import pytest

from numafit.errors import InputError, StartError
from numafit.notes import NOTE_CODES
from numafit.settings.config import KubeletConfig
from numafit.settings.read.forms import ConfigDocument, config_document
from numafit.settings.read.loader import ConfigFile, LoadedConfig, read_file, refuse_unknown
from numafit.settings.versions import parse_version

NEWEST = parse_version("1.36.4")
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
CONFIGZ = json.dumps(
    {
        "kubeletconfig": {
            "enableServer": True,
            "syncFrequency": "1m0s",
            "maxPods": 64,
            "cpuManagerPolicy": "static",
            "memoryManagerPolicy": "None",
            "topologyManagerScope": "container",
            "evictionHard": {"memory.available": "200Mi"},
            "enforceNodeAllocatable": ["pods"],
            "featureGates": {"CPUManagerPolicyAlphaOptions": True},
        }
    },
    indent=1,
)
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
data:
  kubelet: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    maxPods: %d

    cpuManagerPolicy: static
"""


def load(text: str, version: str = "1.36.4") -> LoadedConfig:
    return read_file(ConfigFile("k", text), parse_version(version), {})


def found(text: str, version: str = "1.36.4") -> ConfigDocument:
    return config_document(text, "k", parse_version(version))


def test_a_plain_file_stays_as_it_is() -> None:
    """With no note."""
    text = f"{HEAD}maxPods: 7\n"
    document, same, running, notes = found(text)
    assert (same, running, notes) == (text, False, ())
    assert document.place(("maxPods",)) == (3, 10)


def test_what_a_kubelet_answers_under_configz_is_its_configuration() -> None:
    """Without kind, up to 1.35; a note tells which flags it cannot know."""
    loaded = load(CONFIGZ)
    assert loaded.config == KubeletConfig(
        cpu_manager_policy="static",
        max_pods=64,
        eviction_hard={"memory.available": "200Mi"},
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    assert [note.code for note in loaded.notes] == ["flags-not-told"]


def test_configz_with_a_kind_is_the_same() -> None:
    """As 1.36 prints it."""
    value = json.loads(CONFIGZ)
    value["kubeletconfig"] |= {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    assert load(json.dumps(value)) == load(CONFIGZ)


def test_what_configz_leaves_out_is_empty_and_not_the_default() -> None:
    """The kubelet prints every field that is not empty: without evictionHard nothing is kept for eviction."""
    config = load('{"kubeletconfig": {"maxPods": 110}}').config
    assert (config.eviction_hard, config.enforce_node_allocatable) == ({}, ())


def test_a_field_of_a_running_kubelet_is_never_a_typing_error() -> None:
    """Some kubelet knows it, though none that numafit knows does; in a file it is refused."""
    text = '{"kubeletconfig": {"newField": 1,\n "maxPods": 110}}'
    loaded = load(text)
    assert [(each.field, each.line, each.later) for each in loaded.unknown] == [("newField", 1, True)]
    refuse_unknown(loaded, NEWEST)
    with pytest.raises(InputError, match="does not know this field"):
        refuse_unknown(load(f"{HEAD}newField: 1\n"), NEWEST)


def test_the_config_map_of_kubeadm_is_read_with_places_in_the_outer_file() -> None:
    """A note tells that nodes may differ."""
    text = CONFIG_MAP % ("kubelet-config", 7)
    document = found(text).document
    assert load(text).config.max_pods == 7
    assert document.place(("maxPods",)) == (9, 14)
    assert document.place(("cpuManagerPolicy",), key=True) == (11, 5)
    [note] = load(text).notes
    assert (note.code, note.about) == ("kubelet-of-cluster", "kubelet")
    assert "ConfigMap kubelet-config" in note.text


def test_a_config_map_of_json_has_one_place_for_all_of_its_text() -> None:
    """`kubectl get configmap -o json`."""
    inner = f"{HEAD}maxPods: 7\n"
    text = json.dumps({"kind": "ConfigMap", "data": {"kubelet": inner}}, indent=1)
    assert load(text).config.max_pods == 7
    assert found(text).document.place(("maxPods",)) == (4, 14)


def test_of_many_config_maps_that_of_the_release_is_taken() -> None:
    """Clusters older than 1.24 keep `kubelet-config-1.22` beside `kubelet-config-1.23`; others are passed over."""
    maps = [CONFIG_MAP % ("kubelet-config-1.22", 22), CONFIG_MAP % ("kubelet-config-1.23", 23)]
    items = "".join("- " + "  ".join(each.splitlines(keepends=True)) for each in maps)
    text = f"kind: List\nitems:\n{items}- kind: ConfigMap\n  data: {{ca.crt: x}}\n"
    assert load(text, "1.23.4").config.max_pods == 23
    assert load(text, "1.22").config.max_pods == 22
    with pytest.raises(InputError) as refused:
        load(text, "1.36")
    assert str(refused.value).startswith(
        "k:19:14: items[1].data.kubelet: several KubeletConfigurations, one is needed: "
        "kubelet-config-1.22, kubelet-config-1.23 (get the one by `kubectl"
    )


def test_items_of_a_config_map_list_need_no_kind() -> None:
    """As the API server lists them."""
    item = {"metadata": {"name": "kubelet-config"}, "data": {"kubelet": f"{HEAD}maxPods: 9\n"}}
    assert load(json.dumps({"kind": "ConfigMapList", "items": [item]})).config.max_pods == 9


def test_the_configuration_is_found_in_kubeadms_file() -> None:
    """One document of several; other documents are refused as before."""
    beside = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n"
    assert load(f"{beside}{HEAD}maxPods: 9\n").config.max_pods == 9
    with pytest.raises(InputError, match="k:4:1: one document expected, here starts a second one"):
        load(f"{HEAD}---\n{HEAD}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ConfigMap\ndata: {a: b}\n", "k: there is no ConfigMap with a KubeletConfiguration in it (kubeadm's is"),
        ("kind: List\nitems: []\n", "k: there is no ConfigMap with a KubeletConfiguration in it (kubeadm's is"),
        ("kind: ConfigMapList\nitems: [3, {data: 3}]\n", "k: there is no ConfigMap with a KubeletConfiguration in it"),
        (
            "kind: ConfigMap\ndata:\n  kubelet: |\n    kind: KubeletConfiguration\n    maxPods: [\n",
            "k:6:5: not YAML:",
        ),
    ],
)
def test_a_config_map_without_a_configuration_is_one_sentence(text: str, message: str) -> None:
    """With a cure, or with the place in the outer file."""
    with pytest.raises(InputError) as refused:
        load(text)
    assert str(refused.value).startswith(message)


def test_a_file_without_a_document_is_refused_as_the_kubelet_does() -> None:
    """A comment is no document."""
    with pytest.raises(StartError, match="Object 'Kind' is missing"):
        load("# nothing\n")


def test_the_codes_of_the_notes_are_listed() -> None:
    """Every one."""
    assert {"flags-not-told", "kubelet-of-cluster"} <= NOTE_CODES.keys()
