"""The checks of a node that count nothing: labels, taints, ports of the host, the system a pod is for.

They stand in the same handler as the sums over the node. Its caller is `decide`:

    filtered(node, pod, others) -> Filtered(first, beside, last)

`first` rejects the pod before anything is summed up. `beside` are failures in the kubelet's order, all of which come
after those of resources: the first failure of both lists is the pod's reason. A critical pod with one of them evicts
nobody, and has the first of them for its reason. `last` rejects a pod for which there is room, also if others were
evicted for it (1.23 to 1.28).

Labels and taints are compared only where a Node object told them. The name of the node is never wrong: a kubelet sees
no other pods than its own.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from numafit.decision.decision import Unsuited
from numafit.decision.node import Node
from numafit.errors import KubeletError
from numafit.golang.text import parse_int
from numafit.settings.facts import Taint
from numafit.settings.settings import Settings
from numafit.workload.demands import NODE_PROBLEMS, OS_LABEL, AffinityTerm, Demands, HostPort, LabelRule, Toleration
from numafit.workload.pod import Pod

LINUX = "linux"
NO_EXECUTE = "NoExecute"
ANY_ADDRESS = "0.0.0.0"
NODE_AFFINITY = "NodeAffinity"
NODE_PORTS = "NodePorts"
TAINT_TOLERATION = "TaintToleration"
_WHY = {
    NODE_AFFINITY: "node(s) didn't match Pod's node affinity/selector",
    NODE_PORTS: "node(s) didn't have free ports for the requested pod ports",
    TAINT_TOLERATION: "node(s) had taints that the pod didn't tolerate",
}


class Filtered(NamedTuple):
    first: Unsuited | None = None
    beside: tuple[Unsuited, ...] = ()
    last: Unsuited | None = None


SUITED = Filtered()


def filtered(node: Node, pod: Pod, others: Iterable[Pod]) -> Filtered:
    """`others` are the other active pods; only a pod with ports of the host looks at them."""
    settings, facts, demands = node.settings, node.facts, pod.demands
    beside: list[Unsuited] = []
    if facts.labels is not None:
        wrong = wrong_labels(demands, facts.labels, facts.name)
        if wrong:
            beside.append(_failed(settings, NODE_AFFINITY, wrong))
    if demands.ports:
        taken = _taken_port(settings, demands, others)
        if taken is not None:
            beside.append(
                _failed(settings, NODE_PORTS, {"port": f"{taken[0].port}/{taken[0].protocol}", "pod": taken[1]})
            )
    if facts.taints and settings.behaviour.taints_checked and not pod.static:
        taint = untolerated(settings, demands, facts.taints)
        if taint is not None:
            beside.append(_failed(settings, TAINT_TOLERATION, {"taint": taint_text(taint)}))
    early = _unsuited_system(settings, demands)
    if not settings.behaviour.system_checked_first:
        return Filtered(None, tuple(beside), early) if beside or early else SUITED
    if early is None and demands.strict_groups and facts.group_policies is False:
        early = _unsuited_groups(settings)
    if early is None and pod.init_containers:
        early = _unsuited_sidecar(settings, pod)
    return Filtered(early, tuple(beside)) if beside or early else SUITED


def _failed(settings: Settings, name: str, facts: Mapping[str, str]) -> Unsuited:
    why = f": {_WHY[name]}" if settings.behaviour.filters_say_why else ""
    return Unsuited(name, f"Predicate {name} failed{why}", facts)


# --- labels ----------------------------------------------------------------------------------------------------------


def labels_suit(demands: Demands, labels: Mapping[str, str], name: str) -> bool:
    """For who asks many nodes, and does not want to know what is wrong."""
    if any(labels.get(key) != value for key, value in demands.selector):
        return False
    return demands.affinity is None or any(_holds(term, labels, name) for term in demands.affinity)


def wrong_labels(demands: Demands, labels: Mapping[str, str], name: str) -> dict[str, str]:
    """What does not hold; empty if all does."""
    for key, value in demands.selector:
        if labels.get(key) != value:
            return {"selector": f"{key}={value}", "label": labels.get(key, "")}
    if demands.affinity is None or any(_holds(term, labels, name) for term in demands.affinity):
        return {}
    return {"affinity": "; ".join(_term_text(term) for term in demands.affinity)}


def _holds(term: AffinityTerm, labels: Mapping[str, str], name: str) -> bool:
    """A term without any rule holds nowhere."""
    if not term.labels and not term.fields:
        return False
    if not all(_rule_holds(rule, labels) for rule in term.labels):
        return False
    return all(_field_holds(rule, name) for rule in term.fields)


def _rule_holds(rule: LabelRule, labels: Mapping[str, str]) -> bool:
    value = labels.get(rule.key)
    match rule.operator:
        case "In":
            return value is not None and value in rule.values
        case "NotIn":
            return value is None or value not in rule.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" if value is not None and len(rule.values) == 1:
            own, bound = _number(value), _number(rule.values[0])
            if own is None or bound is None:
                return False
            return own > bound if rule.operator == "Gt" else own < bound
    return False


def _number(text: str) -> int | None:
    try:
        return parse_int(text)
    except KubeletError:
        return None


def _field_holds(rule: LabelRule, name: str) -> bool:
    """The only field that the API server lets through is the name."""
    same = rule.key == "metadata.name" and rule.values == (name,)
    return same if rule.operator == "In" else not same


def _term_text(term: AffinityTerm) -> str:
    rules = (*term.labels, *term.fields)
    return " and ".join(" ".join((rule.key, rule.operator, ",".join(rule.values))).rstrip() for rule in rules)


# --- ports -----------------------------------------------------------------------------------------------------------


def _taken_port(settings: Settings, demands: Demands, others: Iterable[Pod]) -> tuple[HostPort, str] | None:
    """The first wanted port that another pod has, and that pod."""
    wanted = _ports(settings, demands)
    if not wanted:
        return None
    used = [(port, pod.full_name) for pod in others for port in _ports(settings, pod.demands)]
    for port in wanted:
        for theirs, owner in used:
            if _collide(port, theirs):
                return port, owner
    return None


def _ports(settings: Settings, demands: Demands) -> list[HostPort]:
    return [port for port in demands.ports if settings.behaviour.sidecar_ports or not port.sidecar]


def _collide(one: HostPort, other: HostPort) -> bool:
    """The kubelet compares addresses as texts: that of all IPv6 addresses is one like others."""
    if (one.port, one.protocol) != (other.port, other.protocol):
        return False
    addresses = {one.ip or ANY_ADDRESS, other.ip or ANY_ADDRESS}
    return len(addresses) == 1 or ANY_ADDRESS in addresses


# --- taints ----------------------------------------------------------------------------------------------------------


def untolerated(
    settings: Settings, demands: Demands, taints: Iterable[Taint], effects: Collection[str] = (NO_EXECUTE,)
) -> Taint | None:
    """The first of these effects; the kubelet's own check looks at NoExecute alone."""
    tolerations = (*demands.tolerations, *_added(demands))
    compare = settings.gate("TaintTolerationComparisonOperators")
    for taint in taints:
        if taint.effect in effects and not any(_tolerates(each, taint, compare=compare) for each in tolerations):
            return taint
    return None


def _added(demands: Demands) -> Iterable[Toleration]:
    """What the API server adds; a pod that comes from one has it already."""
    for key in NODE_PROBLEMS:
        if not any(own.key in (key, "") and own.effect in (NO_EXECUTE, "") for own in demands.tolerations):
            yield Toleration(key, "Exists", "", NO_EXECUTE)


def _tolerates(toleration: Toleration, taint: Taint, *, compare: bool) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if compare:
            bound, own = _number(toleration.value), _number(taint.value)
            if bound is None or own is None or str(bound) != toleration.value or str(own) != taint.value:
                return False
            return own < bound if toleration.operator == "Lt" else own > bound
    return False


def taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


# --- the system ------------------------------------------------------------------------------------------------------


def _unsuited_system(settings: Settings, demands: Demands) -> Unsuited | None:
    if not settings.behaviour.system_checked:
        return None
    if demands.os_label not in (None, LINUX):
        return Unsuited(
            "PodOSSelectorNodeLabelDoesNotMatch",
            f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label",
            {"system": demands.os_label or ""},
        )
    # while the gate is off the API server drops the field
    if demands.os not in ("", LINUX) and settings.gates.get("IdentifyPodOS", True):
        return Unsuited(
            "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS", {"system": demands.os}
        )
    return None


def _unsuited_groups(settings: Settings) -> Unsuited | None:
    if not settings.behaviour.group_policy_checked:
        return None
    return Unsuited(
        "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node", {}
    )


def _unsuited_sidecar(settings: Settings, pod: Pod) -> Unsuited | None:
    """A kubelet 1.29 to 1.32 with the gate off; the API server has it on, else it had dropped the policy."""
    if settings.gates.get("SidecarContainers", True):
        return None
    for container in pod.init_containers:
        if container.restartable:
            message = f'Init container "{container.name}" may not have a non-default restartPolicy'
            return Unsuited("InitContainerRestartPolicyForbidden", message, {"sidecar": container.name})
    return None
