"""The table of cures against the source: what the engine raises, and what lint knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.cures import CURES, Side, cure_of, foremost, row_of, sides_of
from numafit.advice.doctor.repair import UNREADABLE
from numafit.advice.lint.findings import CODES
from numafit.decision.stage import new_stage
from numafit.decision.start import Start
from numafit.errors import KubeletError, StartError
from numafit.machine.model import Machine
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.gates import GateError, _dependencies_of, gates_of, resolve_gates
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import parse_version
from tests.decision.strategies import GI, box

SOURCE = Path(__file__).resolve().parents[2] / "src" / "numafit"
ENGINE = ("golang", "settings", "ledger", "managers", "decision")
"""The rooms that raise a kubelet's refusals."""
REFUSALS = ("StartError", "RefusedError", "DecodeError", "GateError")


def calls() -> Iterator[tuple[str, ast.Call]]:
    for room in ENGINE:
        for path in sorted((SOURCE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


def codes_of(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from codes_of(value.body)
        yield from codes_of(value.orelse)


def test_the_table_has_a_row_for_each_code_that_is_raised_and_for_no_other() -> None:
    raised = {
        code
        for _, call in calls()
        for keyword in call.keywords
        if keyword.arg == "code"
        for code in codes_of(keyword.value)
    }
    assert set(CURES) == raised


def test_no_refusal_is_raised_without_a_code() -> None:
    """Its own, or that of the error whose text it repeats."""
    without = [
        place
        for place, call in calls()
        if isinstance(call.func, ast.Name)
        and call.func.id in REFUSALS
        and not {"code", "cause", "joins"} & {keyword.arg for keyword in call.keywords}
    ]
    assert without == []


def test_repair_knows_each_refusal_of_a_damaged_file_of_cpus() -> None:
    """Those after which it says that the checksum is computed anew."""
    codes = {
        code
        for _, call in calls()
        if isinstance(call.func, ast.Name) and call.func.id == "RefusedError"
        for keyword in call.keywords
        if keyword.arg == "code"
        for code in codes_of(keyword.value)
    }
    assert codes - {"memory-restore-policy"} == UNREADABLE


def test_the_findings_of_the_table_are_known_to_lint() -> None:
    assert {row.lint for row in CURES.values()} <= set(CODES)


def test_nothing_branches_on_what_an_error_was_raised_from() -> None:
    """`from error` is for people who read a traceback; what a library of others raises keeps its reason only there."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "cluster" / "kube" / "failure.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("__cause__", "__context__")
    ]
    assert found == []


def test_of_several_refusals_the_one_whose_row_stands_first_is_shown() -> None:
    """The kubelet's own order says nothing about which one is worth the line."""
    pods = KubeletError("maxPods", code="max-pods")
    policy = KubeletError("policy", code="topology-policy")
    assert foremost(StartError("stage", "[maxPods, policy]", joins=(pods, policy))) is policy
    assert foremost(pods) is pods


@pytest.mark.parametrize(
    ("field", "cure"),
    [
        (
            ("cpuManagerPolicyOptions", "align-by-socket"),
            "align-by-socket exists since 1.25: remove it, or upgrade the kubelet",
        ),
        (
            ("cpuManagerPolicyOptions", "fast"),
            "known options are this, that",
        ),
    ],
)
def test_the_cure_of_an_unknown_option_says_when_it_comes_or_which_there_are(field: tuple[str, str], cure: str) -> None:
    assert cure_of(KubeletError("no", code="cpu-option-unknown", field=field, facts={"known": "this, that"})) == cure


SMALL = box(2, 4, 1, memory=8 * GI)


def started(config: KubeletConfig, machine: Machine = SMALL) -> StartError | None:
    try:
        new_stage(Start(version=parse_version("1.36"), config=config, machine=machine))
    except StartError as error:
        return error
    return None


@given(
    listed=st.tuples(st.integers(0, 6 << 10), st.integers(0, 6 << 10)),
    kube=st.integers(0, 12 << 10),
    system=st.integers(0, 12 << 10),
    threshold=st.sampled_from(("100Mi", "5%", "1", "")),
)
def test_each_side_that_a_cure_offers_makes_the_kubelet_start(
    listed: tuple[int, int], kube: int, system: int, threshold: str
) -> None:
    """reservedMemory against kubeReserved + systemReserved + evictionHard, in MiB; the sides have the right amounts."""
    items = [ReservedMemory(node, {"memory": mebibytes(own)}) for node, own in enumerate(listed) if own]
    hard = {"memory.available": threshold} if threshold else {}
    config = KubeletConfig(
        memory_manager_policy="Static",
        reserved_memory=tuple(items),
        kube_reserved={"memory": f"{kube}Mi"},
        system_reserved={"memory": f"{system}Mi"},
        eviction_hard=hard,
    )
    error = started(config)
    if error is None or error.code != "memory-total":
        return
    for side in sides_of(error):
        assert started(applied(config, side)) is None, side
    assert sides_of(error) or max(sum(listed), kube + system) > 16 << 10 or not (kube + system and sum(listed))


def mebibytes(amount: int) -> Quantity:
    return parse_quantity(f"{amount}Mi")


def applied(config: KubeletConfig, side: Side) -> KubeletConfig:
    """As a person would who follows the sentence: from the first field that has so much."""
    amount = side.amount.value() * (1 if side.change == "add" else -1)
    if side.of == "reservedMemory":
        items = list(config.reserved_memory) or [ReservedMemory(0, {"memory": Quantity(0)})]
        for index, item in enumerate(items):
            own = item.limits["memory"].value()
            part = max(amount, -own)
            amount -= part
            items[index] = ReservedMemory(item.numa_node, {"memory": Quantity(own + part)})
        return replace(config, reserved_memory=tuple(item for item in items if not item.limits["memory"].is_zero))
    reserved = []
    for field in (config.kube_reserved, config.system_reserved):
        own = parse_quantity(field["memory"]).value()
        part = max(amount, -own)
        amount -= part
        reserved.append({"memory": str(own + part)})
    hard = dict(config.eviction_hard)
    if amount:
        # What is left to take is less than the threshold; as an amount, since a share is of no round number.
        total = parse_quantity(hard["memory.available"]).value() if "%" not in hard["memory.available"] else SHARE
        hard = {"memory.available": str(total + amount)}
    return replace(config, kube_reserved=reserved[0], system_reserved=reserved[1], eviction_hard=hard)


SHARE = 858993472
"""5% of the machine's memory, as the kubelet counts it."""


@pytest.mark.parametrize(
    ("amount", "cure"),
    [("1.5Gi", "write 1536Mi"), ("1000m", "write 1"), ("0.1", "write whole bytes, in a number that 63 bits hold")],
)
def test_an_amount_that_is_not_written_whole_is_cured_by_the_same_amount_that_is(amount: str, cure: str) -> None:
    item = ReservedMemory(0, {"memory": parse_quantity(amount)})
    config = KubeletConfig(
        memory_manager_policy="Static", reserved_memory=(item,), kube_reserved={"memory": amount}, eviction_hard={}
    )
    error = started(config)
    assert error is not None
    assert (error.code, cure_of(error)) == ("memory-amount", cure)
    if "whole bytes" not in cure:
        right = ReservedMemory(0, {"memory": parse_quantity(cure.removeprefix("write "))})
        assert started(replace(config, reserved_memory=(right,))) is None


def test_too_much_reserved_is_cured_by_what_the_machine_has() -> None:
    error = started(KubeletConfig(kube_reserved={"memory": "20Gi"}, eviction_hard={}))
    assert error is not None
    assert cure_of(error) == "reserve at most 16Gi of memory in all; 20Gi is reserved"
    assert started(KubeletConfig(kube_reserved={"memory": "16Gi"}, eviction_hard={})) is None


@pytest.mark.parametrize("version", ["1.30", "1.36"])
def test_too_many_numa_nodes_are_cured_by_what_the_release_has(version: str) -> None:
    """max-allowable-numa-nodes came with 1.31."""
    many = box(10, 10, 1, memory=GI)
    known = Start(version=parse_version(version), machine=many)
    with pytest.raises(StartError) as refused:
        new_stage(replace(known, config=KubeletConfig(topology_manager_policy="restricted")))
    option = 'set max-allowable-numa-nodes: "10" in topologyManagerPolicyOptions, or ' if version == "1.36" else ""
    assert cure_of(refused.value) == f"{option}set topologyManagerPolicy: none"
    new_stage(replace(known, config=KubeletConfig()))
    if option:
        options = {"max-allowable-numa-nodes": "10"}
        config = KubeletConfig(topology_manager_policy="restricted", topology_manager_policy_options=options)
        new_stage(replace(known, config=config))


def test_a_gate_that_needs_others_is_cured_on_both_sides() -> None:
    minor, name, needed = next(
        (minor, name, needed)
        for minor in (36, 35, 34)
        for name, needed in sorted(_dependencies_of(minor).items())
        if needed and not any(gates_of(minor)[each].locked for each in (name, *needed))
    )
    version = parse_version(f"1.{minor}")
    wrong = {name: True, **dict.fromkeys(needed, False)}
    with pytest.raises(GateError) as refused:
        resolve_gates(version, wrong)
    problem = next(each for each in refused.value.problems if each.field[-1] == name)
    assert cure_of(problem) == f"set {' and '.join(needed)} to true, or {name} to false"


def test_an_error_without_a_code_is_one_more_reason_not_to_start() -> None:
    assert row_of(KubeletError("no")).lint == "NF119"
