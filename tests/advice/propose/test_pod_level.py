"""Pods with resources of their own (`spec.resources`): advised in their own terms."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.alignment import is_aligned
from numafit.advice.propose.advise import advise
from numafit.advice.propose.knobs import is_valid
from numafit.advice.propose.proposal import patch_of
from numafit.decision.stage import Stage, restarted
from numafit.workload.pod import Container, Pod, PodResources
from tests.advice.stages import stage
from tests.decision.strategies import amounts, container, cpus, pod

SERVED = {"PodLevelResources": True, "PodLevelResourceManagers": True}
PASSED_OVER = {"PodLevelResources": True, "PodLevelResourceManagers": False}


def on(scope: str = "pod", **gates: bool) -> Stage:
    return stage(topology_manager_scope=scope, feature_gates=gates or SERVED)


def proposals(where: Stage, wanted: Pod) -> list[tuple[str, str, object]]:
    (advice,) = advise(where, [wanted])
    return [(proposal.kind, proposal.text, patch_of(proposal, wanted, where.config)) for proposal in advice.proposals]


def test_the_pods_own_number_is_lowered_where_it_decides() -> None:
    """10 CPUs as a whole, and a NUMA node has 8 (1.36 with the gate PodLevelResourceManagers)."""
    wanted = pod("a", cpus("app", "6"), container("side", {}), whole={"cpu": "10", "memory": "4Gi"})
    own = {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}}
    assert proposals(on(), wanted)[0] == (
        "fewer",
        "the pod (spec.resources): cpu 10 -> 8",
        {"spec": {"resources": own}},
    )


def test_a_pod_whose_containers_use_up_its_resources_may_have_more() -> None:
    """The container that shares what is left would be left nothing; either side may give way."""
    wanted = pod("a", cpus("app", "4"), container("side", {}), whole={"cpu": "4", "memory": "4Gi"})
    assert [(kind, text) for kind, text, _ in proposals(on(), wanted)[:2]] == [
        ("more", "the pod (spec.resources): cpu 4 -> 5"),
        ("fewer", "app: cpu 4 -> 3"),
    ]


def test_a_burstable_pod_becomes_guaranteed_by_its_own_numbers() -> None:
    own = PodResources(amounts({"cpu": "3", "memory": "2Gi"}), amounts({"cpu": "4", "memory": "4Gi"}))
    wanted = replace(pod("a", container("app", {}, requests={"cpu": "1"})), resources=own)
    assert proposals(on(), wanted)[0] == (
        "guaranteed",
        "the pod (spec.resources): limits.cpu 4 -> 3, the pod (spec.resources): limits.memory 4Gi -> 2Gi",
        {"spec": {"resources": {"limits": {"cpu": "3", "memory": "2Gi"}}}},
    )


def test_where_managers_pass_over_such_pods_the_containers_may_ask_themselves() -> None:
    """1.34, 1.35, and 1.36 without the gate: no exclusive CPUs for a pod with resources of its own."""
    wanted = pod("a", cpus("app", "4"), whole={"cpu": "4", "memory": "4Gi"})
    assert proposals(on(**PASSED_OVER), wanted)[:2] == [
        (
            "pod-level",
            "without resources of the pod (spec.resources), which this kubelet's managers do not serve",
            {"spec": {"resources": None}},
        ),
        (
            "option",
            "the gate PodLevelResourceManagers",
            {
                "apiVersion": "kubelet.config.k8s.io/v1beta1",
                "kind": "KubeletConfiguration",
                "featureGates": {"PodLevelResourceManagers": True},
            },
        ),
    ]


def test_a_pod_that_asks_for_cpus_only_as_a_whole_is_missed_too() -> None:
    """To take its own resources away would leave its containers with nothing: that is not proposed."""
    wanted = pod("a", container("app", {}), container("side", {}), whole={"cpu": "4", "memory": "4Gi"})
    where = on(**PASSED_OVER)
    (advice,) = advise(where, [wanted])
    assert advice.fault == "admitted, but the pod shares its CPUs with others"
    assert [kind for kind, _, _ in proposals(where, wanted)] == ["option"]


def test_a_container_that_is_alone_may_ask_for_what_its_pod_asks_for() -> None:
    wanted = pod("a", container("app", {}), whole={"cpu": "4", "memory": "4Gi"})
    own = {"cpu": "4", "memory": "4Gi"}
    assert proposals(on(**PASSED_OVER), wanted)[0] == (
        "pod-level",
        "app: asks for what the pod (spec.resources) asks for, which this kubelet's managers do not serve",
        {
            "spec": {
                "resources": None,
                "containers": [{"name": "app", "resources": {"requests": own, "limits": own}}],
            }
        },
    )


@st.composite
def pod_level_pods(draw: st.DrawFn) -> Pod:
    sizes = st.sampled_from(["1", "3", "4", "7", "9", "1500m"])
    memory = st.sampled_from(["1Gi", "6Gi", "17Gi", "20Gi"])
    own: list[Container] = []
    for i in range(draw(st.integers(1, 2))):
        limits = {"cpu": draw(sizes), "memory": "512Mi"} if draw(st.booleans()) else {}
        own.append(container(f"app{i}", limits))
    limits = {"cpu": draw(sizes), "memory": draw(memory)}
    requests = limits if draw(st.integers(0, 2)) else {**limits, "cpu": "1"}
    return replace(pod("a", *own), resources=PodResources(amounts(requests), amounts(limits)))


@settings(max_examples=60, deadline=None)
@given(pod_level_pods(), st.sampled_from([SERVED, PASSED_OVER]), st.sampled_from(["pod", "container"]))
def test_each_proposal_leads_to_admission(wanted: Pod, gates: dict[str, bool], scope: str) -> None:
    """Made from scratch; and what it says it changes is what its patch changes."""
    if not is_valid(wanted):
        return
    where = on(scope, **gates)
    (advice,) = advise(where, [wanted])
    for proposal in advice.proposals:
        changed = where if proposal.config is None else restarted(where, proposal.config)
        played = changed.play(proposal.pods or [wanted]).steps
        assert all(step.decision.admitted for step in played)
        if proposal.aligned:
            assert all(is_aligned(changed.node, step.decision) for step in played)
        if len(proposal.pods) == 1:
            patch = patch_of(proposal, wanted, where.config)
            assert patch is not None
            spec = patch["spec"]
            assert isinstance(spec, dict)
            assert ("resources" in spec) == ("(spec.resources)" in proposal.text)
            named = {each["name"] for each in spec.get("containers", [])}
            assert named == {each.name for each in wanted.containers if f"{each.name}: " in proposal.text}
