"""Leases by HTTP with writes allowed: requests made from the OpenAPI document, against a ledger of their own.

Whatever is sent: answers are as the document says, nothing is held twice, and all of it can be given back.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from numafit.bits import parse_cpuset
from numafit.service.api.operations import OPERATIONS, Operation
from tests.service.agents import Running, running
from tests.service.api.test_openapi import HARD, MODES, named, strategy_of

TOKEN = "0123456789abcdef"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
WRITES = [one for one in OPERATIONS if "/leases" in one.path and one.method != "GET"]
TIMEOUT = 60
MOMENTS = ("time", "since", "until", "at")
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# Not made smaller where one fails: each try takes and gives back leases.
WRITTEN = settings(HARD, phases=[Phase.generate])


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "token").write_text(TOKEN)
    options = ("--state-dir", str(folder / "ledger"), "--token-file", str(folder / "token"), "--allow-writes")
    with running(*options) as found:
        yield found


def operation_of(agent: Running, operation: Operation, mode: Any) -> st.SearchStrategy[Any]:
    return strategy_of(agent, operation, mode, headers=BEARER)


def checked(case: Any) -> Any:
    return case.call_and_validate(timeout=TIMEOUT, headers=BEARER, excluded_checks=[positive_data_acceptance])


def leases(agent: Running) -> list[dict[str, Any]]:
    answer = httpx.get(f"{agent.url}/api/v1/leases", headers=BEARER, timeout=TIMEOUT)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["leases"]
    return found


def give_all_back(agent: Running) -> None:
    for lease in leases(agent):
        if lease["until"] is not None:
            answer = httpx.delete(f"{agent.url}/api/v1/leases/{lease['id']}", headers=BEARER, timeout=TIMEOUT)
            assert answer.status_code == 200, answer.text


def assert_nothing_is_held_twice(held: list[dict[str, Any]]) -> None:
    taken = 0
    for lease in held:
        own = parse_cpuset(lease["exclusive"])
        assert not taken & own, held
        taken |= own


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", WRITES, ids=named)
def test_writes_made_from_the_document_are_answered_as_it_says(agent: Running, operation: Operation, mode: Any) -> None:
    """Fitting and unfitting ones, on leases that are there and on others."""

    @WRITTEN
    @given(operation_of(agent, operation, mode), st.booleans())
    def every(case: Any, there: bool) -> None:
        if there and "id" in case.path_parameters and mode == schemathesis.GenerationMode.POSITIVE:
            body = {"memory": 1, "seconds": 60}
            taken = httpx.post(f"{agent.url}/api/v1/leases", json=body, headers=BEARER, timeout=TIMEOUT)
            assert taken.status_code == 201, taken.text
            case.path_parameters["id"] = taken.json()["id"]
        checked(case)
        assert_nothing_is_held_twice(leases(agent))
        give_all_back(agent)

    every()


def test_a_row_of_writes_leaves_the_ledger_as_it_says(agent: Running) -> None:
    """What was taken and not given back is listed, and nothing else; in the end nothing is held."""
    take = next(one for one in WRITES if one.handler == "take_lease")
    steps = st.lists(
        st.one_of(
            st.tuples(st.just("take"), operation_of(agent, take, schemathesis.GenerationMode.POSITIVE)),
            st.tuples(st.just("give back"), st.integers(0, 9)),
            st.tuples(st.just("extend"), st.integers(0, 9)),
        ),
        min_size=1,
        max_size=8,
    )

    @WRITTEN
    @given(steps)
    def every(row: list[tuple[str, Any]]) -> None:
        held: list[str] = []
        for step, what in row:
            if step == "take":
                # Amounts that may fit, and no process of this machine, whose end would end the lease.
                what.body = {**what.body, "cpus": what.body.get("cpus", 0) % 3, "memory": 1, "devices": {}}
                what.body.pop("pid", None)
                what.body["seconds"] = what.body.get("seconds") or 60
                answer = checked(what)
                if answer.status_code == 201:
                    held.append(answer.json()["id"])
            elif held:
                own = held[what % len(held)]
                path = f"{agent.url}/api/v1/leases/{own}"
                if step == "extend":
                    found = httpx.post(f"{path}/extend", json={"seconds": 90}, headers=BEARER, timeout=TIMEOUT)
                else:
                    found = httpx.delete(path, headers=BEARER, timeout=TIMEOUT)
                    held.remove(own)
                assert found.status_code == 200, found.text
            now = leases(agent)
            assert sorted(one["id"] for one in now) == sorted(held)
            assert_nothing_is_held_twice(now)
        give_all_back(agent)
        assert leases(agent) == []

    every()


def test_times_are_as_in_rfc_3339(agent: Running) -> None:
    """Of leases, holders, decisions and the picture itself."""
    body = {"memory": 1, "seconds": 60, "name": "timed"}
    taken = httpx.post(f"{agent.url}/api/v1/leases", json=body, headers=BEARER, timeout=TIMEOUT)
    found: dict[str, set[str]] = {}

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for name, own in value.items():
                if name in MOMENTS and isinstance(own, str):
                    found.setdefault(name, set()).add(own)
                walk(own)
        elif isinstance(value, list):
            for own in value:
                walk(own)

    def get(path: str) -> Any:
        return httpx.get(f"{agent.url}/api/v1/{path}", headers=BEARER, timeout=TIMEOUT).json()

    end = time.monotonic() + TIMEOUT
    while not any(one["name"] == "timed" for one in get("ledger")["holders"]) and time.monotonic() < end:
        time.sleep(0.1)
    for path in ("leases", "ledger", "decisions", "past", "machine"):
        walk(get(path))
    walk(taken.json())
    give_all_back(agent)
    assert found.keys() >= {"since", "until", "time"}
    assert {text for own in found.values() for text in own if not RFC_3339.fullmatch(text)} == set()
