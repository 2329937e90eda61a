"""What a cluster needs to run the agent on its nodes: the definition of its object, an account with no more rights than
it uses, and the DaemonSet."""

from numafit.cluster.claims.objects import GROUP as CLAIMS
from numafit.cluster.kube.events import DEFAULT_NAMESPACE
from numafit.cluster.kube.rights import bound_role, policy_objects, rule
from numafit.cluster.node.process import KUBELET_FOLDER
from numafit.cluster.node.publish import ANNOTATION
from numafit.cluster.node.resource_topology import API_VERSION as RESOURCE_TOPOLOGY
from numafit.cluster.topology.definition import with_definition
from numafit.cluster.topology.model import GROUP, PLURAL
from numafit.replay.outcomes import Json

NAME = "numafit-node-agent"
ORDER_ROLE = f"{NAME}-orders"
ORDER_VERBS = ["get", "list", "watch", "patch"]
METRICS_PORT = 9467
RESOURCE_GROUP, RESOURCE_PLURAL = RESOURCE_TOPOLOGY.partition("/")[0], "noderesourcetopologies"
MOUNTS_ALLOWED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""No stricter level lets a pod see folders of its host."""
HOST = "/host"
MOUNTS = ("/sys", "/proc", KUBELET_FOLDER)
"""Of the host; read only. Most of what the kubelet keeps lies in the last one."""


def manifest(namespace: str, image: str, *, resource_topology: bool = False, orders: str = "") -> str:
    """YAML documents for `kubectl apply -f -`. `orders`: how the names of ConfigMaps begin, with the node's behind it,
    that order a switch of a node; an agent that takes such orders has to be root there. Empty: it takes none."""
    allow_switch, account = bool(orders), {"name": NAME, "namespace": namespace}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": MOUNTS_ALLOWED}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**account}},
        *bound_role(NAME, agent_rules(resource_topology=resource_topology, allow_switch=allow_switch), account),
        # Events about a Node, which has no namespace, lie in this one.
        *bound_role(NAME, [rule("", ["events"], ["create", "patch"])], account, DEFAULT_NAMESPACE),
        # Orders lie in the agent's own namespace, and it makes none.
        *(bound_role(ORDER_ROLE, [rule("", ["configmaps"], ORDER_VERBS)], account, namespace) if allow_switch else ()),
        *_own_node_only(namespace, orders, resource_topology=resource_topology),
        _daemon_set(namespace, image, resource_topology=resource_topology, allow_switch=allow_switch),
    ]
    return with_definition(objects)


def agent_rules(*, resource_topology: bool = False, allow_switch: bool = False) -> list[Json]:
    rules = [
        # get: its release, labels, taints and what it offers. patch: one annotation, which wakes schedulers.
        rule("", ["nodes"], ["get", "patch"]),
        # Which pods are on the node, and what their kubelet says of them.
        rule("", ["pods"], ["list", "watch"]),
        # Its settings, where no file tells them; kubelets before 1.33 want nodes/proxy for that, which is much more.
        rule("", ["nodes/configz"], ["get"]),
        # create: server-side apply makes an object that is not there.
        rule(GROUP, [PLURAL], ["create", "patch", "list", "watch"]),
        # Which devices claims give to pods (DRA), and where they are.
        rule(CLAIMS, ["resourceclaims"], ["get"]),
        rule(CLAIMS, ["resourceslices"], ["list"]),
    ]
    if resource_topology:
        rules.append(rule(RESOURCE_GROUP, [RESOURCE_PLURAL], ["get", "list", "create", "patch"]))
    if allow_switch:
        # RBAC knows no pods of one node; disruption budgets count for it as for everybody.
        rules.append(rule("", ["pods/eviction"], ["create"]))
    return rules


def _own_node_only(namespace: str, orders: str, *, resource_topology: bool) -> list[Json]:
    """RBAC knows no single node: a policy lets the account change nothing of a Node but its one annotation, and with
    the token of a pod nothing but its own node. Clusters have it since 1.30. With orders it closes and opens its node,
    too, and writes into the orders for it."""
    node_name = "'authentication.kubernetes.io/node-name'"
    extra = "request.userInfo.extra"
    node = f"{extra}[{node_name}][0]"
    meant = f"(request.kind.kind == 'ConfigMap' ? '{orders}' : '') + {node}" if orders else node
    own = f"!has({extra}) || !({node_name} in {extra}) || {meant} == object.metadata.name"
    written = [(GROUP, PLURAL), *([(RESOURCE_GROUP, RESOURCE_PLURAL)] if resource_topology else [])]
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]},
        *(
            {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [plural]}
            for group, plural in written
        ),
    ]
    if orders:
        rules.append({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["configmaps"]})
    same = _same_but_annotation(_same_but_cordon() if orders else "object.spec == oldObject.spec")
    what = "its one annotation and unschedulable" if orders else "its one annotation"
    account = f"request.userInfo.username == 'system:serviceaccount:{namespace}:{NAME}'"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [{"name": "agent", "expression": account}],
        "validations": [
            {
                "expression": f"request.kind.kind != 'Node' || ({same})",
                "message": f"the agent changes {what} only",
            },
            {"expression": own, "message": "the agent changes its own node only"},
        ],
    }
    return policy_objects(NAME, spec)


def _same_but_cordon() -> str:
    """CEL: all fields of a Node's spec but `unschedulable` (1.20 to 1.37)."""
    fields = ("podCIDR", "podCIDRs", "providerID", "taints", "configSource", "externalID")
    new, old = "object.spec", "oldObject.spec"
    return " && ".join(
        f"has({new}.{own}) == has({old}.{own}) && (!has({new}.{own}) || {new}.{own} == {old}.{own})" for own in fields
    )


def _same_but_annotation(spec_same: str) -> str:
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
            spec_same,
            *(f"{part('object', name, empty)} == {part('oldObject', name, empty)}" for name, empty in parts),
            kept("object", "oldObject"),
            kept("oldObject", "object"),
        )
    )


def _daemon_set(namespace: str, image: str, *, resource_topology: bool, allow_switch: bool) -> Json:
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
    spec: Json = {
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
    if allow_switch:
        container["command"] += ["--allow-switch", f"--namespace={namespace}"]
        # Its commands are run by nsenter in the namespaces of the host's first process.
        container["securityContext"] = {"runAsUser": 0, "privileged": True, "readOnlyRootFilesystem": True}
        container["volumeMounts"].append({"name": "tmp", "mountPath": "/tmp"})
        spec["volumes"].append({"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}})
        spec["hostPID"] = True
        for mount in container["volumeMounts"]:
            if mount["name"] == _volume(KUBELET_FOLDER):
                mount["readOnly"] = False
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def _volume(path: str) -> str:
    return path.strip("/").replace("/", "-")
