"""Objects as an API server gives them: with all that it and the kubelet write beside the spec."""

import json
from typing import Any

Object = dict[str, Any]


def manifest(name: str, cpu: str = "2", **spec: Any) -> Object:
    """A Pod as people write it."""
    container = {"name": "app", "image": "app", "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def running(name: str, started: str = "10:00:00", node: str = "one", **more: Any) -> Object:
    """A Pod that runs, as `kubectl get pods -o json` has it. `more` goes into its metadata."""
    made = manifest(name)
    container = made["spec"]["containers"][0]
    container["resources"]["requests"] = dict(container["resources"]["limits"])
    container |= {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "volumeMounts": [{"name": "kube-api-access-x", "mountPath": "/var/run/secrets", "readOnly": True}],
    }
    made["metadata"] |= {
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "811",
        "creationTimestamp": f"2026-11-15T{started}Z",
        "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}],
        **more,
    }
    made["spec"] |= {
        "nodeName": node,
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
        "volumes": [{"name": "kube-api-access-x", "projected": {"defaultMode": 420, "sources": []}}],
    }
    limits = container["resources"]["limits"]
    made["status"] = {
        "phase": "Running",
        "qosClass": "Guaranteed",
        "observedGeneration": 1,
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.7",
        "startTime": f"2026-11-15T{started}Z",
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
        "containerStatuses": [
            {
                "name": "app",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": f"2026-11-15T{started}Z"}},
                "allocatedResources": limits,
                "resources": {"limits": limits, "requests": limits},
            }
        ],
    }
    return made


def ended(name: str, phase: str = "Failed", node: str = "one") -> Object:
    made = running(name, node=node)
    made["status"] |= {"phase": phase, "reason": "TopologyAffinityError", "containerStatuses": None}
    return made


def pending(name: str, node: str = "") -> Object:
    """Created, and with a node also bound to it; no kubelet has looked at it."""
    made = running(name, node=node)
    made["status"] = {"phase": "Pending", "qosClass": "Guaranteed"}
    if not node:
        del made["spec"]["nodeName"]
    return made


def owner(kind: str, name: str) -> list[Object]:
    uid = f"uid-{kind}-{name}"
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def maker(kind: str, name: str, replicas: int, **metadata: Any) -> Object:
    """A Deployment or the like, as the server has it."""
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{kind}-{name}", **metadata},
        "spec": {"replicas": replicas, "template": {"spec": manifest(name)["spec"]}},
        "status": {"replicas": replicas},
    }


def dump(*objects: Object) -> str:
    """What `kubectl get -o json` prints."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects, "metadata": {"resourceVersion": ""}})
