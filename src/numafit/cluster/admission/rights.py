"""What a webhook needs to be allowed to do, for RBAC: no more than it uses, and only to objects of its own."""

from numafit.cluster.admission.configuration import GROUP, PLURAL
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.kube.rights import rule


def cluster_rules(options: WebhookOptions) -> list[ObjectJson]:
    """For a ClusterRole. What is applied and is not there yet has to be allowed as `create`, too; `delete` is for its
    removal only, and without the look at our namespace the configuration does not go with it."""
    return [
        rule(GROUP, [PLURAL], ["create", "get", "patch", "delete"], [options.name]),
        rule("", ["namespaces"], ["get"], [options.namespace]),
    ]


def namespace_rules(options: WebhookOptions) -> list[ObjectJson]:
    """For a Role in our own namespace. RBAC cannot tell by name what is created."""
    return [
        rule("", ["secrets"], ["create"]),
        rule("", ["secrets"], ["get", "patch", "delete"], [options.secret]),
    ]
