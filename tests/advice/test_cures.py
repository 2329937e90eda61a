"""The table of cures against the source: what the engine raises, and what lint knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.advice.cures import CURES, cure_of, foremost, row_of
from numafit.advice.doctor.repair import UNREADABLE
from numafit.advice.lint.findings import CODES
from numafit.errors import KubeletError, StartError

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
    """`from error` is for people who read a traceback."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
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


def test_an_error_without_a_code_is_one_more_reason_not_to_start() -> None:
    assert row_of(KubeletError("no")).lint == "NF119"
