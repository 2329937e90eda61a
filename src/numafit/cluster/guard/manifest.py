"""What a cluster needs to run the guard: the policies, an account with no more rights than it uses, two replicas."""

from importlib.resources import files

import yaml

from numafit.cluster.admission.configuration import SERVICE_PORT
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.rights import cluster_rules as webhook_cluster_rules
from numafit.cluster.admission.rights import namespace_rules as webhook_namespace_rules
from numafit.cluster.guard.policies import BINDINGS, POLICIES, VERSION, policies
from numafit.cluster.guard.words import ENABLED_KEY, HOLD_POLICY, MEMORY
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.live.words import GUARD
from numafit.cluster.topology.model import GROUP, PLURAL

RBAC = "rbac.authorization.k8s.io/v1"
DEFINITION = "nodetopologies.yaml"
METRICS_PORT = 9469
REPLICAS = 2
ENDING_SECONDS = 30


def guard_manifest(
    namespace: str,
    image: str,
    *,
    enforce: bool = False,
    jobs: bool = False,
    opt_in: bool = False,
    webhook: WebhookOptions | None = None,
) -> str:
    """YAML documents for `kubectl apply -f -`. Without `enforce` there are no policies: a dry run needs none.
    `webhook`: it holds pods, and no policy does."""
    definition = files("numafit.cluster.topology").joinpath(DEFINITION).read_text()
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": GUARD, "namespace": namespace}},
        *guard_rights(namespace, enforce=enforce, webhook=webhook),
        *(_memory_and_policies(namespace, jobs=jobs, opt_in=opt_in, hold=webhook is None) if enforce else ()),
        *(unbound_only(f"system:serviceaccount:{namespace}:{GUARD}") if enforce else ()),
        *([_service(webhook)] if webhook is not None else ()),
        _deployment(namespace, image, enforce=enforce, opt_in=opt_in, webhook=webhook),
    ]
    texts = [definition, *(yaml.safe_dump(each, sort_keys=False) for each in objects)]
    return "---\n".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def guard_rights(namespace: str, *, enforce: bool, webhook: WebhookOptions | None = None) -> list[ObjectJson]:
    """Roles and their bindings."""
    cluster = webhook_cluster_rules(webhook) if webhook is not None else []
    own = webhook_namespace_rules(webhook) if webhook is not None else []
    return [
        _role("ClusterRole", [*cluster_rules(enforce=enforce), *cluster]),
        _binding("ClusterRole", namespace),
        _role("Role", [*own_rules(enforce=enforce), *own], namespace),
        _binding("Role", namespace, namespace),
    ]


def cluster_rules(*, enforce: bool) -> list[ObjectJson]:
    rules = [
        _rule("", ["nodes", "namespaces", "pods"], ["list", "watch"]),
        _rule("", ["namespaces"], ["get"]),
        _rule(GROUP, [PLURAL], ["get", "list", "watch"]),
        # Who stands behind the owner of a pod.
        _rule("apps", ["replicasets", "statefulsets"], ["get"]),
        _rule("batch", ["jobs"], ["get"]),
        _rule("", ["events"], ["create", "patch"]),
    ]
    if not enforce:
        return rules
    names = [HOLD_POLICY]
    return [
        *rules,
        # patch: its own gate goes. delete: what kubelets rejected, beyond the newest three of an owner.
        _rule("", ["pods"], ["get", "patch", "delete"]),
        _rule(VERSION.partition("/")[0], [POLICIES, BINDINGS], ["get"], names),
    ]


def own_rules(*, enforce: bool) -> list[ObjectJson]:
    """In its own namespace."""
    leases = "coordination.k8s.io"
    rules = [_rule(leases, ["leases"], ["create"]), _rule(leases, ["leases"], ["get", "update"], [GUARD])]
    if not enforce:
        return rules
    # A list is asked for by the name of the one ConfigMap, which RBAC understands.
    own = ["get", "list", "watch", "patch"]
    return [*rules, _rule("", ["configmaps"], ["create"]), _rule("", ["configmaps"], own, [MEMORY])]


def _memory_and_policies(namespace: str, *, jobs: bool, opt_in: bool, hold: bool) -> list[ObjectJson]:
    """The ConfigMap says no more than its switch: the rest belongs to the guard, also when this is applied again."""
    memory = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": MEMORY, "namespace": namespace},
        "data": {ENABLED_KEY: "true"},
    }
    return [memory, *policies(namespace, opt_in=opt_in, hold=hold, jobs=jobs)]


def unbound_only(account: str) -> list[ObjectJson]:
    """RBAC knows pods only as a whole: a policy lets the account change none that is bound, and delete none but those
    that are not bound or have failed. Clusters have it since 1.30."""
    unbound = "oldObject.spec.?nodeName.orValue('') == ''"
    changes = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE", "DELETE"], "resources": ["pods"]}
    failed = "(request.operation == 'DELETE' && oldObject.status.?phase.orValue('') == 'Failed')"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [changes]},
        "matchConditions": [{"name": "guard", "expression": f"request.userInfo.username == '{account}'"}],
        "validations": [
            {
                "expression": f"{unbound} || {failed}",
                "message": "the guard touches no pod that is bound and has not failed",
            }
        ],
    }
    policy = {"apiVersion": VERSION, "metadata": {"name": GUARD}}
    return [
        {**policy, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {
            **policy,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": GUARD, "validationActions": ["Deny"]},
        },
    ]


def _service(webhook: WebhookOptions) -> ObjectJson:
    ports = [{"name": "webhook", "port": SERVICE_PORT, "targetPort": webhook.port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": webhook.name, "namespace": webhook.namespace},
        "spec": {"selector": {"app.kubernetes.io/name": GUARD}, "ports": ports},
    }


def _role(kind: str, rules: list[ObjectJson], namespace: str = "") -> ObjectJson:
    metadata = {"name": GUARD, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": RBAC, "kind": kind, "metadata": metadata, "rules": rules}


def _binding(kind: str, account: str, namespace: str = "") -> ObjectJson:
    metadata = {"name": GUARD, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": RBAC,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": kind, "name": GUARD},
        "subjects": [{"kind": "ServiceAccount", "name": GUARD, "namespace": account}],
    }


def _rule(group: str, resources: list[str], verbs: list[str], names: list[str] | None = None) -> ObjectJson:
    rule: ObjectJson = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return {**rule, "resourceNames": names} if names else rule


def _deployment(
    namespace: str, image: str, *, enforce: bool, opt_in: bool, webhook: WebhookOptions | None
) -> ObjectJson:
    labels = {"app.kubernetes.io/name": GUARD}
    command = ["numafit", "guard", f"--namespace={namespace}", "--metrics-address=0.0.0.0"]
    command += ["--enforce"] * enforce + ["--opt-in"] * opt_in
    ports = [{"name": "metrics", "containerPort": METRICS_PORT}]
    if webhook is not None:
        command += ["--by=webhook", f"--port={webhook.port}"]
        ports.append({"name": "webhook", "containerPort": webhook.port})
    container = {
        "name": "guard",
        "image": image,
        "command": command,
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": ports,
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": METRICS_PORT}},
        "livenessProbe": {"httpGet": {"path": "/livez", "port": METRICS_PORT}, "initialDelaySeconds": 30},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    pod = {
        "serviceAccountName": GUARD,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": ENDING_SECONDS,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [container],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": GUARD, "namespace": namespace},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template},
    }
