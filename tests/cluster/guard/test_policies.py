"""The policies as objects; that an API server does what they say is seen in tests/kube."""

import json

import pytest

from numafit.cluster.guard.policies import is_guarded, policies


def test_no_mutation_is_a_json_patch() -> None:
    """A list of objects in one panics the API server (1.36.4)."""
    found = [own for own in policies("numafit") if own["kind"] == "MutatingAdmissionPolicy"]
    kinds = {change["patchType"] for own in found for change in own["spec"]["mutations"]}
    assert kinds == {"ApplyConfiguration"}


def test_whatever_goes_wrong_pods_are_made() -> None:
    found = policies("numafit")
    assert {own["spec"]["failurePolicy"] for own in found if "mutations" in own["spec"]} == {"Ignore"}
    parameters = [own["spec"]["paramRef"] for own in found if "paramRef" in own["spec"]]
    assert {own["parameterNotFoundAction"] for own in parameters} == {"Allow"}


def test_only_what_is_wanted_is_there() -> None:
    names = [
        [own["metadata"]["name"] for own in policies("numafit", hold=hold, jobs=not hold)] for hold in (True, False)
    ]
    assert names == [["numafit-guard-hold", "numafit-guard-anchor", "numafit-guard-hold"], ["numafit-guard-jobs"] * 2]


@pytest.mark.parametrize(
    ("name", "labels", "opt_in", "guarded"),
    [
        ("team", {}, False, True),
        ("team", {"numafit.io/guard": "disabled"}, False, False),
        ("team", {"numafit.io/guard": "enabled"}, False, True),
        ("team", {}, True, False),
        ("team", {"numafit.io/guard": "enabled"}, True, True),
        ("kube-system", {"numafit.io/guard": "enabled"}, True, False),
        ("numafit", {}, False, False),
    ],
)
def test_which_namespaces_are_guarded(name: str, labels: dict[str, str], opt_in: bool, guarded: bool) -> None:
    assert is_guarded(name, labels, "numafit", opt_in=opt_in) is guarded


def test_the_policy_has_the_same_namespaces() -> None:
    text = json.dumps(policies("numafit")[0]["spec"]["matchConstraints"]["namespaceSelector"])
    assert all(word in text for word in ('"kube-system", "numafit"', '"NotIn", "values": ["disabled"]'))


def test_the_anchor_applies_to_nothing() -> None:
    """The policy leaves out the only namespace that the binding has."""
    policy, anchor, _ = policies("own", jobs=False)
    assert anchor["spec"]["policyName"] == policy["metadata"]["name"]
    only = anchor["spec"]["matchResources"]["namespaceSelector"]["matchLabels"]
    assert only == {"kubernetes.io/metadata.name": "own"}
    assert not is_guarded("own", {}, "own")
