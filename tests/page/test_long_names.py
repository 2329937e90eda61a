"""Names as long as Kubernetes allows them, in each view of the page: nothing is pushed out of a narrow window."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.page.conftest import Open, answer_with
from tests.page.test_story_view import LOG
from tests.page.test_what_if_view import HUGE, SMALL, drop

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.real

NAMESPACE = "team-recommender-systems-in-production-of-all-of-europe-west-17"
NAME = "training-" * 26 + "worker-7d9f8-x2v4q"
LONG = f"{NAMESPACE}/{NAME}"
PODS = f"""{SMALL.replace("name: small", f"name: {NAME}, namespace: {NAMESPACE}", 1)}---
{HUGE.replace("name: huge", f"name: {NAME[:-1]}2, namespace: {NAMESPACE}", 1)}"""

WIDTHS = pytest.mark.parametrize("width", [390, 1280])


def assert_nothing_sticks_out(page: "Page", width: int) -> None:
    """Neither a scrollbar of the page nor a name beyond its edge."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = page.locator(".name.long:visible")
    assert names.count() > 0
    for box in filter(None, (name.bounding_box() for name in names.all())):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@WIDTHS
def test_what_if(open_page: Open, picture: Callable[..., bytes], width: int) -> None:
    """The verdict, the choice of pods, what is dragged, why not here, advice, and how many fit."""
    page = open_page(fragment="#what-if", size=(width, 844))
    page.locator("#pods").fill(PODS)
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.locator(".verdict.rejected").wait_for()
    page.locator(".advice li").first.wait_for()
    page.locator(".why-menu").select_option("1")
    page.locator(".why-not .sentence").wait_for()
    page.locator("summary", has_text="How many of these fit?").click()
    picture(page)
    assert_nothing_sticks_out(page, width)
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Two side by side").click()
    page.locator(".two").first.wait_for()
    assert_nothing_sticks_out(page, width)


@WIDTHS
def test_a_run(open_page: Open, picture: Callable[..., bytes], width: int) -> None:
    page = open_page(fragment="#what-if", size=(width, 844))
    page.locator("#pods").fill(PODS.partition("---")[0].replace("1Gi", '1Gi, nvidia.com/gpu: "1"'))
    page.get_by_label("as if it were idle").check()
    page.locator("summary", has_text="Events").click()
    page.get_by_label("Events").fill("stop\nstart\nrestart reboot plugins=late\n")
    page.locator(".run .effect.lost-place").wait_for()
    picture(page)
    assert_nothing_sticks_out(page, width)


@WIDTHS
def test_story_of_a_log(open_page: Open, picture: Callable[..., bytes], width: int) -> None:
    page = open_page(size=(width, 844))
    page.locator("[data-cpu]").first.wait_for()
    drop(page, "kubelet.log", LOG.read_text().replace("store-0", NAME))
    page.locator(".verdict.rejected").wait_for()
    picture(page)
    assert_nothing_sticks_out(page, width)


@WIDTHS
def test_holders_of_a_machine(open_page: Open, picture: Callable[..., bytes], width: int) -> None:
    """And those of What if, who may be taken away."""
    page = open_page(size=(width, 844))
    page.locator(".holder .name").first.wait_for()
    ledger: dict[str, Any] = page.evaluate("fetch('/api/v1/ledger').then((answer) => answer.json())")
    for number, holder in enumerate(ledger["holders"]):
        holder["name"] = f"{LONG[:-3]}{number}"
    answer_with(page, "ledger", json.dumps(ledger), "application/json")
    page.route("**/api/v1/events", lambda route: route.abort())
    page.reload()
    page.locator(".holder .name.long").first.wait_for()
    picture(page)
    assert_nothing_sticks_out(page, width)


@WIDTHS
def test_the_name_of_a_host(open_page: Open, width: int) -> None:
    """One line beside the state of the connection; those who hear the page hear the whole of it."""
    page = open_page("laptop", size=(width, 844))
    name = "a-host-with-a-name-that-nobody-would-type.rack-17.example.org"
    shown = page.request.get(f"{page.url.split('/#')[0].rstrip('/')}/api/v1/machine").json()
    page.route("**/api/v1/machine", lambda route: route.fulfill(json={**shown, "name": name}))
    page.reload()
    heading = page.get_by_role("heading", name=name, level=1)
    heading.wait_for()
    assert heading.bounding_box()["height"] < 36
    assert heading.locator(".ends span").last.inner_text() == ".example.org"
    row = [page.locator(each).bounding_box() for each in (".bar .title", ".connection", ".theme")]
    assert max(box["y"] for box in row) < min(box["y"] + box["height"] for box in row)
    assert_nothing_sticks_out(page, width)
