"""Drop-in files of 1.28 to 1.31. The fixtures were made by running the kubelet's own merge on made-up files."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.errors import StartError
from numafit.quantity import parse_quantity
from numafit.settings.config import KubeletConfig, fields_of
from numafit.settings.read.loader import ConfigFile, LoadedConfig, read_file, with_drop_ins
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import parse_version

HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("drop-ins-*.jsonl"))


def merged(release: str, file: dict[str, object], **drop_ins: dict[str, object]) -> LoadedConfig:
    version = parse_version(release)
    loaded = read_file(ConfigFile("kubelet.yaml", json.dumps(HEAD | file)), version, {})
    patches = tuple(ConfigFile(f"{name}.conf", json.dumps(HEAD | patch)) for name, patch in drop_ins.items())
    return with_drop_ins(loaded, patches, version, {})


def recorded() -> Iterator[tuple[str, dict[str, object]]]:
    for path in FIXTURES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.stem}:{number}", json.loads(line)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in recorded()])
def test_the_kubelets_own_merge_is_reproduced(case: dict[str, object]) -> None:
    """Field by field; empty values are left out. Of pulls the recordings tell nothing."""
    release, file, drop_ins = case["release"], case["file"], case["dropIns"]
    assert isinstance(release, str)
    assert isinstance(file, dict)
    assert isinstance(drop_ins, dict)
    expected = case["merged"]
    assert isinstance(expected, dict)
    config = merged(release, file, **{name.removesuffix(".conf"): patch for name, patch in drop_ins.items()}).config
    fields = fields_of(config)
    del fields["serializeImagePulls"]
    assert {name: value for name, value in fields.items() if value} == expected


def test_before_1_29_a_drop_in_file_takes_back_to_the_default_what_it_does_not_name() -> None:
    """1.28 fills in the defaults of the file before it merges; false, zero and nothing override nothing."""
    base: dict[str, object] = {"cpuManagerPolicy": "static", "maxPods": 7, "podsPerCore": 3, "cgroupsPerQOS": True}
    loaded = merged("1.28.15", base, a={"memoryManagerPolicy": "Static", "cgroupsPerQOS": False, "podsPerCore": 0})
    config = loaded.config
    assert (config.cpu_manager_policy, config.memory_manager_policy, config.max_pods) == ("none", "Static", 110)
    assert (config.pods_per_core, config.cgroups_per_qos) == (3, True)
    assert [note.code for note in loaded.notes] == ["drop-ins-alpha"]


def test_before_1_29_thresholds_that_nobody_named_are_one_map_for_all_files() -> None:
    """So a later file keeps what an earlier one wrote into it, but only where the configuration names none either."""
    first: dict[str, object] = {"evictionHard": {"memory.available": "1Gi"}}
    silent: dict[str, object] = {"maxPods": 5}
    kept = merged("1.28.15", {}, a=first, b=silent).config.eviction_hard
    back = merged("1.28.15", {"evictionHard": {"memory.available": "2Gi"}}, a=first, b=silent).config.eviction_hard
    assert (kept["memory.available"], back["memory.available"]) == ("1Gi", "100Mi")


def test_from_1_29_to_1_31_maps_gain_keys_and_items_of_lists_are_merged() -> None:
    """Go decodes into what is there: null takes nothing away, and a name counts whatever its case."""
    base: dict[str, object] = {
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2Mi": "2Mi"}}, {"numaNode": 1}],
        "kubeReserved": {"cpu": "1"},
        "topologyManagerScope": "pod",
    }
    patch: dict[str, object] = {
        "reservedMemory": [{"limits": {"memory": "2Gi"}}],
        "kubeReserved": {"memory": "1Gi", "cpu": None},
        "maxpods": 5,
        "topologyManagerScope": None,
    }
    for release in ("1.29.0", "1.30.14", "1.31.14"):
        loaded = merged(release, base, a=patch)
        config = loaded.config
        limits = {"memory": parse_quantity("2Gi"), "hugepages-2Mi": parse_quantity("2Mi")}
        assert config.reserved_memory == (ReservedMemory(0, limits),)
        assert config.kube_reserved == {"cpu": "1", "memory": "1Gi"}
        assert (config.max_pods, config.topology_manager_scope, loaded.unknown) == (5, "pod", ())
    assert [note.code for note in merged("1.29.0", base, a=patch).notes] == ["drop-ins-alpha"]
    assert merged("1.30.0", base, a=patch).notes == ()


def test_the_same_files_give_another_kubelet_in_each_span_of_releases() -> None:
    """The reason why the ways are told apart."""
    base: dict[str, object] = {"cpuManagerPolicy": "static", "enforceNodeAllocatable": []}
    patch: dict[str, object] = {"maxPods": 5, "evictionHard": {"memory.available": None}}
    found = {}
    for release in ("1.28.0", "1.31.0", "1.32.0"):
        config: KubeletConfig = merged(release, base, a=patch).config
        found[release] = (
            config.cpu_manager_policy,
            config.enforce_node_allocatable,
            "memory.available" in config.eviction_hard,
        )
    assert found == {
        "1.28.0": ("none", ("pods",), True),
        "1.31.0": ("static", (), True),
        "1.32.0": ("static", ("pods",), False),
    }


@pytest.mark.parametrize(
    ("release", "patch", "message"),
    [
        (
            "1.28.0",
            {"maxPods": "x"},
            "failed to load kubelet dropin file, path: a.conf, error: failed to load Kubelet config file a.conf, error "
            "failed to decode: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type "
            "int32",
        ),
        (
            "1.30.0",
            {"maxPods": "x"},
            "failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into Go struct "
            "field KubeletConfiguration.MaxPods of type int32",
        ),
        (
            "1.31.0",
            {"kind": ""},
            "failed to load kubelet dropin file, path: a.conf, error: Object 'Kind' is missing in '"
            '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": ""}\'',
        ),
    ],
)
def test_a_bad_drop_in_file_of_an_old_release_is_refused(release: str, patch: dict[str, object], message: str) -> None:
    """The texts follow the kubelet's source."""
    with pytest.raises(StartError) as refused:
        merged(release, {}, a=patch)
    assert refused.value.message == message
