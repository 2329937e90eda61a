"""Feature gates per kubelet release."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.settings.gates import GateError, default_gates, gates_of, resolve_gates
from numafit.settings.versions import KubeVersion, parse_version

MINORS = range(20, 38)


def version(text: str) -> KubeVersion:
    return parse_version(text)


@pytest.mark.parametrize(
    ("gate", "history"),
    [
        ("CPUManager", {20: (True, False), 25: (True, False), 26: (True, True), 32: (True, True), 33: None}),
        ("CPUManagerPolicyOptions", {21: None, 22: (False, False), 23: (True, False), 33: (True, True)}),
        ("TopologyManagerPolicyOptions", {25: None, 27: (False, False), 28: (True, False), 36: (True, True)}),
        ("TopologyManagerPolicyBetaOptions", {26: (False, False), 28: (True, False), 37: (True, False)}),
        ("MemoryManager", {20: None, 21: (False, False), 22: (True, False), 32: (True, True), 36: None}),
        ("PodLevelResourceManagers", {35: None, 36: (False, False), 37: (False, False)}),
        ("CustomCPUCFSQuotaPeriod", {20: (False, False), 35: (False, False), 36: (True, False)}),
        ("SidecarContainers", {27: None, 28: (False, False), 29: (True, False), 33: (True, True), 37: None}),
    ],
)
def test_a_gate_has_the_default_and_lock_of_its_minor(gate: str, history: dict[int, tuple[bool, bool] | None]) -> None:
    """Stages of the gates that concern the managers, 1.20 to 1.37."""
    found = {minor: gates_of(minor).get(gate) for minor in history}
    assert {minor: one and (one.default, one.locked) for minor, one in found.items()} == history


@pytest.mark.parametrize(("minor", "count"), [(27, 147), (28, 154), (30, 169), (33, 191), (35, 218), (36, 241)])
def test_a_release_knows_as_many_gates_as_the_kubelet(minor: int, count: int) -> None:
    """Counted in kubelets' own gate sets, AllAlpha and AllBeta included."""
    assert len(gates_of(minor)) == count


@pytest.mark.parametrize("minor", MINORS)
def test_without_overrides_every_gate_has_its_default(minor: int) -> None:
    """The defaults of a release satisfy its own dependencies."""
    release = KubeVersion(1, minor, 0)
    assert resolve_gates(release, {}) == default_gates(release)


def test_a_gate_of_another_part_of_kubernetes_is_accepted() -> None:
    """The kubelet shares one set of gates with the API server library and the client library."""
    assert resolve_gates(version("1.36.4"), {"WatchListClient": False, "ContextualLogging": False})


@pytest.mark.parametrize(
    ("release", "gate"), [("1.36.4", "MemoryManager"), ("1.29.0", "TopologyManager"), ("1.36.4", "")]
)
def test_a_gate_that_the_release_does_not_know_is_refused(release: str, gate: str) -> None:
    """A gate that was removed after general availability is unknown again."""
    with pytest.raises(GateError) as refused:
        resolve_gates(version(release), {gate: True})
    assert str(refused.value) == f"unrecognized feature gate: {gate}"


def test_a_locked_gate_takes_only_its_default() -> None:
    """CPUManager is locked on from 1.26 to 1.32."""
    assert resolve_gates(version("1.27.3"), {"CPUManager": True})["CPUManager"]
    with pytest.raises(GateError) as refused:
        resolve_gates(version("1.27.3"), {"CPUManager": False})
    assert str(refused.value) == "cannot set feature gate CPUManager to false, feature is locked to true"


def test_locked_gates_are_reported_together_since_1_31() -> None:
    """Before, the first one ends the walk."""
    overrides = {"CPUManager": False, "DevicePluginCDIDevices": False}
    with pytest.raises(GateError) as refused:
        resolve_gates(version("1.31.0"), overrides)
    assert str(refused.value) == (
        "[cannot set feature gate CPUManager to false, feature is locked to true, "
        "cannot set feature gate DevicePluginCDIDevices to false, feature is locked to true]"
    )
    with pytest.raises(GateError) as refused:
        resolve_gates(version("1.27.3"), {"CPUManager": False, "DevicePlugins": False})
    assert str(refused.value) == "cannot set feature gate CPUManager to false, feature is locked to true"


def test_all_alpha_sets_the_alpha_gates_that_are_not_named() -> None:
    """AllAlpha and AllBeta are gates too; a gate named beside them keeps its own value."""
    gates = resolve_gates(version("1.32.0"), {"AllAlpha": True, "CPUManagerPolicyAlphaOptions": False})
    assert gates["InPlacePodVerticalScaling"]
    assert not gates["CPUManagerPolicyAlphaOptions"]
    assert not resolve_gates(version("1.32.0"), {"AllBeta": False})["CPUManagerPolicyBetaOptions"]


def test_a_gate_needs_the_gates_it_depends_on_since_1_35() -> None:
    """Switching PodLevelResources off alone keeps a 1.36 kubelet from starting; before 1.35 nobody looks."""
    with pytest.raises(GateError) as refused:
        resolve_gates(version("1.36.4"), {"PodLevelResources": False})
    assert str(refused.value) == (
        "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: "
        "[PodLevelResources]"
    )
    assert not resolve_gates(version("1.34.0"), {"PodLevelResources": False})["PodLevelResources"]


@given(st.sampled_from(MINORS), st.data())
def test_an_override_of_an_unlocked_gate_is_what_is_effective(minor: int, data: st.DataObject) -> None:
    """Before 1.35, where gates do not depend on each other: overrides win, everything else keeps its default."""
    release = KubeVersion(1, min(minor, 34), 0)
    free = sorted(
        name for name, gate in gates_of(release.minor).items() if not gate.locked and not name.startswith("All")
    )
    overrides = data.draw(st.dictionaries(st.sampled_from(free), st.booleans(), max_size=5))
    assert resolve_gates(release, overrides) == {**default_gates(release), **overrides}
