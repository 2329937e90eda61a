"""The pages of `numafit fleet simulate --html` and of `what-if --html` in a real browser: no other tells how wide they
come out."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from numafit.fleet.what_if.gain import ChangeOutcome
from numafit.show.html.fleet_run import fleet_run_page
from numafit.show.html.fleet_what_if import fleet_size_page, what_if_page
from numafit.show.records.fleet_what_if import RefusedChange
from tests.fleet.what_if.test_gain import changed
from tests.show.html.test_fleet_run import moment, run
from tests.show.text.fleet.test_what_if import LOOSE, answer, size

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real


def _what_if() -> str:
    """With as many curves as there are, and a name that is longer than a narrow window."""
    moments = (moment(0.0, 2), moment(5.0, 1, 1 << 36), moment(9.0, 3))
    long: ChangeOutcome = changed("topology-option=prefer-closest-numa-nodes", overdue=7, moments=moments)
    more = changed("nodes=+10%", overdue=5, moments=moments[:2])
    return what_if_page(answer(LOOSE, more, long, refused=(RefusedChange("numa=16", "too many"),)))


PAGES = {
    "simulate": lambda: fleet_run_page(run("restricted", "single-numa-node/pod")),
    "what-if": _what_if,
    "nodes-for": lambda: fleet_size_page(size(5, (2, False), (4, False), (5, True), (6, True), (8, True))),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_it_is_as_wide_as_the_screen_and_asks_for_nothing(
    browser: "Browser",
    picture: Callable[["Page"], bytes],
    tmp_path: Path,
    name: str,
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    file = tmp_path / "fleet.html"
    file.write_text(PAGES[name]())
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    picture(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert asked == [file.as_uri()]
    box = page.locator("figure svg").first.bounding_box()
    assert box is not None
    assert box["width"] > 300
    drawn = page.locator("figure svg")
    assert page.get_by_role("figure").get_by_role("img", name=": ").count() == drawn.count() > 0
    context.close()
