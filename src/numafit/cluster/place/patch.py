"""The one change by which a waiting pod is released: its gate goes, and with it all nodes but the chosen ones.

The API server lets a gated pod's required node affinity only be narrowed. Where a pod has no required terms it gets one
for each node, by the node's name. Where it has some, their number must stay: each gets the nodes' host names as one
more expression, and a single node by its name. The patch is a list of operations (RFC 6902) that begins with tests: a
pod that is no longer what was decided about is not changed at all, and decided anew (1.27 to 1.36).
"""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.live.words import NODES_ANNOTATION, PLACE_GATE, SCALED_ANNOTATION

HOSTNAME = "kubernetes.io/hostname"
NAME_FIELD = "metadata.name"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
FIRST, BESIDE = 100, 1
"""Weight of the best node: alone, and beside preferences of the user's own."""

Operations = list[ObjectJson]


class WaitingSpec(msgspec.Struct, frozen=True):
    """What of a waiting pod's spec is narrowed or compared; None where it says nothing."""

    affinity: ObjectJson | None = None
    nodeSelector: dict[str, str] | None = None
    schedulingGates: tuple[ObjectJson, ...] | None = None
    topologySpreadConstraints: tuple[ObjectJson, ...] | None = None


def waiting_spec(spec: bytes | msgspec.Raw) -> WaitingSpec:
    return msgspec.json.decode(spec, type=WaitingSpec)


def has_terms(spec: WaitingSpec) -> bool:
    """It has required terms of its own, to which names can only be added by the label of the host."""
    return bool(_terms(_node_affinity(spec)))


NO_NOTES: Mapping[str, str] = {}


def release_patch(
    spec: WaitingSpec,
    uid: str,
    names: Sequence[str],
    hostnames: Mapping[str, str],
    notes: Mapping[str, str] = NO_NOTES,
    *,
    annotated: bool,
) -> bytes:
    """`names`: the best first. `hostnames`: that label of each of them; needed where the pod has terms of its own and
    there are several names. `notes`: more annotations. `annotated`: the pod has some."""
    before = _node_affinity(spec)
    terms = _terms(before)
    if not terms:
        narrowed = [{"matchFields": [_field("In", name)]} for name in names]
    elif len(names) == 1:
        narrowed = [_joined(term, [], [_field("In", names[0])]) for term in terms]
    else:
        hosts = {"key": HOSTNAME, "operator": "In", "values": sorted({hostnames[name] for name in names})}
        narrowed = [_joined(term, [hosts], []) for term in terms]
    after: ObjectJson = {**before, REQUIRED: {"nodeSelectorTerms": narrowed}}
    if len(names) > 1 and not _prefers_by_others(spec):
        own = before.get(PREFERRED) or []
        best = {"weight": BESIDE if own else FIRST, "preference": {"matchFields": [_field("In", names[0])]}}
        after[PREFERRED] = [*own, best]
    return _patch(spec, uid, after, {NODES_ANNOTATION: ",".join(names), **notes}, annotated=annotated)


def scale_patch(spec: WaitingSpec, uid: str, excluded: Mapping[str, str], *, annotated: bool) -> bytes:
    """Released for nodes that are still to come. `excluded`: nodes that it must not go to -> their label of the host;
    empty where one has none."""
    before = _node_affinity(spec)
    labels = sorted({label for label in excluded.values() if label})
    expressions = [{"key": HOSTNAME, "operator": "NotIn", "values": labels}] if labels else []
    fields = [_field("NotIn", name) for name in sorted(excluded) if not excluded[name]]
    after = before
    if expressions or fields:
        terms = _terms(before) or [{}]
        narrowed = [_joined(term, expressions, fields, first=not _terms(before)) for term in terms]
        after = {**before, REQUIRED: {"nodeSelectorTerms": narrowed}}
    return _patch(spec, uid, after, {SCALED_ANNOTATION: str(len(excluded))}, annotated=annotated)


def ungate_patch(gates: Sequence[str], uid: str, gate: str = PLACE_GATE) -> bytes:
    """Only the gate goes, as if nobody had set it."""
    left = [{"name": own} for own in gates if own != gate]
    operations = [
        _test("/metadata/uid", uid),
        _test("/spec/schedulingGates", [{"name": own} for own in gates]),
        {"op": "replace", "path": "/spec/schedulingGates", "value": left},
    ]
    return msgspec.json.encode(operations)


def _patch(
    spec: WaitingSpec, uid: str, node_affinity: ObjectJson, annotations: Mapping[str, str], *, annotated: bool
) -> bytes:
    operations: Operations = [
        _test("/metadata/uid", uid),
        _test("/spec/schedulingGates", spec.schedulingGates),
        # What is not there equals null for the API server.
        _test("/spec/affinity", spec.affinity),
        _test("/spec/nodeSelector", spec.nodeSelector),
        {"op": "remove", "path": "/spec/schedulingGates"},
    ]
    if node_affinity:
        affinity = {**(spec.affinity or {}), "nodeAffinity": node_affinity}
        operations.append({"op": "add", "path": "/spec/affinity", "value": affinity})
    if annotated:
        for name, text in annotations.items():
            operations.append({"op": "add", "path": f"/metadata/annotations/{name.replace('/', '~1')}", "value": text})
    else:
        operations.append(_test("/metadata/annotations", None))
        operations.append({"op": "add", "path": "/metadata/annotations", "value": dict(annotations)})
    return msgspec.json.encode(operations)


def _test(path: str, value: object) -> ObjectJson:
    return {"op": "test", "path": path, "value": value}


def _node_affinity(spec: WaitingSpec) -> ObjectJson:
    found: ObjectJson | None = (spec.affinity or {}).get("nodeAffinity")
    return found or {}


def _terms(node_affinity: ObjectJson) -> list[ObjectJson]:
    required: ObjectJson | None = node_affinity.get(REQUIRED)
    terms: list[ObjectJson] | None = (required or {}).get("nodeSelectorTerms")
    return terms or []


def _joined(
    term: ObjectJson, expressions: Sequence[ObjectJson], fields: Sequence[ObjectJson], *, first: bool = False
) -> ObjectJson:
    """Behind what the term has. One without any rule holds nowhere and must stay so, unless it is a new one."""
    if not first and not term.get("matchExpressions") and not term.get("matchFields"):
        return term
    joined = dict(term)
    for name, more in (("matchExpressions", expressions), ("matchFields", fields)):
        if more:
            joined[name] = [*(term.get(name) or []), *more]
    return joined


def _field(operator: str, name: str) -> ObjectJson:
    """It takes one value and no more."""
    return {"key": NAME_FIELD, "operator": operator, "values": [name]}


def _prefers_by_others(spec: WaitingSpec) -> bool:
    """It has preferences about other pods. A preferred node would weigh as much as those whatever its weight is, since
    the scheduler stretches the scores of each kind to the same height."""
    affinity = spec.affinity or {}
    if any((affinity.get(kind) or {}).get(PREFERRED) for kind in ("podAffinity", "podAntiAffinity")):
        return True
    return any(own.get("whenUnsatisfiable") == "ScheduleAnyway" for own in spec.topologySpreadConstraints or ())
