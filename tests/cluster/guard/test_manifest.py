"""What a cluster needs to run the guard; that it is enough is seen in tests/kube."""

from typing import Any

import yaml

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.manifest import guard_manifest
from numafit.cluster.live.trust import offers_of_ours_only


def objects(**options: Any) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(guard_manifest("own", "example.com/numafit:1", **options)))


def rules(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    roles = [own for own in found if own["kind"] in ("ClusterRole", "Role")]
    return [
        (resource, verb)
        for own in roles
        for rule in own["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def test_a_dry_run_may_change_nothing_but_its_lease_and_events() -> None:
    found = objects()
    changing = {own for own in rules(found) if own[1] not in ("get", "list", "watch")}
    assert changing == {("events", "create"), ("events", "patch"), ("leases", "create"), ("leases", "update")}
    assert not any("Policy" in own["kind"] for own in found)
    assert "--enforce" not in found[-1]["spec"]["template"]["spec"]["containers"][0]["command"]


def test_an_enforcing_one_has_its_policies_and_may_not_write_them() -> None:
    found = objects(enforce=True, jobs=True)
    kinds = [own["kind"] for own in found]
    assert (kinds.count("MutatingAdmissionPolicy"), kinds.count("MutatingAdmissionPolicyBinding")) == (2, 3)
    assert {verb for name, verb in rules(found) if name.startswith("mutating")} == {"get"}
    assert {verb for name, verb in rules(found) if name == "pods"} == {"get", "list", "watch", "patch", "delete"}


def test_its_account_touches_no_pod_that_is_bound() -> None:
    (policy, _) = (own for own in objects(enforce=True) if own["kind"] == "ValidatingAdmissionPolicy")
    assert "system:serviceaccount:own:numafit-guard" in policy["spec"]["matchConditions"][0]["expression"]


def test_nobody_but_who_has_the_right_says_which_nodes_a_pod_counts_on() -> None:
    """It counts on those that its annotation names. The policy is that of all manifests, under a name of its own."""
    (_, policy) = (own for own in objects(enforce=True) if own["kind"] == "ValidatingAdmissionPolicy")
    assert policy["metadata"]["name"] == "numafit-guard-offers"
    assert policy["spec"] == offers_of_ours_only("any")[0]["spec"]
    assert ("offers", "write") in rules(objects(enforce=True))


def test_by_webhook_there_is_a_service_and_no_policy_that_holds() -> None:
    found = objects(enforce=True, webhook=WebhookOptions("own", "numafit-guard", port=9555))
    assert not any(own["kind"] == "MutatingAdmissionPolicy" for own in found)
    (service,) = (own for own in found if own["kind"] == "Service")
    assert service["spec"]["ports"][0]["targetPort"] == 9555
    container = found[-1]["spec"]["template"]["spec"]["containers"][0]
    assert {"--by=webhook", "--port=9555"} <= set(container["command"])


def test_two_replicas_run_without_any_privilege() -> None:
    deployment = objects()[-1]
    assert deployment["spec"]["replicas"] == 2
    own = deployment["spec"]["template"]["spec"]["containers"][0]["securityContext"]
    assert (own["runAsNonRoot"], own["readOnlyRootFilesystem"]) == (True, True)
