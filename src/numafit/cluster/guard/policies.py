"""The policies of the guard as objects of the API: pods of some owners are gated, and a Job sees which of its pods no
kubelet took in. Both are data: no server is asked, so none can be down.

CEL knows no clock. But before it is asked the API server has written down who changes which fields and when
(`managedFields`, 1.36): that is the time of the request. So the policy holds no pod once the guard has not told for
five minutes that it lives.

An API server that has no binding left for any policy with a ConfigMap stops to follow ConfigMaps, and never begins
again: what such a policy sees stays as it was until the API server starts anew (1.36.4). So there is a second binding,
which applies to nothing, and the first one can be taken away and brought back.

Mutations are ApplyConfiguration: gates and conditions are lists by name, so others in them stay. A JSONPatch with a
list of objects panics the API server's request (1.36.4).
"""

from collections.abc import Mapping
from typing import Any

from numafit.cluster.guard.record import HOLD
from numafit.cluster.guard.rules import EXPLAINED_ONLY
from numafit.cluster.guard.words import (
    ANCHOR,
    HOLD_POLICY,
    JOB_POLICY,
    KUBELET_REJECTION,
    MEMORY,
    UNTIL_KEY,
)
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.live.words import DISABLED, ENABLED, GUARD_LABEL, HELD_ANNOTATION, HOLD_GATE, held_text
from numafit.workload.served import REJECTIONS

VERSION = "admissionregistration.k8s.io/v1"
GROUP_PATH = f"/apis/{VERSION}"
POLICIES = "mutatingadmissionpolicies"
BINDINGS = "mutatingadmissionpolicybindings"
UNGUARDED = "kube-system"
"""A namespace whose pods are never held."""

CONTROLLED = "has(o.controller) && o.controller"


def policies(namespace: str, *, opt_in: bool = False, hold: bool = True, jobs: bool = True) -> list[ObjectJson]:
    """Those that are wanted, with their bindings."""
    of_holds = [hold_policy(namespace, opt_in=opt_in), anchor_binding(namespace), hold_binding(namespace)]
    of_jobs = [job_policy(namespace, opt_in=opt_in), job_binding()]
    return [*(of_holds if hold else ()), *(of_jobs if jobs else ())]


def hold_policy(namespace: str, *, opt_in: bool = False) -> ObjectJson:
    text = f"o.uid in params.data && params.data[o.uid].startsWith('{HOLD} ')"
    kinds = ", ".join(f"'{kind}'" for kind in EXPLAINED_ONLY)
    conditions = {
        "owner-loops": f"object.metadata.?ownerReferences.orValue([]).exists(o, {CONTROLLED} && "
        f"!(o.kind in [{kinds}]) && {text})",
        # The API server refuses a gate on a pod that is bound.
        "unbound": "object.spec.?nodeName.orValue('') == ''",
        "guard-lives": f"'{UNTIL_KEY}' in params.data && object.metadata.?managedFields.orValue([])"
        f".exists(m, has(m.time) && timestamp(m.time) < timestamp(params.data['{UNTIL_KEY}']))",
    }
    mutation = (
        f'Object{{metadata: Object.metadata{{annotations: {{"{HELD_ANNOTATION}": "{held_text(namespace)}"}}}}, '
        f'spec: Object.spec{{schedulingGates: [Object.spec.schedulingGates{{name: "{HOLD_GATE}"}}]}}}}'
    )
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = _spec(namespace, rule, conditions, mutation, opt_in=opt_in)
    return _policy(HOLD_POLICY, {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, **spec})


def hold_binding(namespace: str) -> ObjectJson:
    memory = {"name": MEMORY, "namespace": namespace, "parameterNotFoundAction": "Allow"}
    return _binding(HOLD_POLICY, {"paramRef": memory})


def anchor_binding(namespace: str) -> ObjectJson:
    """Of our own namespace only, which the policy leaves out."""
    own = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    spec = {**hold_binding(namespace)["spec"], "matchResources": {"namespaceSelector": own}}
    return {**hold_binding(namespace), "metadata": {"name": ANCHOR}, "spec": spec}


def job_policy(namespace: str, *, opt_in: bool = False) -> ObjectJson:
    reasons = ", ".join(f"'{reason}'" for reason in REJECTIONS)
    reason = "object.status.?reason.orValue('')"
    conditions = {
        "rejected": "object.status.?phase.orValue('') == 'Failed' && "
        f"({reason} in [{reasons}] || {reason}.startsWith('OutOf'))",
        "of-a-job": f"object.metadata.?ownerReferences.orValue([]).exists(o, {CONTROLLED} && o.kind == 'Job')",
        "untold": "!object.status.?conditions.orValue([]).exists(c, c.type == 'DisruptionTarget')",
    }
    mutation = (
        'Object{status: Object.status{conditions: [Object.status.conditions{type: "DisruptionTarget", '
        f'status: "True", reason: "{KUBELET_REJECTION}", '
        'message: "the kubelet did not take the pod in: " + object.status.reason}]}}'
    )
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods/status"]}
    return _policy(JOB_POLICY, _spec(namespace, rule, conditions, mutation, opt_in=opt_in))


def job_binding() -> ObjectJson:
    return _binding(JOB_POLICY, {})


def guarded_namespaces(namespace: str, *, opt_in: bool = False) -> ObjectJson:
    """A selector of namespaces; never the one that the guard itself is in."""
    wanted = {"key": GUARD_LABEL, "operator": "In" if opt_in else "NotIn", "values": [ENABLED if opt_in else DISABLED]}
    own = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [UNGUARDED, namespace]}
    return {"matchExpressions": [wanted, own]}


def is_guarded(name: str, labels: Mapping[str, str], namespace: str, *, opt_in: bool = False) -> bool:
    """The same, of one namespace."""
    if name in (UNGUARDED, namespace):
        return False
    label = labels.get(GUARD_LABEL)
    return label == ENABLED if opt_in else label != DISABLED


def _spec(
    namespace: str, rule: ObjectJson, conditions: Mapping[str, str], mutation: str, *, opt_in: bool
) -> ObjectJson:
    return {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "namespaceSelector": guarded_namespaces(namespace, opt_in=opt_in),
            "resourceRules": [rule],
        },
        "matchConditions": [{"name": name, "expression": text} for name, text in conditions.items()],
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": mutation}}],
    }


def _policy(name: str, spec: dict[str, Any]) -> ObjectJson:
    return {"apiVersion": VERSION, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def _binding(name: str, spec: dict[str, Any]) -> ObjectJson:
    return {
        "apiVersion": VERSION,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, **spec},
    }
