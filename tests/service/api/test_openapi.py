"""The OpenAPI document: true to the code, and nothing breaks the agent that it allows or forbids.

Schemathesis makes requests from the document, fitting and unfitting ones, and checks the answers against it: no 5xx, a
known status, media type and shape, unfitting requests refused. That a fitting one is accepted cannot be asked for: no
schema says what a manifest is.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from numafit.service.api.examples import EXAMPLES
from numafit.service.api.openapi import document
from numafit.service.api.operations import OPERATIONS, Operation
from tests.service.agents import Running, running

EXAMPLES_EACH = 100 if os.environ.get("NUMAFIT_ALL") else 12
ENDLESS = "text/event-stream"
ASKED = [operation for operation in OPERATIONS if operation.answer != ENDLESS]
ABOUT_PODS = [operation for operation in ASKED if "pods" in getattr(operation.body, "__struct_fields__", ())]
MODES = list(schemathesis.GenerationMode)

PUBLISHED = """
MachineAnswer CatalogueEntry CatalogueMachine SettingsView Option State Example LedgerView Holder MemoryHeld
NodeAmounts Amounts DeviceAmounts Page Summary OneDecision SimulateAnswer Simulated Free MemoryBlock Simulate
Shorthand ExplainAnswer Explained StoryTold Chapter Row Cell Explain AdviseAnswer Advised Proposed Advise FitAnswer
Counted Limit Left VariantCounted Fit CompareAnswer PodCompared Difference RuleChange Compare Place LintAnswer Found
Lint File WhatIfAnswer ExplainedWalked StoryWalked ChapterWalked Walk Combination Pick Resolved WhatIf LogAnswer
RecreateLoop LeaseList Take Extend Health Problem
"""
"""Clients that are generated from the document have types of these names."""

HARD = settings(
    max_examples=EXAMPLES_EACH,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def agent() -> Iterator[Running]:
    with running("--demo", "laptop") as found:
        yield found


def strategy_of(
    agent: Running, operation: Operation, mode: Any, headers: dict[str, str] | None = None
) -> st.SearchStrategy[Any]:
    schema = schemathesis.openapi.from_url(f"{agent.url}/api/v1/openapi.json", headers=headers or {})
    return schema[operation.path][operation.method].as_strategy(generation_mode=mode)


def check(case: Any) -> None:
    case.call_and_validate(timeout=30, excluded_checks=[positive_data_acceptance])


def named(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", ASKED, ids=named)
def test_requests_made_from_the_document_are_answered_as_it_says(
    agent: Running, operation: Operation, mode: Any
) -> None:
    """Fitting and unfitting ones."""
    if mode == schemathesis.GenerationMode.NEGATIVE and operation.body is None and not operation.parameters:
        pytest.skip("nothing in it can be wrong")

    @HARD
    @given(strategy_of(agent, operation, mode))
    def every(case: Any) -> None:
        check(case)

    every()


@pytest.mark.parametrize("operation", ABOUT_PODS, ids=named)
def test_questions_about_real_pods_are_answered_as_the_document_says(agent: Running, operation: Operation) -> None:
    """The rest of the question is made up; the shape of the answer is the document's."""
    places = st.sampled_from([None, "laptop", "gpu8-128cpu"])

    @HARD
    @given(strategy_of(agent, operation, schemathesis.GenerationMode.POSITIVE), st.sampled_from(EXAMPLES), places)
    def every(case: Any, example: Any, machine: str | None) -> None:
        plain = {"machine": machine}
        # Made-up settings and texts would refuse nearly every question.
        parts = {"left": plain, "right": {**plain, "version": "1.27"}} if "left" in case.body else plain
        kept = {name: case.body[name] for name in ("advice", "most", "order", "compare", "empty") if name in case.body}
        case.body = {**kept, **parts, "pods": example.pods}
        check(case)

    every()


def test_each_operation_stands_in_the_document_once() -> None:
    """With an id of its own, and with the problems that it may meet."""
    found = document()
    operations = [one for methods in found["paths"].values() for one in methods.values()]
    assert len(operations) == len(OPERATIONS)
    assert len({one["operationId"] for one in operations}) == len(OPERATIONS)
    assert all("500" in one["responses"] for one in operations)


def test_published_schemas_keep_their_names() -> None:
    """The name of a class is the name of its schema: to rename one breaks generated clients."""
    assert set(PUBLISHED.split()) - set(document()["components"]["schemas"]) == set()


def test_every_reference_leads_somewhere() -> None:
    """No schema is missing."""
    found = document()
    names: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                names.add(value["$ref"].removeprefix("#/components/schemas/"))
            for each in value.values():
                walk(each)
        elif isinstance(value, list | tuple):
            for each in value:
                walk(each)

    walk(found)
    assert names == set(found["components"]["schemas"])
