"""The page stays true: after silence, after a time in which nobody looked at it, and whatever an address holds."""

import json
import re
import signal
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE, state_path
from numafit.settings.example import example_kubelet
from tests.page.conftest import Agent, Open
from tests.page.test_what_if_view import SMALL, drop
from tests.service.sources.test_kubelet import MACHINE, node, with_pods, write_state

pytestmark = pytest.mark.real

LOG = Path(__file__).resolve().parents[2] / "examples/small-node/recreate-loop.log"
TABS = 20
HIDE = """() => {
    window.hiddenNow = true;
    Object.defineProperty(document, "hidden", { get: () => window.hiddenNow, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
SHOW = "() => { window.hiddenNow = false; document.dispatchEvent(new Event('visibilitychange')); }"


@pytest.fixture
def agent() -> Iterator[Agent]:
    """One that nobody else looks at."""
    found = Agent("laptop")
    yield found
    if found.process is not None:
        found.process.send_signal(signal.SIGCONT)
    found.stop()


def streams(agent: Agent) -> int:
    """Open event streams, as the agent counts them."""
    with urlopen(f"{agent.address}/metrics", timeout=30) as answer:
        found = re.search(r"^numafit_event_streams (\d+)", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def becomes(expected: int, counted: Callable[[], int]) -> bool:
    """Within half a minute."""
    end = time.monotonic() + 30
    while counted() != expected and time.monotonic() < end:
        time.sleep(0.1)
    return counted() == expected


def link(view: str, chosen: Any) -> str:
    return f"#{view}/{urlsafe_b64encode(json.dumps(chosen).encode()).decode().rstrip('=')}"


def test_an_agent_that_falls_silent_is_not_called_live(open_page: Open, agent: Agent) -> None:
    """Its process is halted: the connection stays open, and nothing comes."""
    page = open_page(agent=agent)
    page.locator(".connection.open").wait_for()
    assert agent.process is not None
    agent.process.send_signal(signal.SIGSTOP)
    page.locator(".notice.lost").wait_for()
    agent.process.send_signal(signal.SIGCONT)
    page.locator(".connection.open").wait_for()
    assert page.locator(".notice.lost").count() == 0


def test_twenty_tabs_have_one_stream_and_all_of_them_work(open_page: Open, agent: Agent) -> None:
    """All are seen, as in windows beside each other: a browser has six connections to one server. The last one is told
    of changes, questions are answered in it, and with the last tab the stream ends."""
    first = open_page(agent=agent)
    first.locator(".connection.open").wait_for()
    tabs = [first]
    for _ in range(TABS - 1):
        tabs.append(first.context.new_page())
        tabs[-1].goto(f"{agent.address}/#story")
        tabs[-1].locator(".connection.open").wait_for()
    assert streams(agent) == 1
    before = tabs[-1].locator(".entry").count()
    tabs[-1].wait_for_function("count => document.querySelectorAll('.entry').length > count", arg=before)
    tabs[-1].locator(".entry").first.wait_for()
    tabs[-1].goto(f"{agent.address}/{link('what-if', {'whatIf': {'pods': SMALL, 'left': {}}})}")
    tabs[-1].locator(".verdict").wait_for()
    agent.stop()
    for tab in tabs:
        tab.locator(".connection.lost").wait_for()
    agent.start()
    for tab in tabs:
        tab.locator(".connection.open").wait_for()
    assert streams(agent) == 1
    for tab in tabs:
        tab.close()
    assert becomes(0, lambda: streams(agent))


def test_a_page_that_nobody_sees_listens_to_nothing(open_page: Open, agent: Agent) -> None:
    """And asks for everything when it is seen again."""
    page = open_page(agent=agent)
    page.locator(".connection.open").wait_for()
    assert streams(agent) == 1
    page.evaluate(HIDE)
    assert becomes(0, lambda: streams(agent))
    with page.expect_request("**/api/v1/ledger"), page.expect_request("**/api/v1/machine"):
        page.evaluate(SHOW)
    page.locator(".connection.open").wait_for()
    assert streams(agent) == 1


def test_without_a_shared_worker_a_page_listens_by_itself(open_page: Open, agent: Agent) -> None:
    """As in browsers that have none."""
    page = open_page(agent=agent)
    page.add_init_script("delete globalThis.SharedWorker")
    page.reload()
    page.locator(".connection.open").wait_for()
    assert page.evaluate("typeof SharedWorker") == "undefined"
    assert becomes(1, lambda: streams(agent))


def test_after_a_restart_everything_is_asked_for_again(open_page: Open) -> None:
    """Another machine may be shown at the same address; a link to a decision of before finds none, not another."""
    first = Agent("laptop")
    try:
        page = open_page(agent=first, fragment="#story")
        page.locator(".entry").first.click()
        page.wait_for_function("() => location.hash.length > 10")
        page.wait_for_timeout(500)
        told = page.evaluate("location.hash")
        first.stop()
        page.locator(".notice.lost").wait_for()
        first.arguments = ("--demo", "p100-28cpu")
        first.start()
        page.locator(".connection.open").wait_for()
        page.get_by_text("there is no decision").wait_for()
        page.locator(".tabs, nav").get_by_text("Machine").click()
        page.locator("[data-cpu='27']").wait_for()
        assert page.locator("[data-cpu]").count() == 28
        assert "p100-28cpu" in page.title()
        again = open_page(agent=first, fragment=told)
        again.get_by_text("there is no decision").wait_for()
    finally:
        first.stop()


def test_errors_of_an_outage_disappear_with_it(open_page: Open, agent: Agent) -> None:
    """A question, a machine of the catalogue, a log: what failed while the agent was away is answered afterwards."""
    page = open_page(agent=agent, fragment="#what-if")
    page.locator("#pods").fill(SMALL)
    page.locator(".verdict").wait_for()
    other = page.context.new_page()
    other.goto(f"{agent.address}/")
    other.locator("[data-cpu]").first.wait_for()
    agent.stop()
    page.locator(".notice.lost").wait_for()
    page.locator("#on").select_option("p100-28cpu")
    page.locator(".answer .notice.trouble").wait_for()
    drop(other, "kubelet.log", LOG.read_text())
    other.locator(".log .notice.trouble").wait_for()
    agent.start()
    page.locator(".answer [data-cpu='27']").wait_for()
    page.locator(".answer .verdict").wait_for()
    other.locator(".log .loop").wait_for()
    for each in (page, other):
        each.locator(".connection.open").wait_for()
        assert each.locator(".notice").all_inner_texts() == []


BUSY = {"title": "too much is asked at once", "status": 503}


def refuse(page: Any, *operations: str) -> None:
    for operation in operations:
        page.route(f"**/api/v1/{operation}", lambda route: route.fulfill(status=503, json=BUSY))


def come_back(page: Any) -> None:
    """As after a gap, with an agent that answers everything again."""
    page.unroute_all()
    page.evaluate(HIDE)
    page.evaluate(SHOW)


@pytest.fixture
def still(tmp_path: Path) -> Iterator[Agent]:
    """An agent on which nothing happens: no change of the ledger is a reason to ask again."""
    source = node(tmp_path)
    write_state(tmp_path, with_pods(source.idle, "one"))
    (tmp_path / "config.yaml").write_text(example_kubelet(MACHINE))
    found = Agent("", "--kubelet-dir", str(tmp_path), "--machine", "gpu8-128cpu")
    yield found
    found.stop()


def test_whatever_was_refused_is_asked_again_after_a_gap(open_page: Open, still: Agent) -> None:
    """Each part of each view by itself."""
    page = open_page(agent=still, fragment="#what-if")
    refuse(page, "advise", "why-not", "fit")
    page.locator("#pods").fill(SMALL)
    page.get_by_label("Why is default/small not on that NUMA node?").select_option("1")
    page.get_by_text("How many of these fit?").click()
    for part in (".advice", ".why-not", ".fitting"):
        page.locator(f"{part} .notice.trouble").wait_for()
    come_back(page)
    page.locator(".why-not .sentence").wait_for()
    page.locator(".fitting strong").wait_for()
    page.locator(".notice.trouble").first.wait_for(state="detached")

    refuse(page, "doctor", "lint", "audit")
    page.get_by_role("link", name="Checks").click()
    page.get_by_label("Files to lint").fill(SMALL)
    page.locator(".check-part .notice.trouble").nth(1).wait_for()
    page.locator(".check-part", has_text="Audit").get_by_text("too much is asked at once").wait_for()
    come_back(page)
    page.locator(".check-part .notice.trouble").first.wait_for(state="detached")
    page.locator(".check-part", has_text="Audit").get_by_text("this agent does not show a host").wait_for()
    assert page.get_by_text("too much is asked at once").count() == 0

    nothing = {"known": False, "why": "Wait.", "seconds": 0, "times": [], "cpus": {}, "nodes": [], "devices": []}
    page.route("**/api/v1/use", lambda route: route.fulfill(json=nothing))
    page.get_by_role("link", name="Machine").click()
    page.get_by_text("Not known. Wait.").wait_for()
    with page.expect_request("**/api/v1/past"):
        come_back(page)
    page.get_by_text("Not known. Only claims are known").wait_for()


def test_advice_of_the_story_is_asked_again_after_a_gap(open_page: Open) -> None:
    page = open_page("dgx-h100", fragment="#story")
    page.get_by_label("Filter by verdict").select_option("rejected")
    page.locator(".entry.rejected").first.click()
    refuse(page, "advise")
    page.get_by_role("button", name="What would help?").click()
    page.locator(".story-advice .notice.trouble").wait_for()
    come_back(page)
    page.locator(".story-advice > .advice, .story-advice > .note").first.wait_for()
    assert page.locator(".story-advice .notice.trouble").count() == 0


@pytest.mark.parametrize("name", [CPU_FILE, MEMORY_FILE, DEVICE_FILE])
def test_a_checkpoint_with_a_wrong_checksum_is_a_notice(
    name: str, open_page: Open, tmp_path: Path, picture: Callable[..., bytes]
) -> None:
    """Never an empty machine: the kubelet that wrote it may still run."""
    source = node(tmp_path)
    write_state(tmp_path, with_pods(source.idle, "one", "two"))
    path = state_path(tmp_path, name)
    path.write_text(re.sub(r'(?i)("checksum":)\d+', r"\g<1>123", path.read_text()))
    (tmp_path / "config.yaml").write_text(example_kubelet(MACHINE))
    agent = Agent("", "--kubelet-dir", str(tmp_path), "--machine", "gpu8-128cpu")
    try:
        page = open_page(agent=agent)
        page.locator(".notice.doubtful", has_text="a kubelet ").wait_for()
        page.locator(".drawing .cpu.held").first.wait_for()
        picture(page)
        assert page.locator(".drawing .cpu.held").count() == 16
        assert page.locator(".drawing [data-device].held").count() == 2
        assert page.locator(".drawing .memory .piece.held").count() == 2
    finally:
        agent.stop()


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
    notice = page.get_by_text("This link could not be read as a whole")
    notice.wait_for()
    page.locator("main#main").wait_for()
    notice.get_by_role("button", name="Close").click()
    notice.wait_for(state="detached")


def test_what_was_wrong_with_an_address_is_not_told_of_the_next(open_page: Open) -> None:
    page = open_page("laptop", "#what-if/%%%")
    notice = page.get_by_text("This link could not be read as a whole")
    notice.wait_for()
    page.locator("#pods").fill(SMALL)
    notice.wait_for(state="detached")
