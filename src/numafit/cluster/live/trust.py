"""Who is believed which nodes a pod counts on: a right of RBAC, and a policy that asks for it.

A pod counts on the nodes that its annotation names, and an extender lets it pass: whoever could write it would keep
nodes from others, or send a pod where it is rejected. The right names no account, so the same policy may come with each
manifest, under a name of its own, and in any namespace.
"""

from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.kube.rights import policy_objects, rule
from numafit.cluster.live.words import NODES_ANNOTATION

GROUP, OFFERS, WRITE = "numafit.io", "offers", "write"
"""Of the right; there is no such resource."""


def offer_rules() -> list[ObjectJson]:
    """Of the ClusterRole of who writes it."""
    return [rule(GROUP, [OFFERS], [WRITE])]


def offers_of_ours_only(name: str) -> list[ObjectJson]:
    """The policy and its binding. An account, and not a person who may do everything: a copy of a pod has no offer. The
    status is a way to write it, too (1.36)."""
    changes = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["pods", "pods/status"],
    }
    now, before = (f"{own}.metadata.?annotations[?'{NODES_ANNOTATION}'].orValue('')" for own in ("object", "oldObject"))
    same = f"{now} == (request.operation == 'CREATE' ? '' : {before})"
    account = "request.userInfo.username.startsWith('system:serviceaccount:')"
    allowed = f"authorizer.group('{GROUP}').resource('{OFFERS}').check('{WRITE}').allowed()"
    spec = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [changes]},
        "validations": [
            {
                "expression": f"{same} || ({account} && {allowed})",
                "message": f"the annotation {NODES_ANNOTATION} is written by numafit only: leave it out",
            }
        ],
    }
    return policy_objects(f"{name}-offers", spec)
