"""The machine view in a real browser."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.page.conftest import Open, answer_with, listen_alone

pytestmark = pytest.mark.real


@pytest.mark.parametrize(("machine", "cpus", "tiles"), [("laptop", 8, 1), ("gpu8-128cpu", 128, 2), ("gb200", 144, 2)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_whole_machine_is_on_one_screen(
    machine: str, cpus: int, tiles: int, scheme: str, open_page: Open, picture: Callable[..., bytes]
) -> None:
    """At 1280x800 every CPU and every NUMA node with CPUs lies inside the window, and the page does not scroll."""
    page = open_page(machine, color_scheme=scheme)
    page.locator("[data-cpu]").nth(cpus - 1).wait_for()
    picture(page)
    assert page.locator("[data-cpu]").count() == cpus
    assert page.locator("g.node").count() == tiles
    outside = page.evaluate(
        "[...document.querySelectorAll('[data-cpu], .tile')].filter(e => { const b = e.getBoundingClientRect();"
        " return b.left < 0 || b.top < 0 || b.right > innerWidth || b.bottom > innerHeight }).length"
    )
    assert outside == 0
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert page.locator(".label.simulation").is_visible()


def test_512_cpus_and_34_numa_nodes_can_be_read(open_page: Open, picture: Callable[..., bytes], agents: Any) -> None:
    """The numbers of a big sketch are at least 6 px high, and zooming in makes them larger."""
    page = open_page()
    machine = sketch("sketch:2 sockets x 4 numa x 32 cores x 2 threads, 64Gi per numa, plus 26 numa of 16Gi")
    show(page, machine)
    page.locator("[data-cpu='511']").wait_for()
    picture(page)
    assert page.locator("g.node").count() == 34
    height = "document.querySelector('[data-cpu] text').getBoundingClientRect().height"
    assert page.evaluate(height) >= 6
    before = page.evaluate(height)
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(height) > 2 * before
    page.keyboard.press("0")
    assert page.get_by_role("button", name="Zoom out").is_enabled()
    page.get_by_role("button", name="Show all").click()
    assert page.evaluate(height) == pytest.approx(before)


def test_pointing_at_a_cpu_tells_its_holder_and_lights_the_rest(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Who, how much, since when; what is not that holder's is dimmed."""
    page = open_page()
    held = page.locator(".drawing .cpu.held").first
    held.hover()
    card = page.locator(".card")
    card.wait_for()
    picture(page)
    name = card.locator("strong").inner_text()
    assert name.startswith("demo/")
    assert "for " in card.inner_text()
    assert page.locator(".drawing .cpu.dim").count() > 0
    assert page.locator(".holder.lit .name").inner_text() == name


def test_every_holder_has_one_colour_everywhere(open_page: Open) -> None:
    """The swatch in the list, CPUs, memory and devices of a holder share their fill."""
    page = open_page()
    page.locator(".drawing .cpu.held").first.wait_for()
    fills = page.evaluate(
        """() => {
            const fills = {};
            for (const piece of document.querySelectorAll('.piece.held')) {
                const slot = [...piece.classList].find(name => /^slot/.test(name));
                (fills[piece.dataset.holder] ??= new Set()).add(slot);
            }
            return Object.values(fills).map(each => each.size);
        }"""
    )
    assert fills
    assert set(fills) == {1}


def test_the_shared_pool_in_use_is_told_apart_from_cpus_that_are_free(open_page: Open) -> None:
    """By dots, in the key and in words: with somebody in the pool, and without."""
    page = open_page()
    ledger = page.request.get(f"{page.url.split('#')[0]}api/v1/ledger").json()
    alone = [holder for holder in ledger["holders"] if holder["cpus"]]
    sharer = {
        **alone[0],
        "id": "pool",
        "name": "demo/pooled",
        "kind": "shared",
        "cpus": "",
        "memory": [],
        "devices": {},
    }
    for holders, look, other in ((alone, "free", "pool"), ([*alone, sharer], "pool", "free")):
        answer = json.dumps({**ledger, "holders": holders})
        events = f'event: hello\ndata: {{"problem": ""}}\n\nevent: ledger\ndata: {answer}\n\n'
        answer_with(page, "ledger", answer, "application/json")
        answer_with(page, "events", events, "text/event-stream")
        page.reload()
        page.locator(f".drawing .cpu.{look}").first.wait_for()
        assert page.locator(f".drawing .cpu.{other}").count() == 0
        assert page.locator(".drawing .cpu.pool .mark").count() == page.locator(".drawing .cpu.pool").count()
        assert ("shared pool" in page.locator(".legend").inner_text()) == (look == "pool")
    page.locator(".drawing .cpu.pool").first.hover()
    assert "shared pool runs on it: demo/pooled." in page.locator(".card").inner_text()


def test_the_last_hour_of_a_job_is_drawn_as_small_lines(open_page: Open, picture: Callable[..., bytes]) -> None:
    """With its numbers in words; where nothing is known of the past there is nothing of it."""
    page = open_page()
    page.locator(".drawing .cpu.held").first.wait_for()
    assert page.locator(".past").count() == 0
    job = {"name": "train (abc)", "lease": "abc", "cpus": [None, 1.5, 4], "waiting": [None, None, None]}
    job |= {"switches": [None, 100, 20.5], "forced": [None, 1, 0], "memory": {"0": [None, 1 << 30, 3 << 29]}}
    nodes = [{"node": node, "remote": [0, 1, 2], "missed": [0, 0, 7]} for node in (0, 1)]
    past = {"times": ["a", "b", "c"], "jobs": [job], "nodes": nodes}
    answer_with(page, "past", json.dumps(past), "application/json")
    page.reload()
    page.locator(".past").wait_for()
    picture(page)
    assert [line.get_attribute("aria-label") for line in page.locator(".past svg").all()] == [
        "CPUs used: 4 now, 4 at most",
        "context switches / s: 20.5 now, 100 at most",
        "forced ones / s: 0 now, 1 at most",
        "memory on NUMA 0: 1.5 GiB now, 1.5 GiB at most",
        *["remote allocations / s: 2 now, 2 at most", "missed allocations / s: 7 now, 7 at most"] * 2,
    ]
    assert page.locator(".past path").first.get_attribute("d") == "M36 10L72 0"
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_the_tables_say_what_the_picture_shows(open_page: Open, picture: Callable[..., bytes]) -> None:
    """NUMA nodes, holders, devices, distances and links as tables, for those who cannot see the picture."""
    page = open_page()
    page.get_by_role("button", name="Tables").click()
    captions = page.locator(".tables caption").all_inner_texts()
    picture(page)
    assert captions == ["NUMA nodes", "Holders", "Devices", "NUMA distances", "Links"]
    assert page.locator(".tables table").first.locator("tbody tr").count() == 2


def test_it_works_with_the_keyboard_alone(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Tab goes to the NUMA nodes and on to the holders; arrows walk through the CPUs of a node."""
    page = open_page()
    page.locator("g.node").first.wait_for()
    page.locator("g.node").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = page.locator(".room [role=status]").inner_text()
    assert said.startswith("CPU "), said
    picture(page)
    seen = []
    for _ in range(20):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("document.activeElement.getAttribute('class') + ' ' + document.activeElement.textContent")
        )
        if seen[-1].startswith("holder"):
            break
    assert seen[0].startswith("node"), seen
    assert seen[-1].startswith("holder"), seen
    page.keyboard.press("Enter")
    assert page.locator(".holder[aria-pressed=true]").count() == 1
    assert page.locator(".lighting").count() == 1


def test_links_are_drawn_on_demand(open_page: Open, picture: Callable[..., bytes]) -> None:
    """None at first; then those of the device pointed at, with their kind."""
    page = open_page()
    page.locator("[data-device='GPU0']").wait_for()
    assert page.locator(".links").count() == 0
    page.get_by_role("button", name="Links").click()
    page.locator("[data-device='GPU0']").hover()
    picture(page)
    assert sorted(page.locator(".links text").all_text_contents()) == [
        "NODE",
        "NODE",
        "PIX",
        "SYS",
        "SYS",
        "SYS",
        "SYS",
    ]


def test_the_colours_follow_the_switch(open_page: Open) -> None:
    """As the system says, then light, then dark; the choice outlives a reload."""
    page = open_page(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    switch = page.get_by_role("button", name="Colours")
    switch.wait_for()
    bright = page.evaluate(ground)
    switch.click()
    switch.click()
    assert page.evaluate(ground) != bright
    page.reload()
    switch.wait_for()
    assert page.evaluate(ground) != bright


def test_a_phone_shows_it_by_scrolling(open_page: Open, picture: Callable[..., bytes]) -> None:
    """At 390 pixels nothing is cut off at the side."""
    page = open_page(size=(390, 844))
    page.locator("[data-cpu]").nth(127).wait_for()
    picture(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def sketch(text: str) -> dict[str, Any]:
    from numafit.machine.file.write import machine_text
    from numafit.machine.sketch.line import read_sketch

    value: dict[str, Any] = json.loads(machine_text(read_sketch(text.removeprefix("sketch:")), "json"))
    return value


def show(page: Any, machine: dict[str, Any]) -> None:
    """Puts another machine before the page, with a pod on it, as the agent itself draws it in an answer."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "job"},
        "spec": {
            "containers": [{"name": "job", "image": "job", "resources": {"limits": {"cpu": "40", "memory": "20Gi"}}}]
        },
    }
    body = {"machine": machine, "pods": json.dumps(pod), "advice": False, "settings": {"policy": "none"}}
    origin = page.url.split("/#")[0].rstrip("/")
    answer = page.request.post(f"{origin}/api/v1/whatif", data=body)
    assert answer.ok, answer.text()
    ledger = answer.json()["ledger"]
    for holder in ledger["holders"]:
        holder["new"] = False
    shown = {"machine": machine, "name": "sketch", "source": "demo", "catalogue": []}
    page.route("**/api/v1/machine", lambda route: route.fulfill(json=shown))
    page.route("**/api/v1/ledger", lambda route: route.fulfill(json=ledger))
    listen_alone(page)
    page.route("**/api/v1/events", lambda route: route.abort())
    page.reload()


@pytest.mark.parametrize("length", [63, 253])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_name_is_one_line_cut_in_the_middle(open_page: Open, length: int, width: int) -> None:
    """Its end tells it apart and stays in sight; the whole name is there for who points at it or hears the page."""
    page = open_page("laptop", size=(width, 800))
    page.locator(".holder .name").first.wait_for()
    ledger = page.evaluate("fetch('/api/v1/ledger').then((answer) => answer.json())")
    name = "team/" + "n" * (length - 17) + "-7d9f8-x2v4q"
    ledger["holders"][0]["name"] = name
    answer_with(page, "ledger", json.dumps(ledger), "application/json")
    page.route("**/api/v1/events", lambda route: route.abort())
    page.reload()
    shown = page.locator(f'.holder .name[title="{name}"]')
    shown.wait_for()
    short = page.locator(".holder .name:not(.long)").first
    assert abs(shown.bounding_box()["height"] - short.bounding_box()["height"]) < 6
    end = shown.locator(".ends span").last
    assert end.inner_text() == "-7d9f8-x2v4q"
    assert end.bounding_box()["x"] + end.bounding_box()["width"] <= width
    assert name in page.get_by_role("button", name=name).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
