"""Patches say exactly what a proposal changes."""

import msgspec
from hypothesis import given, settings

from numafit.advice.propose.advise import advise
from numafit.advice.propose.orders import orders
from numafit.advice.propose.proposal import Proposal, patch_of
from numafit.decision.stage import Stage
from numafit.settings.config import fields_of
from numafit.settings.read.loader import merge_patch
from numafit.workload.reading import read_pods
from tests.advice.stages import ALL_ON, stage, stages
from tests.decision.strategies import cpus, pod

MANIFEST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "wide"},
    "spec": {
        "containers": [
            {"name": "side", "image": "x", "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}}},
            {"name": "app", "image": "x", "resources": {"limits": {"cpu": "9", "memory": "1Gi"}}},
        ]
    },
}


def strategic(target: object, patch: object) -> object:
    """A strategic merge as far as pods need it: maps merge, lists of named things merge by name."""
    if isinstance(target, dict) and isinstance(patch, dict):
        return {**target, **{key: strategic(target.get(key), value) for key, value in patch.items()}}
    if isinstance(target, list) and isinstance(patch, list):
        by_name = {item["name"]: item for item in patch}
        return [strategic(item, by_name.get(item["name"], {})) for item in target]
    return patch


def test_the_patched_manifest_is_the_pod_that_was_proposed() -> None:
    """A strategic merge patch: containers merge by their name."""
    (old,) = read_pods(msgspec.json.encode(MANIFEST)).pods
    (advice,) = advise(stage(), [old])
    proposal = advice.proposals[0]
    patch = patch_of(proposal, old, ALL_ON)
    assert patch == {
        "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}}}]}
    }
    (patched,) = read_pods(msgspec.json.encode(strategic(MANIFEST, patch))).pods
    assert patched == proposal.pods[0]


def test_the_patch_of_a_deployment_leads_to_its_template() -> None:
    old = pod("a", cpus("app", "9"))
    (advice,) = advise(stage(), [old])
    patch = patch_of(advice.proposals[0], old, ALL_ON, "Deployment")
    assert patch == {"spec": {"template": patch_of(advice.proposals[0], old, ALL_ON)}}


def test_a_pod_that_goes_has_no_patch() -> None:
    old = pod("a", cpus("app", "9"))
    assert patch_of(Proposal("remove", "", (), removed=(old,)), old, ALL_ON) is None


@settings(max_examples=25)
@given(stages())
def test_a_kubelet_patch_makes_the_configuration_that_was_tried(on: Stage) -> None:
    """A merge patch, as the kubelet itself applies drop-in files: null removes."""
    old = pod("a", cpus("app", "9"))
    for order in orders(on):
        patch = patch_of(Proposal(order.kind, order.text, (), config=order.config), old, on.config)
        merged = merge_patch(fields_of(on.config), patch)
        assert isinstance(merged, dict)
        fields = {name: value for name, value in merged.items() if name not in ("apiVersion", "kind")}
        assert fields == fields_of(order.config)
