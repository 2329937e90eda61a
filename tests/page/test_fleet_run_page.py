"""The page of `numafit fleet simulate --html` in a real browser: no other tells how wide it comes out."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from numafit.show.html.fleet_run import fleet_run_page
from tests.show.html.test_fleet_run import run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_is_as_wide_as_the_screen_and_asks_for_nothing(
    browser: "Browser", picture: Callable[["Page"], bytes], tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    file = tmp_path / "fleet.html"
    file.write_text(fleet_run_page(run("restricted", "single-numa-node/pod")))
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
    context.close()
