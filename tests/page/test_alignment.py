"""How holders lie, in a real browser: counts, shapes, words, and lines between what lies apart."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.page.conftest import Open, listen_alone

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.real

MARKS = "[...document.querySelectorAll('{} .lying .shape')].map(each => each.getAttribute('d'))"


def pod(name: str, cpu: str, gpus: int = 0) -> dict[str, Any]:
    limits = {"cpu": cpu, "memory": "10Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    main = {"name": "main", "image": "example", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [main]}}


CROWD = {
    "apiVersion": "v1",
    "kind": "List",
    # The fourth takes all CPUs left on node 0 and more; the fifth finds its GPUs there, and CPUs on node 1 only.
    "items": [
        pod("near", "2", 2),
        pod("other", "2", 4),
        pod("big", "40"),
        pod("broad", "63"),
        pod("far", "4", 2),
        pod("pool", "500m"),
    ],
}


def crowded(page: "Page") -> dict[str, Any]:
    """Shows the machine with holders that lie in each way; the verdicts are the agent's own."""
    origin = page.url.split("/#")[0].rstrip("/")
    body = {"pods": json.dumps(CROWD), "advice": False, "empty": True, "settings": {"policy": "best-effort"}}
    answer = page.request.post(f"{origin}/api/v1/whatif", data=body)
    assert answer.ok, answer.text()
    ledger: dict[str, Any] = answer.json()["ledger"]
    for holder in ledger["holders"]:
        holder["new"] = False
    page.route("**/api/v1/ledger", lambda route: route.fulfill(json=ledger))
    listen_alone(page)
    page.route("**/api/v1/events", lambda route: route.abort())
    page.reload()
    page.locator(".tally").wait_for()
    return ledger


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(390, 844), (1280, 800), (2560, 1440)])
def test_how_many_lie_how_stands_on_top(
    scheme: str, size: tuple[int, int], open_page: Open, picture: Callable[..., bytes]
) -> None:
    """Above the picture, in words and shapes that differ without colour, and nothing is cut off at the side."""
    page = open_page(size=size, color_scheme=scheme)
    ledger = crowded(page)
    picture(page)
    words = [f"{count} {word}" for word, count in ledger["alignment"].items()]
    assert page.locator(".tally li").all_inner_texts() == words
    assert words == ["3 aligned", "1 split", "1 remote GPU", "1 shared"]
    assert len(set(page.evaluate(MARKS.format(".tally")))) == len(words)
    tally, drawing = page.locator(".tally").bounding_box(), page.locator(".drawing").bounding_box()
    assert tally is not None
    assert drawing is not None
    assert tally["y"] < drawing["y"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_each_holder_says_how_it_lies_and_why_if_apart(open_page: Open) -> None:
    """In the list, on the card beside the pointer, in what is read aloud, and in the tables."""
    page = open_page()
    ledger = crowded(page)
    told = {each["name"]: each["alignment"] for each in ledger["holders"]}
    for holder in page.locator(".holder").all():
        found = told[holder.locator(".name").inner_text()]
        lies = holder.locator(".lies").inner_text()
        assert lies.split("\n")[0].strip() == found["verdict"]
        assert (found["why"] in lies) == (found["verdict"] not in ("aligned", "shared"))
    apart = next(each for each in ledger["holders"] if each["alignment"]["verdict"] == "split")
    page.locator(f"[data-cpu='{apart['cpus'].replace('-', ',').split(',')[0]}']").hover()
    assert f"split: {apart['alignment']['why']}" in page.locator(".card").inner_text()
    page.get_by_role("button", name="Tables").click()
    row = page.locator(".tables tr", has=page.get_by_role("rowheader", name=apart["name"]))
    assert f"split: {apart['alignment']['why']}" in row.inner_text()
    assert page.locator(".tables .tally").is_visible()


def test_a_line_joins_the_parts_of_who_lies_apart(open_page: Open, picture: Callable[..., bytes]) -> None:
    """One for each that is split or has something remote, from one NUMA node to the other; the others have none."""
    page = open_page()
    ledger = crowded(page)
    apart = [each["id"] for each in ledger["holders"] if each["alignment"]["verdict"] not in ("aligned", "shared")]
    assert len(apart) == 2
    assert [join.get_attribute("data-join") for join in page.locator(".join").all()] == apart
    for join in page.locator(".join").all():
        ends = [circle.bounding_box() for circle in join.locator("circle").all()]
        tiles = page.locator(".tile").all()
        over = {
            number
            for end in ends
            for number, tile in enumerate(tiles)
            if end and (box := tile.bounding_box()) and box["x"] <= end["x"] <= box["x"] + box["width"]
        }
        assert over == {0, 1}
    page.locator(".holder").nth(1).hover()
    picture(page)
    assert page.locator(".join.dim").count() >= 1


def test_admitted_but_apart_is_not_plain_green(open_page: Open, picture: Callable[..., bytes]) -> None:
    """The heading of an answer has another colour, another shape and other words than that of an aligned pod."""
    page = open_page(fragment="#what-if")
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("best-effort")
    page.locator("#pods").fill(json.dumps(CROWD))
    looks = {}
    for name, verdict in (("default/near", "admitted, aligned"), ("default/broad", "admitted, split")):
        page.locator(".pod-tabs button", has_text=name).click()
        page.locator(".verdict .word", has_text=verdict).wait_for()
        looks[verdict] = (
            page.evaluate("getComputedStyle(document.querySelector('.verdict')).backgroundColor"),
            page.evaluate(MARKS.format(".verdict"))[0],
        )
    picture(page)
    first, second = looks.values()
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_try_this_pod_asks_for_another_like_it(open_page: Open, picture: Callable[..., bytes]) -> None:
    """From the holder that was chosen, as a manifest that can be changed."""
    page = open_page()
    crowded(page)
    page.locator(".holder", has_text="default/far").click()
    page.get_by_role("button", name="Try this pod").click()
    page.locator(".verdict").wait_for()
    picture(page)
    text = page.locator("#pods").input_value()
    assert "name: far-again" in text
    assert 'cpu: "4"' in text
    assert 'nvidia.com/gpu: "2"' in text
    assert page.get_by_label("CPUs", exact=True).input_value() == "4"
