"""What one must be allowed to see of a cluster, and the rule to add where that lacks."""

from collections.abc import Iterable

import msgspec

from numafit.cluster.topology.model import GROUP, PLURAL

ROLE = "numafit-view"


class Right(msgspec.Struct, frozen=True, order=True):
    group: str
    resource: str
    verbs: tuple[str, ...] = ("get", "list")


NODES_RIGHT = Right("", "nodes")
PODS_RIGHT = Right("", "pods")
TOPOLOGIES_RIGHT = Right(GROUP, PLURAL)
RIGHTS = (NODES_RIGHT, PODS_RIGHT, TOPOLOGIES_RIGHT)
"""All that these commands look at."""


def role_text(rights: Iterable[Right] = RIGHTS) -> str:
    """A ClusterRole and its binding, to be pasted."""
    lines = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata:",
        f"  name: {ROLE}",
        "rules:",
    ]
    for right in sorted(set(rights)):
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
