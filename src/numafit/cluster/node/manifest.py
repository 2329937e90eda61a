"""What a cluster needs to run the agent on its nodes: the definition of its object, an account with no more rights than
it uses, and the DaemonSet."""

from importlib.resources import files

import yaml

from numafit.cluster.claims.objects import GROUP as CLAIMS
from numafit.cluster.kube.events import DEFAULT_NAMESPACE
from numafit.cluster.node.publish import ANNOTATION
from numafit.cluster.node.resource_topology import API_VERSION as RESOURCE_TOPOLOGY
from numafit.cluster.topology.model import GROUP, PLURAL
from numafit.replay.outcomes import Json

NAME = "numafit-node-agent"
DEFINITION = "nodetopologies.yaml"
METRICS_PORT = 9467
RBAC = "rbac.authorization.k8s.io/v1"
RESOURCE_GROUP, RESOURCE_PLURAL = RESOURCE_TOPOLOGY.partition("/")[0], "noderesourcetopologies"
MOUNTS_ALLOWED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""No stricter level lets a pod see folders of its host."""
HOST = "/host"
MOUNTS = ("/sys", "/proc", "/var/lib/kubelet")
"""Of the host; read only. Most of what the kubelet keeps lies in the last one."""


def manifest(namespace: str, image: str, *, resource_topology: bool = False) -> str:
    """YAML documents for `kubectl apply -f -`."""
    definition = files("numafit.cluster.topology").joinpath(DEFINITION).read_text()
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": MOUNTS_ALLOWED}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": namespace}},
        cluster_role(resource_topology=resource_topology),
        _binding("ClusterRole", {"name": NAME}, namespace),
        event_role(),
        _binding("Role", {"name": NAME, "namespace": DEFAULT_NAMESPACE}, namespace),
        *_own_node_only(namespace, resource_topology=resource_topology),
        _daemon_set(namespace, image, resource_topology=resource_topology),
    ]
    texts = [definition, *(yaml.safe_dump(each, sort_keys=False) for each in objects)]
    return "---\n".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def cluster_role(*, resource_topology: bool) -> Json:
    rules = [
        # get: its release, labels, taints and what it offers. patch: one annotation, which wakes schedulers.
        _rule("", ["nodes"], ["get", "patch"]),
        # Which pods are on the node, and what their kubelet says of them.
        _rule("", ["pods"], ["list", "watch"]),
        # Its settings, where no file tells them; kubelets before 1.33 want nodes/proxy for that, which is much more.
        _rule("", ["nodes/configz"], ["get"]),
        # create: server-side apply makes an object that is not there.
        _rule(GROUP, [PLURAL], ["create", "patch", "list", "watch"]),
        # Which devices claims give to pods (DRA), and where they are.
        _rule(CLAIMS, ["resourceclaims"], ["get"]),
        _rule(CLAIMS, ["resourceslices"], ["list"]),
    ]
    if resource_topology:
        rules.append(_rule(RESOURCE_GROUP, [RESOURCE_PLURAL], ["get", "list", "create", "patch"]))
    return {
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": rules,
    }


def event_role() -> Json:
    """Events about a Node, which has no namespace, lie in this one."""
    return {
        "apiVersion": RBAC,
        "kind": "Role",
        "metadata": {"name": NAME, "namespace": DEFAULT_NAMESPACE},
        "rules": [_rule("", ["events"], ["create", "patch"])],
    }


def _binding(kind: str, metadata: Json, namespace: str) -> Json:
    return {
        "apiVersion": RBAC,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": kind, "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
    }


def _rule(group: str, resources: list[str], verbs: list[str]) -> Json:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _own_node_only(namespace: str, *, resource_topology: bool) -> list[Json]:
    """RBAC knows no single node: a policy lets the account change nothing of a Node but its one annotation, and with
    the token of a pod nothing but its own node. Clusters have it since 1.30."""
    admission = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": NAME}}
    node_name = "'authentication.kubernetes.io/node-name'"
    extra = "request.userInfo.extra"
    own = f"!has({extra}) || !({node_name} in {extra}) || {extra}[{node_name}][0] == object.metadata.name"
    written = [(GROUP, PLURAL), *([(RESOURCE_GROUP, RESOURCE_PLURAL)] if resource_topology else [])]
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]},
        *(
            {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [plural]}
            for group, plural in written
        ),
    ]
    account = f"request.userInfo.username == 'system:serviceaccount:{namespace}:{NAME}'"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [{"name": "agent", "expression": account}],
        "validations": [
            {
                "expression": f"request.kind.kind != 'Node' || ({_same_but_annotation()})",
                "message": "the agent changes its one annotation only",
            },
            {"expression": own, "message": "the agent changes its own node only"},
        ],
    }
    return [
        {**admission, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {
            **admission,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": NAME, "validationActions": ["Deny"]},
        },
    ]


def _same_but_annotation() -> str:
    """CEL: owners and finalizers count, too, since a Node with an owner that is not there is deleted."""

    def part(of: str, name: str, empty: str) -> str:
        return f"(has({of}.metadata.{name}) ? {of}.metadata.{name} : {empty})"

    def kept(one: str, other: str) -> str:
        there = part(other, "annotations", "{}")
        value = f"{there}[k] == {one}.metadata.annotations[k]"
        return f"{part(one, 'annotations', '{}')}.all(k, k == '{ANNOTATION}' || (k in {there} && {value}))"

    parts = (("labels", "{}"), ("finalizers", "[]"), ("ownerReferences", "[]"))
    return " && ".join(
        (
            "object.spec == oldObject.spec",
            *(f"{part('object', name, empty)} == {part('oldObject', name, empty)}" for name, empty in parts),
            kept("object", "oldObject"),
            kept("oldObject", "object"),
        )
    )


def _daemon_set(namespace: str, image: str, *, resource_topology: bool) -> Json:
    labels = {"app.kubernetes.io/name": NAME}
    container: Json = {
        "name": "agent",
        "image": image,
        "command": ["numafit", "node-agent", f"--host-root={HOST}", "--recordings=/recordings"],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": METRICS_PORT}, "initialDelaySeconds": 60},
        "resources": {"requests": {"cpu": "20m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            # The kubelet's files are root's own; no further right of root is needed to read them.
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            *({"name": _volume(path), "mountPath": f"{HOST}{path}", "readOnly": True} for path in MOUNTS),
            {"name": "recordings", "mountPath": "/recordings"},
        ],
    }
    container["command"] += [f"--metrics-port={METRICS_PORT}", "--metrics-address=0.0.0.0"]
    if resource_topology:
        container["command"].append("--resource-topology")
    spec = {
        "serviceAccountName": NAME,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [container],
        "volumes": [
            *({"name": _volume(path), "hostPath": {"path": path}} for path in MOUNTS),
            {"name": "recordings", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def _volume(path: str) -> str:
    return path.strip("/").replace("/", "-")
