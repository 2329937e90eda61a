"""The kubelet's defaults."""

import pytest

from numafit.quantity import parse_quantity
from numafit.settings.config import KubeletConfig, config_of_file, config_of_merged, default_config, fields_of
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import parse_version

NEWEST = parse_version("1.36.4")
DEFAULTS_OF_1_20 = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
}
DEFAULTS = DEFAULTS_OF_1_20 | {"imagefs.inodesFree": "5%"}


def test_an_empty_file_has_every_default() -> None:
    """1.36."""
    assert config_of_file({}, NEWEST) == KubeletConfig(eviction_hard=DEFAULTS)


def test_an_empty_text_or_zero_means_the_default() -> None:
    """Also in the fields that validation looks at."""
    fields = {"topologyManagerPolicy": "", "topologyManagerScope": "", "cpuManagerPolicy": "", "maxPods": 0}
    assert config_of_file(fields, NEWEST) == KubeletConfig(eviction_hard=DEFAULTS)


def test_an_empty_list_of_enforcements_is_kept() -> None:
    """Only a missing list means pods."""
    assert config_of_file({"enforceNodeAllocatable": ()}, NEWEST).enforce_node_allocatable == ()


def test_thresholds_in_a_file_replace_all_defaults() -> None:
    """A file that names nodefs only has no memory threshold; an empty map has none at all."""
    given = {"nodefs.available": "1Gi"}
    assert config_of_file({"evictionHard": given}, NEWEST).eviction_hard == given
    assert config_of_file({"evictionHard": {}}, NEWEST).eviction_hard == {}


def test_thresholds_are_merged_with_the_defaults_on_request() -> None:
    """mergeDefaultEvictionSettings, since 1.33."""
    fields = {"evictionHard": {"memory.available": "1Gi"}, "mergeDefaultEvictionSettings": True}
    assert config_of_file(fields, NEWEST).eviction_hard == DEFAULTS | {"memory.available": "1Gi"}


@pytest.mark.parametrize(("release", "expected"), [("1.29.0", DEFAULTS_OF_1_20), ("1.30.0", DEFAULTS)])
def test_inodes_of_images_have_a_threshold_since_1_30(release: str, expected: dict[str, str]) -> None:
    """imagefs.inodesFree."""
    assert config_of_file({}, parse_version(release)).eviction_hard == expected


def test_without_a_file_there_are_no_thresholds_since_1_26() -> None:
    """Up to 1.25 the defaults came from the same place for flags and files."""
    assert default_config(parse_version("1.25.0")).eviction_hard == DEFAULTS_OF_1_20
    assert default_config(parse_version("1.26.0")).eviction_hard == {}


def test_a_configuration_survives_the_way_through_its_own_fields() -> None:
    """Except for empty values, which the kubelet leaves out when it writes."""
    config = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true"},
        memory_manager_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": parse_quantity("1Gi")}),),
        topology_manager_policy="restricted",
        topology_manager_scope="pod",
        topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
        kube_reserved={"cpu": "1"},
        system_reserved={"memory": "1Gi"},
        reserved_system_cpus="0",
        kube_reserved_cgroup="/k",
        system_reserved_cgroup="/s",
        enforce_node_allocatable=("none",),
        cgroups_per_qos=False,
        eviction_hard={"memory.available": "1Gi"},
        qos_reserved={"memory": "50%"},
        max_pods=5,
        pods_per_core=2,
        feature_gates={"NodeSwap": True},
    )
    written = fields_of(config)
    written["reservedMemory"] = ({"numaNode": 0, "limits": {"memory": parse_quantity("1Gi")}},)
    assert config_of_merged(written) == config
    emptied = KubeletConfig(enforce_node_allocatable=())
    assert config_of_merged(fields_of(emptied)) == KubeletConfig()
