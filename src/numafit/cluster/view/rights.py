"""What one must be allowed to see of a cluster, and the rule to add where that lacks."""

import msgspec

from numafit.cluster.topology.model import GROUP, PLURAL

ROLE = "numafit-view"
NO_AGENT = "let numafit's agent run on the nodes: numafit node-agent --manifest, docs/node-agent.md"
"""What to do where nobody tells how nodes stand."""


PAGE = "numafit-page"
"""The account of `serve --fleet` in a cluster."""


class Right(msgspec.Struct, frozen=True, order=True):
    group: str
    resource: str
    verbs: tuple[str, ...] = ("get", "list")


NODES_RIGHT = Right("", "nodes")
PODS_RIGHT = Right("", "pods")
TOPOLOGIES_RIGHT = Right(GROUP, PLURAL)
RIGHTS = (NODES_RIGHT, PODS_RIGHT, TOPOLOGIES_RIGHT)
"""All that these commands look at."""


def role_text() -> str:
    """A ClusterRole and its binding, to be pasted: always with all rights, since it may take the place of an older
    one."""
    lines = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata:",
        f"  name: {ROLE}",
        "rules:",
    ]
    for right in RIGHTS:
        lines += [
            f'- apiGroups: ["{right.group}"]',
            f"  resources: [{right.resource}]",
            f"  verbs: [{', '.join(right.verbs)}]",
        ]
    lines += [
        "---",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRoleBinding",
        "metadata:",
        f"  name: {ROLE}",
        "roleRef:",
        "  apiGroup: rbac.authorization.k8s.io",
        "  kind: ClusterRole",
        f"  name: {ROLE}",
        "subjects:",
        "- apiGroup: rbac.authorization.k8s.io",
        "  kind: User",
        "  name: YOU  # as `kubectl auth whoami` tells it",
    ]
    return "\n".join(lines)


def page_account(namespace: str) -> str:
    """What the page of a whole cluster runs as there: it looks at the same as these commands, and goes on looking."""
    rules = [{"apiGroups": [own.group], "resources": [own.resource], "verbs": [*own.verbs, "watch"]} for own in RIGHTS]
    group, role = "rbac.authorization.k8s.io", {"kind": "ClusterRole", "name": PAGE}
    account = {"kind": "ServiceAccount", "name": PAGE, "namespace": namespace}
    objects = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": PAGE, "namespace": namespace}},
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": PAGE}, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": PAGE},
            "roleRef": {"apiGroup": group, **role},
            "subjects": [account],
        },
    ]
    return "---\n".join(f"{msgspec.json.encode(own).decode()}\n" for own in objects)
