"""The rights are those of objects of its own."""

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.rights import cluster_rules, namespace_rules

OPTIONS = WebhookOptions("ns", "mine")


def test_all_but_creating_a_secret_is_bound_to_a_name() -> None:
    """That they are enough is seen on a real API server, in tests/kube."""
    rules = [*cluster_rules(OPTIONS), *namespace_rules(OPTIONS)]
    names = [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in rules]
    assert names == [
        (["mutatingwebhookconfigurations"], ["mine"], ["create", "get", "patch", "delete"]),
        (["namespaces"], ["ns"], ["get"]),
        (["secrets"], None, ["create"]),
        (["secrets"], ["mine-webhook"], ["get", "patch", "delete"]),
    ]
