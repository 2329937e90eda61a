"""What the kubelet looks at beside amounts, in the order and words of each release."""

from typing import Any

import pytest
from msgspec.structs import replace

from numafit.decision.decision import Unsuited
from numafit.decision.filters import SUITED, Filtered, filtered
from numafit.decision.node import Node
from numafit.decision.start import Start, start
from numafit.settings.facts import NodeFacts, Taint
from numafit.workload.demands import AffinityTerm, Demands, HostPort, LabelRule, Toleration
from numafit.workload.pod import Pod
from tests.decision.strategies import SEED_BOX, cpus, pod, settings

AFFINITY = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
PORTS = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
TAINTS = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"


def node_of(version: str = "1.36", gates: dict[str, bool] | None = None, **facts: Any) -> Node:
    """`Any`: the facts of a node."""
    known = Start(machine=SEED_BOX, settings=settings(version, gates=gates or {}), facts=NodeFacts(**facts))
    return start(known, "node").node


def pod_with(uid: str = "a", **demands: Any) -> Pod:
    return replace(pod(uid, cpus("app", "1")), demands=Demands(**demands))


def failures(node: Node, wanting: Pod, *others: Pod) -> list[tuple[str, str]]:
    found = filtered(node, wanting, others)
    assert (found.first, found.last) == (None, None)
    return [(each.reason, each.message) for each in found.beside]


def test_a_plain_pod_suits_each_node() -> None:
    node = node_of(labels={"zone": "a"}, taints=(Taint("gpu", "", "NoSchedule"),))
    assert filtered(node, pod("a", cpus("app", "1")), ()) is SUITED


def test_labels_that_nobody_told_are_not_compared() -> None:
    assert failures(node_of(), pod_with(selector=(("disk", "ssd"),), affinity=())) == []


@pytest.mark.parametrize(
    ("version", "message"),
    [("1.20", "Predicate NodeAffinity failed"), ("1.30", "Predicate NodeAffinity failed"), ("1.31", AFFINITY)],
)
def test_a_selector_wants_each_of_its_labels(version: str, message: str) -> None:
    """Since 1.31 the message says why."""
    node = node_of(version, labels={"disk": "ssd", "zone": "a"})
    assert failures(node, pod_with(selector=(("disk", "ssd"),))) == []
    assert failures(node, pod_with(selector=(("disk", "ssd"), ("zone", "b")))) == [("NodeAffinity", message)]


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (("zone", "In", ("a", "b")), True),
        (("zone", "In", ("b",)), False),
        (("disk", "In", ("",)), False),
        (("zone", "NotIn", ("b",)), True),
        (("zone", "NotIn", ("a",)), False),
        (("disk", "NotIn", ("a",)), True),
        (("zone", "Exists", ()), True),
        (("disk", "Exists", ()), False),
        (("zone", "DoesNotExist", ()), False),
        (("disk", "DoesNotExist", ()), True),
        (("cores", "Gt", ("7",)), True),
        (("cores", "Gt", ("8",)), False),
        (("cores", "Lt", ("9",)), True),
        (("cores", "Lt", ("8",)), False),
        (("zone", "Gt", ("7",)), False),
        (("cores", "Gt", ("x",)), False),
        (("zone", "Like", ("a",)), False),
    ],
)
def test_a_rule_of_a_term_holds_or_not(rule: tuple[str, str, tuple[str, ...]], holds: bool) -> None:
    """All releases: a rule that cannot be read makes its term hold nowhere."""
    node = node_of(labels={"zone": "a", "cores": "8"})
    found = failures(node, pod_with(affinity=(AffinityTerm((LabelRule(*rule),)),)))
    assert found == ([] if holds else [("NodeAffinity", AFFINITY)])


def test_one_term_is_enough_and_an_empty_one_holds_nowhere() -> None:
    node = node_of(name="n1", labels={})
    named = AffinityTerm((), (LabelRule("metadata.name", "In", ("n1",)),))
    others = AffinityTerm((), (LabelRule("metadata.name", "NotIn", ("n1",)),))
    assert failures(node, pod_with(affinity=(AffinityTerm(), named))) == []
    for terms in ((), (AffinityTerm(),), (others,)):
        assert failures(node, pod_with(affinity=terms)) == [("NodeAffinity", AFFINITY)]


@pytest.mark.parametrize(
    ("theirs", "free"),
    [
        (HostPort(80), False),
        (HostPort(81), True),
        (HostPort(80, "UDP"), True),
        (HostPort(80, "TCP", "10.0.0.1"), False),
        (HostPort(80, "TCP", "10.0.0.2"), True),
        (HostPort(80, "TCP", "0.0.0.0"), False),
        (HostPort(80, "TCP", "::"), True),
    ],
)
def test_a_port_of_the_host_is_for_one_pod(theirs: HostPort, free: bool) -> None:
    """All releases; no Node object is needed."""
    other = pod_with("b", ports=(theirs,))
    mine = pod_with(ports=(HostPort(80, "TCP", "10.0.0.1"),))
    assert failures(node_of(), mine, other) == ([] if free else [("NodePorts", PORTS)])


@pytest.mark.parametrize(("version", "free"), [("1.32", True), ("1.33", False)])
def test_ports_of_sidecars_count_since_1_33(version: str, free: bool) -> None:
    other = pod_with("b", ports=(HostPort(80, sidecar=True),))
    assert (failures(node_of(version), pod_with(ports=(HostPort(80),)), other) == []) is free


GPU = Taint("gpu", "big", "NoExecute")


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        (Toleration("gpu", "", "big"), True),
        (Toleration("gpu", "Equal", "small"), False),
        (Toleration("gpu", "Exists", "", "NoExecute"), True),
        (Toleration("gpu", "Exists", "", "NoSchedule"), False),
        (Toleration("", "Exists"), True),
        (Toleration("cpu", "Exists"), False),
    ],
)
def test_a_taint_of_the_effect_NoExecute_must_be_tolerated(toleration: Toleration, holds: bool) -> None:
    node = node_of(labels={}, taints=(GPU, Taint("x", "", "NoSchedule")))
    assert failures(node, pod_with(tolerations=(toleration,))) == ([] if holds else [("TaintToleration", TAINTS)])


@pytest.mark.parametrize(("version", "static", "kept_out"), [("1.23", False, 0), ("1.24", False, 1), ("1.24", True, 0)])
def test_taints_count_since_1_24_and_not_for_static_pods(version: str, static: bool, kept_out: int) -> None:
    wanting = replace(pod_with(), static=static)
    assert len(failures(node_of(version, labels={}, taints=(GPU,)), wanting)) == kept_out


def test_a_pod_tolerates_a_node_that_is_not_ready_unless_it_says_otherwise() -> None:
    """The API server adds this to each pod (all releases)."""
    node = node_of(labels={}, taints=(Taint("node.kubernetes.io/not-ready", "", "NoExecute"),))
    assert failures(node, pod_with()) == []
    own = Toleration("node.kubernetes.io/not-ready", "Equal", "no", "NoExecute")
    assert failures(node, pod_with(tolerations=(own,))) == [("TaintToleration", TAINTS)]


@pytest.mark.parametrize(
    ("operator", "bound", "holds"),
    [("Lt", "600", True), ("Lt", "500", False), ("Gt", "400", True), ("Gt", "0400", False), ("Gt", "x", False)],
)
def test_tolerations_compare_numbers_behind_a_gate(operator: str, bound: str, holds: bool) -> None:
    """Alpha in 1.35 to 1.37; the source says so, no run showed it."""
    taints = (Taint("sla", "500", "NoExecute"),)
    wanting = pod_with(tolerations=(Toleration("sla", operator, bound, "NoExecute"),))
    on = node_of(gates={"TaintTolerationComparisonOperators": True}, labels={}, taints=taints)
    assert (failures(on, wanting) == []) is holds
    assert len(failures(node_of(labels={}, taints=taints), wanting)) == 1


def test_failures_come_in_the_order_of_the_kubelet() -> None:
    node = node_of(labels={}, taints=(GPU,))
    other = pod_with("b", ports=(HostPort(80),))
    found = failures(node, pod_with(selector=(("a", "b"),), ports=(HostPort(80),)), other)
    assert [reason for reason, _ in found] == ["NodeAffinity", "NodePorts", "TaintToleration"]


LABELLED = Unsuited(
    "PodOSSelectorNodeLabelDoesNotMatch",
    "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    {"system": "windows"},
)
FIELD = Unsuited(
    "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS", {"system": "windows"}
)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.22", SUITED),
        ("1.23", Filtered(last=LABELLED)),
        ("1.28", Filtered(last=LABELLED)),
        ("1.29", Filtered(first=LABELLED)),
        ("1.37", Filtered(first=LABELLED)),
    ],
)
def test_a_pod_for_another_system_is_refused(version: str, expected: Filtered) -> None:
    """After the sums in 1.23 to 1.28, before them since 1.29. The label counts before the field."""
    assert filtered(node_of(version), pod_with(os_label="windows", os="windows"), ()) == expected


def test_the_field_os_counts_where_the_api_server_keeps_it() -> None:
    """In 1.23 its gate is off."""
    assert filtered(node_of("1.23", gates={"IdentifyPodOS": False}), pod_with(os="windows"), ()) is SUITED
    assert filtered(node_of("1.36"), pod_with(os="windows"), ()) == Filtered(first=FIELD)
    assert filtered(node_of("1.36"), pod_with(os="linux", os_label="linux"), ()) is SUITED


@pytest.mark.parametrize(
    ("version", "known", "suited"),
    [("1.32", False, True), ("1.33", False, False), ("1.33", True, True), ("1.33", None, True)],
)
def test_strict_groups_need_a_runtime_that_knows_them(version: str, known: bool | None, suited: bool) -> None:
    found = filtered(node_of(version, group_policies=known), pod_with(strict_groups=True), ())
    groups = Unsuited(
        "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"
    )
    assert found == (SUITED if suited else Filtered(first=groups))


@pytest.mark.parametrize(
    ("version", "on", "suited"),
    [("1.28", False, True), ("1.29", False, False), ("1.32", False, False), ("1.32", True, True)],
)
def test_a_sidecar_needs_its_gate(version: str, on: bool, suited: bool) -> None:
    """1.29 to 1.32; in 1.28 the API server drops the policy of an init container, as its own gate is off."""
    side = replace(cpus("log", "1"), restartable=True)
    wanting = replace(pod_with(), init_containers=(side,))
    found = filtered(node_of(version, gates={"SidecarContainers": on}), wanting, ())
    refused = Unsuited(
        "InitContainerRestartPolicyForbidden",
        'Init container "log" may not have a non-default restartPolicy',
        {"sidecar": "log"},
    )
    assert found == (SUITED if suited else Filtered(first=refused))
