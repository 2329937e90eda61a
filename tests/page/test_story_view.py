"""The story view in a real browser: history, logs, and what comes live."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.page.conftest import Agent, Open, answer_with
from tests.page.test_what_if_view import drop

pytestmark = pytest.mark.real

LOG = Path(__file__).resolve().parents[2] / "examples/small-node/recreate-loop.log"


def test_stepping_back_shows_the_machine_as_it_was(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Earlier and later walk through the decisions; the picture is the one after that decision."""
    page = open_page(fragment="#story")
    at = page.locator(".stepper .at")
    at.wait_for()
    page.locator(".entry").nth(2).click()
    chosen = page.locator(".entry[aria-current] time").get_attribute("datetime")
    page.locator(f'.stepper time[datetime="{chosen}"]').wait_for()
    picture(page)
    page.get_by_role("button", name="← Earlier").click()
    page.wait_for_function("text => document.querySelector('.stepper time').dateTime !== text", arg=chosen)
    assert page.locator(".stepper time").get_attribute("datetime") < chosen
    page.locator(".told [data-cpu]").first.wait_for()
    assert page.locator(".entry[aria-current]").count() == 1
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "the list scrolls, not the page"


def test_decisions_are_filtered_by_pod_and_verdict(open_page: Open) -> None:
    """By the agent, so that the whole history is searched."""
    page = open_page(fragment="#story")
    page.locator(".entry").first.wait_for()
    page.get_by_label("Filter by pod").fill("web")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.entry .name')].every(e => e.textContent.includes('web'))"
    )
    page.get_by_label("Filter by pod").fill("no such pod")
    page.get_by_text("No decision matches: clear the filter.").wait_for()


def test_a_dropped_log_becomes_a_story(open_page: Open, picture: Callable[..., bytes]) -> None:
    """With its loop marked, and the ways out of it."""
    page = open_page()
    page.locator("[data-cpu]").first.wait_for()
    drop(page, "kubelet.log", LOG.read_text())
    page.locator(".loop").wait_for()
    picture(page)
    assert page.locator(".entry .label.warn").inner_text() == "loop"
    assert page.locator(".verdict .reason").inner_text() == "TopologyAffinityError"
    page.get_by_role("button", name="Close the log").click()
    page.locator(".stepper").wait_for()


def test_an_outcome_that_a_log_does_not_tell_is_not_called_rejected(open_page: Open) -> None:
    """The kubelet 1.20 of this log says nothing about how its first pod ended."""
    page = open_page()
    page.locator("g.node").first.wait_for()
    drop(page, "kubelet.log", (LOG.parents[2] / "examples/p100-box/kubelet.log").read_text())
    page.locator(".entry.unknown").wait_for()
    assert page.locator(".entry.rejected").count() == 0
    assert "outcome not known" in page.locator(".verdict.unknown").inner_text()
    assert (
        "2 admitted · 0 rejected · 1 not known · kubelet 1.20 best-effort"
        in page.locator(".log .note").first.inner_text()
    )
    page.get_by_label("Filter by verdict").select_option("rejected")
    page.get_by_text("No decision matches").wait_for()
    page.get_by_label("Filter by verdict").select_option("unknown")
    assert page.locator(".entry").count() == 1


def test_a_file_that_is_no_log_gets_one_sentence(open_page: Open) -> None:
    """And no half-drawn story."""
    page = open_page()
    page.locator("[data-cpu]").first.wait_for()
    drop(page, "poem.txt", "roses are red\n")
    page.locator(".story.log .empty, .story.log .trouble").first.wait_for()
    assert page.locator(".entry").count() == 0


def test_a_lost_connection_shows_and_recovers(open_page: Open, picture: Callable[..., bytes]) -> None:
    """The last picture stays; when the agent is back, so is the page, without a reload."""
    agent = Agent("gpu8-128cpu")
    try:
        page = open_page(agent=agent)
        page.locator(".connection.open").wait_for()
        agent.stop()
        page.locator(".notice.lost").wait_for()
        picture(page)
        assert page.locator("[data-cpu]").count() == 128
        agent.start()
        page.locator(".connection.open").wait_for()
        assert page.locator(".notice.lost").count() == 0
    finally:
        agent.stop()


def test_changes_arrive_by_themselves(open_page: Open) -> None:
    """The demo decides something every few seconds; the newest decision appears at the top."""
    page = open_page(fragment="#story")
    first = page.locator(".entry time").first
    first.wait_for()
    before = page.locator(".entry").count()
    page.wait_for_function("count => document.querySelectorAll('.entry').length > count", arg=before, timeout=30_000)


def test_a_node_that_cannot_be_read_is_said_on_the_page(open_page: Open, picture: Callable[..., bytes]) -> None:
    """The last picture stays, and does not look up to date."""
    page = open_page()
    said = "/var/lib/kubelet: the state cannot be read: unexpected end of JSON input"
    body = f"event: hello\ndata: {json.dumps({'revision': 1, 'problem': said})}\n\n"
    answer_with(page, "events", body, "text/event-stream")
    page.reload()
    page.locator(".notice.doubtful", has_text=said).wait_for()
    picture(page)
    assert page.locator("[data-cpu]").count() == 128


def test_a_decision_says_what_it_stands_on(open_page: Open, picture: Callable[..., bytes]) -> None:
    """The cores of this machine are a guess: pods to which that matters are marked, and the notes tell why."""
    page = open_page(fragment="#story")
    page.locator(".entry .label.guess").first.wait_for()
    page.locator(".entry", has=page.locator(".label.guess")).first.click()
    page.locator(".verdict .label.guess").wait_for()
    page.locator(".told .notes").scroll_into_view_if_needed()
    picture(page)
    name = page.locator(".verdict strong").inner_text()
    assert f"{name}: what it gets depends on a guess about the cores" in page.locator(".told .notes").inner_text()


def test_a_log_says_what_it_does_not_tell(open_page: Open) -> None:
    """Below what it tells, or in its place."""
    page = open_page()
    page.locator("[data-cpu]").first.wait_for()
    drop(page, "kubelet.log", 'I0101 10:00:00.000000    1 server.go:1] "Started"\n')
    assert "no admission stands in it" in page.locator(".log .notes").inner_text()
    assert page.locator(".log .empty").inner_text() == "No decision stands in this log."
