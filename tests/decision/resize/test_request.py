"""What the API server says to a resize."""

import pytest
from msgspec.structs import replace

from numafit.decision.resize.request import api_answer, wanted_pod
from numafit.errors import InputError
from numafit.workload.pod import Pod
from tests.decision.strategies import amounts, box, container, pod, running, settings

GATE = {"InPlacePodVerticalScaling": True}
OFFERED = amounts({"cpu": "8", "memory": "16Gi"})
BURST = pod("b", container("app", {"cpu": "2", "memory": "2Gi"}, requests={"cpu": "1", "memory": "1Gi"}))


def answer(version: str, had: Pod, wanted: Pod, gates: dict[str, bool] | None = None) -> tuple[str, str, str] | None:
    """Code, reason and message."""
    node, _ = running(box(1, 8), settings(version, gates={**GATE, **(gates or {})}))
    said = api_answer(node, had, wanted, OFFERED)
    return None if said is None else (said.cause.code, said.reason, said.message)


def changed(had: Pod, name: str, requests: dict[str, str], limits: dict[str, str] | None = None) -> Pod:
    return wanted_pod(had, name, amounts(requests), amounts(limits))


def test_what_is_named_changes_and_the_rest_stays() -> None:
    """A limit that is new brings its request along, as at the creation of a pod."""
    plain = pod("p", container("app", {"memory": "1Gi"}), container("other", {"cpu": "1"}))
    wanted = wanted_pod(plain, "app", {}, amounts({"cpu": "2"}))
    app = wanted.containers[0]
    assert (app.requests, app.limits) == (
        amounts({"cpu": "2", "memory": "1Gi"}),
        amounts({"cpu": "2", "memory": "1Gi"}),
    )
    assert wanted.containers[1] == plain.containers[1]


def test_a_container_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(InputError, match="has no container web, only app"):
        wanted_pod(BURST, "web", {}, {})


@pytest.mark.parametrize(("version", "gate", "code"), [("1.26", True, "no-resize"), ("1.34", False, "no-resize")])
def test_without_the_feature_nothing_is_resized(version: str, gate: bool, code: str) -> None:
    """The gate came with 1.27 and is locked since 1.35; what the API server says depends on its release."""
    said = answer(version, BURST, changed(BURST, "app", {"cpu": "2"}), {"InPlacePodVerticalScaling": gate})
    assert said == (code, "Invalid", "")


@pytest.mark.parametrize("version", ["1.27", "1.33", "1.35", "1.37"])
def test_what_fits_the_rules_is_taken(version: str) -> None:
    """1.27 to 1.37."""
    assert answer(version, BURST, changed(BURST, "app", {"cpu": "2"}, {"cpu": "4"})) is None


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("1.31", 'metadata: Invalid value: "Guaranteed": Pod QoS is immutable'),
        ("1.36", 'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'),
    ],
)
def test_the_qos_class_stays(version: str, text: str) -> None:
    """Up to 1.31 with the new class, since 1.32 with the one it has."""
    wanted = changed(BURST, "app", {"cpu": "2", "memory": "2Gi"})
    assert answer(version, BURST, wanted) == ("qos", "Invalid", f'Pod "pod-b" is invalid: {text}')


def test_a_request_above_its_limit_is_invalid() -> None:
    """All releases."""
    assert answer("1.36", BURST, changed(BURST, "app", {"cpu": "3"})) == (
        "above-limit",
        "Invalid",
        'Pod "pod-b" is invalid: spec.containers[0].resources.requests: Invalid value: "3": '
        "must be less than or equal to cpu limit of 2",
    )


def test_several_errors_are_listed_together() -> None:
    """In the API server's order: sums first."""
    had = pod("g", container("app", {"cpu": "2", "memory": "1Gi"}))
    said = answer("1.36", had, changed(had, "app", {"cpu": "3"}))
    assert said is not None
    assert said[2] == (
        'Pod "pod-g" is invalid: [spec.containers[0].resources.requests: Invalid value: "3": must be less than or '
        'equal to cpu limit of 2, spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of '
        "resizing]"
    )


def test_static_pods_cannot_be_resized() -> None:
    """1.32 to 1.37."""
    had = replace(BURST, static=True)
    message = 'Pod "pod-b" is invalid: : Forbidden: static pods cannot be resized'
    assert answer("1.36", had, changed(had, "app", {"cpu": "2"})) == ("static-pod", "Invalid", message)


@pytest.mark.parametrize(("version", "code"), [("1.32", ""), ("1.33", "memory-limit"), ("1.34", "")])
def test_a_memory_limit_sinks_in_all_releases_but_one(version: str, code: str) -> None:
    """1.33 refuses it unless the container is restarted for it."""
    said = answer(version, BURST, changed(BURST, "app", {}, {"memory": "1Gi"}))
    if not code:
        assert said is None
        return
    text = "spec.containers[0].resources.limits[memory]: Forbidden: memory limits cannot be decreased"
    assert said == (code, "Invalid", f'Pod "pod-b" is invalid: {text} unless resizePolicy is RestartContainer')


@pytest.mark.parametrize(
    ("version", "restartable", "text"),
    [
        ("1.32", True, ""),
        ("1.33", True, None),
        ("1.35", False, "spec: Forbidden: resources for non-sidecar init containers are immutable"),
        ("1.36", False, None),
    ],
)
def test_which_init_containers_can_be_resized(version: str, restartable: bool, text: str | None) -> None:
    """Sidecars since 1.33, all since 1.36 (InPlacePodVerticalScalingInitContainers)."""
    had = replace(BURST, init_containers=(container("init", {"cpu": "1"}, restartable=restartable),))
    said = answer(version, had, changed(had, "init", {"cpu": "500m"}))
    if text is None:
        assert said is None
    else:
        message = f'Pod "pod-b" is invalid: {text}' if text else ""
        assert said == ("init-container", "Invalid", message)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("app", "spec: Forbidden: only cpu and memory resources are mutable"),
        (
            "side",
            "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are "
            "mutable",
        ),
    ],
)
def test_only_cpu_and_memory_are_mutable(name: str, text: str) -> None:
    """1.36; before, the text for sidecars names no container."""
    side = container("side", {"cpu": "1"}, restartable=True)
    had = replace(BURST, init_containers=(side,))
    said = answer("1.36", had, changed(had, name, {"ephemeral-storage": "1Gi"}))
    assert said == ("other-resource", "Invalid", f'Pod "pod-b" is invalid: {text}')


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("1.34", ": Forbidden: pods with pod-level resources cannot be resized"),
        (
            "1.35",
            ": Forbidden: resize of pods with pod-level resources is forbidden when "
            "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
        ),
        ("1.36", None),
    ],
)
def test_pods_with_resources_as_a_whole(version: str, text: str | None) -> None:
    """Since 1.36 the gate InPlacePodLevelResourcesVerticalScaling is on."""
    had = pod("w", container("app", {"cpu": "1", "memory": "1Gi"}), whole={"cpu": "4", "memory": "4Gi"})
    said = answer(version, had, changed(had, "app", {"cpu": "2"}, {"cpu": "2"}))
    assert said == (None if text is None else ("pod-level", "Invalid", f'Pod "pod-w" is invalid: {text}'))


def test_more_than_the_node_could_ever_have_is_forbidden() -> None:
    """1.36, as in a run of it; before, the kubelet calls it infeasible."""
    wanted = changed(BURST, "app", {"cpu": "9", "memory": "17Gi"}, {"cpu": "9", "memory": "20Gi"})
    assert answer("1.36", BURST, wanted) == (
        "node-too-small",
        "Forbidden",
        'pods "pod-b" is forbidden: node didn\'t have enough allocatable resources: '
        "cpu, requested: 9000, allocatable: 8000; memory, requested: 18253611008, allocatable: 17179869184",
    )
    assert answer("1.35", BURST, wanted) is None
