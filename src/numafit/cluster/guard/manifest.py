"""What a cluster needs to run the guard: the policies, an account with no more rights than it uses, two replicas."""

from numafit.cluster.admission.configuration import SERVICE_PORT
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.rights import cluster_rules as webhook_cluster_rules
from numafit.cluster.admission.rights import namespace_rules as webhook_namespace_rules
from numafit.cluster.guard.policies import BINDINGS, POLICIES, VERSION, policies
from numafit.cluster.guard.words import ENABLED_KEY, HOLD_POLICY, MEMORY
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.kube.rights import bound_role, lease_rules, rule, unbound_only
from numafit.cluster.live.trust import offer_rules, offers_of_ours_only
from numafit.cluster.live.words import GUARD
from numafit.cluster.topology.definition import with_definition
from numafit.cluster.topology.model import GROUP, PLURAL

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
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": GUARD, "namespace": namespace}},
        *guard_rights(namespace, enforce=enforce, webhook=webhook),
        *(_memory_and_policies(namespace, jobs=jobs, opt_in=opt_in, hold=webhook is None) if enforce else ()),
        *((*unbound_only(GUARD, namespace, "guard"), *offers_of_ours_only(GUARD)) if enforce else ()),
        *([_service(webhook)] if webhook is not None else ()),
        _deployment(namespace, image, enforce=enforce, opt_in=opt_in, webhook=webhook),
    ]
    return with_definition(objects)


def guard_rights(namespace: str, *, enforce: bool, webhook: WebhookOptions | None = None) -> list[ObjectJson]:
    """Roles and their bindings."""
    cluster = webhook_cluster_rules(webhook) if webhook is not None else []
    own = webhook_namespace_rules(webhook) if webhook is not None else []
    account = {"name": GUARD, "namespace": namespace}
    return [
        *bound_role(GUARD, [*cluster_rules(enforce=enforce), *cluster], account),
        *bound_role(GUARD, [*own_rules(enforce=enforce), *own], account, namespace),
    ]


def cluster_rules(*, enforce: bool) -> list[ObjectJson]:
    rules = [
        rule("", ["nodes", "namespaces", "pods"], ["list", "watch"]),
        rule("", ["namespaces"], ["get"]),
        rule(GROUP, [PLURAL], ["get", "list", "watch"]),
        # Who stands behind the owner of a pod.
        rule("apps", ["replicasets", "statefulsets"], ["get"]),
        rule("batch", ["jobs"], ["get"]),
        rule("", ["events"], ["create", "patch"]),
    ]
    if not enforce:
        return rules
    names = [HOLD_POLICY]
    return [
        *rules,
        # patch: its own gate goes. delete: what kubelets rejected, beyond the newest three of an owner.
        rule("", ["pods"], ["get", "patch", "delete"]),
        # The condition that says why a pod is held.
        rule("", ["pods/status"], ["patch"]),
        # Which nodes a pod was released to.
        *offer_rules(),
        rule(VERSION.partition("/")[0], [POLICIES, BINDINGS], ["get"], names),
    ]


def own_rules(*, enforce: bool) -> list[ObjectJson]:
    """In its own namespace."""
    rules = lease_rules(GUARD)
    if not enforce:
        return rules
    # A list is asked for by the name of the one ConfigMap, which RBAC understands.
    own = ["get", "list", "watch", "patch"]
    return [*rules, rule("", ["configmaps"], ["create"]), rule("", ["configmaps"], own, [MEMORY])]


def _memory_and_policies(namespace: str, *, jobs: bool, opt_in: bool, hold: bool) -> list[ObjectJson]:
    """The ConfigMap says no more than its switch: the rest belongs to the guard, also when this is applied again."""
    memory = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": MEMORY, "namespace": namespace},
        "data": {ENABLED_KEY: "true"},
    }
    return [memory, *policies(namespace, opt_in=opt_in, hold=hold, jobs=jobs)]


def _service(webhook: WebhookOptions) -> ObjectJson:
    ports = [{"name": "webhook", "port": SERVICE_PORT, "targetPort": webhook.port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": webhook.name, "namespace": webhook.namespace},
        "spec": {"selector": {"app.kubernetes.io/name": GUARD}, "ports": ports},
    }


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
