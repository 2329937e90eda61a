"""The page stays true: after silence, after a time in which nobody looked at it, and whatever an address holds."""

import json
import signal
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from tests.page.conftest import Agent, Open

pytestmark = pytest.mark.real


def link(view: str, chosen: Any) -> str:
    return f"#{view}/{urlsafe_b64encode(json.dumps(chosen).encode()).decode().rstrip('=')}"


def test_an_agent_that_falls_silent_is_not_called_live(open_page: Open) -> None:
    """Its process is halted: the connection stays open, and nothing comes."""
    agent = Agent("laptop")
    try:
        page = open_page(agent=agent)
        page.locator(".connection.open").wait_for()
        assert agent.process is not None
        agent.process.send_signal(signal.SIGSTOP)
        page.locator(".notice.lost").wait_for()
        agent.process.send_signal(signal.SIGCONT)
        page.locator(".connection.open").wait_for()
        assert page.locator(".notice.lost").count() == 0
    finally:
        if agent.process is not None:
            agent.process.send_signal(signal.SIGCONT)
        agent.stop()


def test_a_page_that_nobody_sees_listens_to_nothing(open_page: Open) -> None:
    """A browser has six connections to one server, for all its tabs."""
    page = open_page("laptop")
    page.locator(".connection.open").wait_for()
    page.evaluate(
        """() => {
            window.hiddenNow = true;
            Object.defineProperty(document, "hidden", { get: () => window.hiddenNow });
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    with page.expect_request("**/api/v1/ledger"), page.expect_request("**/api/v1/events"):
        page.evaluate("() => { window.hiddenNow = false; document.dispatchEvent(new Event('visibilitychange')); }")
    page.locator(".connection.open").wait_for()


@pytest.mark.parametrize(
    "fragment",
    [
        "#nonsense",
        "#what-if/%%%",
        link("what-if", {"whatIf": {"left": 5, "pods": ["x"]}}),
        link("story", {"story": {"decision": "x", "pod": 3}}),
        link("machine", {"holder": {}, "table": 1}),
    ],
)
def test_an_address_that_makes_no_sense_is_told(fragment: str, open_page: Open) -> None:
    page = open_page("laptop", fragment)
    page.get_by_text("This link could not be read as a whole").wait_for()
    page.locator("main#main").wait_for()
