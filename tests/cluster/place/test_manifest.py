"""What a cluster needs to run the placer."""

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.live.trust import offers_of_ours_only
from numafit.cluster.place.manifest import PlaceManifest
from numafit.document import read_documents


def manifest(*arguments: str) -> PlaceManifest:
    return PlaceManifest(WebhookOptions(), "example.com/numafit:1", 9468, arguments)


def test_all_of_it_is_yaml_of_which_nothing_refers_to_another_place() -> None:
    text = manifest().text()
    kinds = [own.value["kind"] for own in read_documents(text) if isinstance(own.value, dict)]
    assert kinds == [
        "CustomResourceDefinition",
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "Service",
        "PodDisruptionBudget",
        "Deployment",
    ]
    assert "&id0" not in text


def test_what_the_pods_are_told_is_what_was_asked_for() -> None:
    (deployment,) = [own for own in manifest("--scale", "--names=4").objects() if own["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    assert spec["containers"][0]["command"][-2:] == ["--scale", "--names=4"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert deployment["spec"]["replicas"] == 2


def test_its_account_may_say_which_nodes_a_pod_counts_on_and_a_policy_asks_for_that() -> None:
    """By a right, not by a name: the guard in pods of its own may have it, too."""
    (role,) = [own for own in manifest().rights() if own["kind"] == "ClusterRole"]
    assert {"apiGroups": ["numafit.io"], "resources": ["offers"], "verbs": ["write"]} in role["rules"]
    policies = [own for own in manifest().objects() if own["kind"] == "ValidatingAdmissionPolicy"]
    assert offers_of_ours_only("numafit-place")[0] in policies


def test_no_right_goes_beyond_what_is_used() -> None:
    (role,) = [own for own in manifest().rights() if own["kind"] == "ClusterRole"]
    pods = [own["verbs"] for own in role["rules"] if own["resources"] == ["pods"]]
    assert pods == [["get", "list", "watch", "patch", "delete"]]
    assert not any("*" in own["verbs"] or "*" in own["resources"] for own in role["rules"])
    secrets = [own for each in manifest().rights() for own in each.get("rules", ()) if "secrets" in own["resources"]]
    assert all(own["verbs"] == ["create"] or own.get("resourceNames") for own in secrets)
