"""A second kube-scheduler beside the one of the cluster, with an extender in its own pod, for clusters whose scheduler
belongs to somebody else.

The two are asked over loopback: no certificates, and none that end. Pods choose it by `schedulerName`.
"""

import yaml

from numafit.cluster.extender.configuration import COST, SchedulerConfig, comment, configuration
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.kube.rights import LEASES, binding, bound_role, rule
from numafit.cluster.live.trust import offers_of_ours_only
from numafit.cluster.topology.model import GROUP, PLURAL

PORT, METRICS_PORT, SCHEDULER_PORT = 9444, 9470, 10259
FOLDER = "/etc/kube-scheduler"
FILE = "config.yaml"
RACE = (
    "Two schedulers do not see each other's decisions before they are bound: a node may get a pod of each at the same "
    "moment. Let all pods that want whole CPUs or devices of these nodes choose this one, or keep nodes for it by a "
    "taint. The image of kube-scheduler has to be of the release of the cluster"
)


def second_scheduler(name: str, namespace: str, scheduler_image: str, image: str, *, offer: str = "1") -> str:
    """YAML documents for `kubectl apply -f -`."""
    config = SchedulerConfig(f"http://127.0.0.1:{PORT}", scheduler=name, lease_namespace=namespace)
    own: ObjectJson = {"name": name, "namespace": namespace}
    objects: list[ObjectJson] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own},
        *_rights(name, own),
        *offers_of_ours_only(name),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": own,
            "data": {FILE: yaml.safe_dump(configuration(config), sort_keys=False)},
        },
        _deployment(name, namespace, _scheduler(scheduler_image), _extender(image, offer)),
    ]
    return (
        comment(f"{RACE}.")
        + comment(f"{COST}.")
        + "---\n".join(yaml.safe_dump(own, sort_keys=False) for own in objects)
    )


def extender_rules() -> list[ObjectJson]:
    """What the extender may do: read, and tell a pod that waits that it fits by now, which wakes the scheduler."""
    return [
        rule("", ["nodes", "pods"], ["list", "watch"]),
        rule(GROUP, [PLURAL], ["list", "watch"]),
        rule("", ["pods/status"], ["patch"]),
    ]


def _rights(name: str, account: ObjectJson) -> list[ObjectJson]:
    namespace, reader = account["namespace"], "extension-apiserver-authentication-reader"
    # The cluster role of schedulers has rights for a lease of the name kube-scheduler only.
    leases = rule(LEASES, ["leases"], ["create", "get", "list", "watch", "update", "patch"])
    return [
        binding(f"{name}-scheduler", "system:kube-scheduler", account),
        binding(f"{name}-volumes", "system:volume-scheduler", account),
        binding(f"{name}-authentication", reader, account, "kube-system"),
        *bound_role(f"{name}-leader", [leases], account, namespace),
        *bound_role(f"{name}-extender", extender_rules(), account),
    ]


def _scheduler(image: str) -> ObjectJson:
    probe = {"port": SCHEDULER_PORT, "scheme": "HTTPS"}
    return {
        "name": "kube-scheduler",
        "image": image,
        "command": ["kube-scheduler", f"--config={FOLDER}/{FILE}", f"--secure-port={SCHEDULER_PORT}"],
        "livenessProbe": {"httpGet": {"path": "/livez", **probe}, "initialDelaySeconds": 15},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": _unprivileged(),
        "volumeMounts": [{"name": "config", "mountPath": FOLDER, "readOnly": True}],
    }


def _extender(image: str, offer: str) -> ObjectJson:
    return {
        "name": "extender",
        "image": image,
        "command": [
            *("numafit", "extender", "--address=127.0.0.1", f"--port={PORT}", f"--offer={offer}"),
            *("--metrics-address=0.0.0.0", f"--metrics-port={METRICS_PORT}"),
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "livenessProbe": {"httpGet": {"path": "/livez", "port": METRICS_PORT}, "initialDelaySeconds": 15},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": METRICS_PORT}},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": _unprivileged(),
    }


def _unprivileged() -> ObjectJson:
    return {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _deployment(name: str, namespace: str, *containers: ObjectJson) -> ObjectJson:
    labels = {"app.kubernetes.io/name": name}
    spec: ObjectJson = {
        "serviceAccountName": name,
        "priorityClassName": "system-cluster-critical",
        "containers": list(containers),
        "volumes": [{"name": "config", "configMap": {"name": name}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            # What is offered and not bound yet is known to one of them only.
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
