"""Lint of the NVIDIA device plugin's configuration."""

import pytest

from tests.advice.lint.lint_files import GOOD, HEAD, codes, container, one, pod, variables

PLUGIN = "version: v1\nflags:\n  migStrategy: none\n  plugin:\n    passDeviceSpecs: {}\n    deviceListStrategy: {}\n"


def plugin(specs: str = "true", strategy: str = "envvar") -> str:
    return PLUGIN.format(specs, strategy)


def test_device_specs_must_be_passed_beside_a_static_cpu_manager() -> None:
    """The runtime's update of a container's CPUs drops devices that it was not told of."""
    found = one("NF401", plugin("false"), GOOD)
    assert (found.place.line, found.place.column) == (5, 22)
    assert codes(plugin("true"), GOOD) == []
    assert codes(plugin("false"), HEAD) == []
    assert codes(plugin("false", "cdi-cri"), GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "quote"),
    [
        ("migStrategy: none", "migStrategy: all", "unknown MIG strategy: all"),
        ("envvar", "env", "invalid --device-list-strategy option: invalid strategy: env"),
        ("version: v1", "version: v2", "unknown version: v2"),
    ],
)
def test_a_value_that_the_plugin_refuses_is_quoted(old: str, new: str, quote: str) -> None:
    """The texts of the plugin 0.17."""
    assert quote in one("NF402", plugin().replace(old, new)).message


def test_time_slicing_and_mps_contradict_each_other() -> None:
    resources = "{resources: [{name: nvidia.com/gpu, replicas: 4}], failRequestsGreaterThanOne: true}"
    both = plugin() + f"sharing:\n  timeSlicing: {resources}\n  mps: {resources}\n"
    assert codes(both) == ["NF403"]
    mps = plugin() + f"sharing:\n  mps: {resources}\n"
    assert codes(mps) == []
    assert "is not supported with MPS" in one("NF403", mps.replace("migStrategy: none", "migStrategy: mixed")).message


def test_replicas_are_checked() -> None:
    slicing = plugin() + "sharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 1}]\n"
    assert "number of replicas must be >= 2" in one("NF402", slicing).message
    assert codes(slicing.replace("replicas: 1", "replicas: 4")) == ["NF404"]


def test_a_configuration_inside_a_configmap_keeps_its_places() -> None:
    inner = "".join(f"    {line}\n" for line in plugin("false").splitlines())
    found = one("NF401", f"apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n{inner}")
    assert (found.place.line, found.place.column) == (9, 26)


def test_the_plugins_own_pod_may_pass_the_specs_too() -> None:
    image = "nvidia/k8s-device-plugin:v0.17.0"
    assert codes(pod([{"name": "plugin", "image": image}])) == ["NF401"]
    assert codes(pod([{"name": "plugin", "image": image, "args": ["--pass-device-specs"]}])) == []
    assert codes(pod([{**container(), "image": image, "env": variables(PASS_DEVICE_SPECS="true")}])) == []
