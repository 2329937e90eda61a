"""What a webhook needs to be allowed to do, for RBAC: no more than it uses, and only to objects of its own."""

from numafit.cluster.admission.configuration import GROUP, PLURAL
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.kube.objects import ObjectJson


def cluster_rules(options: WebhookOptions) -> list[ObjectJson]:
    """For a ClusterRole. What is applied and is not there yet has to be allowed as `create`, too; `delete` is for its
    removal only, and without the look at our namespace the configuration does not go with it."""
    return [
        {
            "apiGroups": [GROUP],
            "resources": [PLURAL],
            "resourceNames": [options.name],
            "verbs": ["create", "get", "patch", "delete"],
        },
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [options.namespace], "verbs": ["get"]},
    ]


def namespace_rules(options: WebhookOptions) -> list[ObjectJson]:
    """For a Role in our own namespace. RBAC cannot tell by name what is created."""
    return [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [options.secret],
            "verbs": ["get", "patch", "delete"],
        },
    ]
