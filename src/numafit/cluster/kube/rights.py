"""What an account may do, as objects for RBAC, and a policy for what RBAC cannot say."""

from collections.abc import Sequence

from numafit.cluster.kube.objects import ObjectJson

RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
LEASES = "coordination.k8s.io"


def rule(group: str, resources: list[str], verbs: list[str], names: Sequence[str] = ()) -> ObjectJson:
    """`names`: of the only objects that it is about. RBAC cannot tell by name what is created."""
    own: ObjectJson = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return {**own, "resourceNames": list(names)} if names else own


def lease_rules(name: str) -> list[ObjectJson]:
    """For an election."""
    return [rule(LEASES, ["leases"], ["create"]), rule(LEASES, ["leases"], ["get", "update"], [name])]


def role(name: str, rules: Sequence[ObjectJson], namespace: str = "") -> ObjectJson:
    """A ClusterRole where no namespace is named."""
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": RBAC, "kind": kind, "metadata": _meta(name, namespace), "rules": list(rules)}


def binding(name: str, of: str, account: ObjectJson, namespace: str = "") -> ObjectJson:
    """Gives the role `of` to an account, a name and its namespace. A ClusterRoleBinding where no namespace is named."""
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": RBAC,
        "kind": f"{kind}Binding",
        "metadata": _meta(name, namespace),
        "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": kind, "name": of},
        "subjects": [{"kind": "ServiceAccount", **account}],
    }


def bound_role(name: str, rules: Sequence[ObjectJson], account: ObjectJson, namespace: str = "") -> list[ObjectJson]:
    """A role and its binding, of one name."""
    return [role(name, rules, namespace), binding(name, name, account, namespace)]


def unbound_only(name: str, namespace: str, who: str) -> list[ObjectJson]:
    """RBAC knows pods only as a whole: a policy lets the account change none that is bound, and delete none but those
    that are not bound or have failed. Clusters have it since 1.30. `who`: the account, in one word."""
    account = f"request.userInfo.username == 'system:serviceaccount:{namespace}:{name}'"
    unbound = "oldObject.spec.?nodeName.orValue('') == ''"
    failed = "(request.operation == 'DELETE' && oldObject.status.?phase.orValue('') == 'Failed')"
    changes = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE", "DELETE"], "resources": ["pods"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [changes]},
        "matchConditions": [{"name": who, "expression": account}],
        "validations": [
            {
                "expression": f"{unbound} || {failed}",
                "message": f"the {who} touches no pod that is bound and has not failed",
            }
        ],
    }
    return policy_objects(name, spec)


def policy_objects(name: str, spec: ObjectJson) -> list[ObjectJson]:
    """A ValidatingAdmissionPolicy that denies, and its binding, which applies it to all."""
    kind, own = "ValidatingAdmissionPolicy", {"policyName": name, "validationActions": ["Deny"]}
    return [
        {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec},
        {"apiVersion": ADMISSION, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": own},
    ]


def _meta(name: str, namespace: str) -> ObjectJson:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}
