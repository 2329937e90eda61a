"""The whole machine in a real browser: what is in use, PCIe, links, pictures as files, all of the stage, no colour."""

import json
import re
import socket
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.page.conftest import Open
from tests.page.test_machine_view import show, sketch
from tests.page.test_what_if_view import HUGE

pytestmark = pytest.mark.real

GIB = 1 << 30
SVG = "{http://www.w3.org/2000/svg}"


def use_of(cpus: int, gpus: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every second CPU is half busy."""
    lines = {
        "cpus": [1.0, None, 3.5],
        "memory": [GIB, GIB, 9 * GIB],
        "cached": [GIB, GIB, 40 * GIB],
        "unused": [GIB, GIB, 199 * GIB],
    }
    node = {"node": 0, **lines, "total": 256 * GIB, "used": 9 * GIB, "cache": 40 * GIB, "free": 199 * GIB}
    pages = {"total": 8 * GIB, "free": 6 * GIB, "used": [None, GIB, 2 * GIB]}
    return {
        "known": True,
        "why": "",
        "seconds": 5.0,
        "times": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z", "2026-01-01T00:00:10Z"],
        "cpus": {str(cpu): 0.5 * (cpu % 2) for cpu in range(cpus)},
        "nodes": [{**node, "hugepages": {"2Mi": pages}}],
        "devices": [
            {"device": gpu, "busy": [0.1, 0.2, 0.9], "memory": [0, 0, 60 * GIB], "total": 80 * GIB} for gpu in gpus
        ],
    }


def opened_with_use(open_page: Open, machine: str, use: dict[str, Any], **options: Any) -> Any:
    page = open_page(machine, **options)
    page.route("**/api/v1/use", lambda route: route.fulfill(json=use))
    page.reload()
    page.locator(".drawing .load").first.wait_for()
    return page


def test_what_is_in_use_stands_beside_what_is_claimed(open_page: Open, picture: Callable[..., bytes]) -> None:
    """A bar in each busy CPU, under the memory and in the GPUs; small lines; and a card that tells both."""
    page = opened_with_use(open_page, "dgx-h100", use_of(224, ("GPU0",)))
    picture(page)
    assert page.locator(".drawing .load").count() == 112
    wide = "e => e.getBoundingClientRect().width"
    bar, cell = (page.locator(f"[data-cpu='1'] {part}").evaluate(wide) for part in (".load", ".base"))
    assert bar / cell == pytest.approx(0.5, abs=0.08)
    assert page.locator(".node .use-bar .cache").count() >= 1
    lines = page.locator(".use-lines").inner_text()
    for words in ("CPUs busy", "memory used", "page cache", "40 GiB", "unused", "199 GiB", "2Mi huge pages", "90 %"):
        assert words in lines
    drawn = page.locator(".use-lines tr", has=page.locator("path[d]"))
    assert drawn.count() == 7
    assert "2 GiB of 8 GiB" in drawn.filter(has_text="2Mi huge pages used").inner_text()
    page.locator("[data-cpu='1']").hover()
    assert "50 % busy" in page.locator(".card").inner_text()
    page.locator("[data-device='GPU0']").hover()
    assert "90 % busy, 60 GiB of 80 GiB in use" in page.locator(".card").inner_text()
    page.get_by_role("button", name="Use", exact=True).click()
    assert page.locator(".drawing .load").count() == 0


def test_a_simulation_says_that_nothing_runs_on_it(open_page: Open) -> None:
    """And that free means unclaimed; there is nothing to switch on."""
    page = open_page()
    page.get_by_text("Not known. This is a simulation").wait_for()
    assert page.get_by_text("Free here means: claimed by nobody.").is_visible()
    assert page.get_by_role("button", name="Use", exact=True).count() == 0


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """The agent of this very machine."""
    command = [sys.executable, "-m", "numafit", "serve", "--port", "0", "--state-dir", str(tmp_path / "ledger")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
    assert found
    yield f"http://{found[0]}"
    process.terminate()
    process.wait(20)
    process.stdout.close()


def test_this_host_has_its_name_and_says_that_its_settings_are_an_example(
    host: str, open_page: Open, picture: Callable[..., bytes]
) -> None:
    """What is in use comes by itself, and What if keeps back the CPUs that the title tells of."""
    page = open_page()
    page.goto(host)
    page.get_by_role("heading", name=socket.gethostname(), exact=True).wait_for()
    assert page.title().startswith(socket.gethostname())
    told = page.locator(".kubelet")
    assert told.inner_text().startswith("example settings: kubelet v1.")
    page.locator(".use-lines", has_text="CPUs busy").wait_for()
    picture(page)
    assert page.locator(".use-lines", has_text="page cache").count() == 1
    settings = page.request.get(f"{host}/api/v1/settings").json()
    assert told.inner_text().endswith(f"keeps back CPU {settings['reservedCpus']}")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a"}]}}
    answer = page.request.post(f"{host}/api/v1/whatif", data={"pods": json.dumps(pod), "advice": False}).json()
    assert answer["ledger"]["reservedCpus"] == settings["reservedCpus"]


def test_network_cards_stand_beside_their_gpus_and_eight_gpus_have_one_strip(
    open_page: Open, picture: Callable[..., bytes]
) -> None:
    """One frame for each PCIe switch; no GPU is crossed by a line; the key tells what lines mean."""
    page = open_page("dgx-h100")
    page.locator(".drawing .pcie").nth(7).wait_for()
    assert page.locator(".drawing .pcie").count() == 8
    strip = page.locator(".drawing .fabric")
    assert strip.text_content() == "NVSwitch: each of 8 GPUs reaches each by 18 NVLinks (NV18)"
    assert page.locator(".drawing .links").count() == 0
    page.get_by_role("button", name="Links").click()
    picture(page)
    assert page.locator(".drawing .links path").count() == 1
    assert page.locator(".drawing path.bus").get_attribute("d").count("M") == 8
    key = page.get_by_role("list", name="Key").inner_text()
    assert "NVLink" in key
    assert "PIX: one PCIe switch" in key
    assert "Intel(R) Xeon(R) Platinum 8480C · L3 105 MiB" in str(page.locator(".socket-more").first.text_content())


def test_distances_are_told_in_the_list_on_the_card_and_in_the_tables(open_page: Open) -> None:
    page = open_page("dgx-h100")
    table = page.locator(".distances table")
    assert table.inner_text().split() == ["NUMA", "0", "1", "0", "10", "21", "1", "21", "10"]
    page.locator("[data-node='0'] .node-title").hover()
    assert "Distance 10 to itself, 21 to NUMA 1" in page.locator(".card").inner_text()
    page.get_by_role("button", name="Tables").click()
    assert page.get_by_role("table", name="NUMA distances").is_visible()
    assert page.get_by_role("table", name="Links").locator("tbody tr").count() == 18


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_can_be_saved(open_page: Open, tmp_path: Path, scheme: str) -> None:
    """With its counts and its key. The SVG needs nothing of the page; the PNG is that SVG, drawn twice as large as on
    the screen."""
    page = open_page("gpu8-128cpu", color_scheme=scheme)
    page.locator("[data-cpu='127']").wait_for()
    shown = page.locator("svg.drawing").bounding_box()
    saved = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"gpu8-128cpu.{kind.lower()}"
        download.value.save_as(tmp_path / kind)
        saved[kind] = (tmp_path / kind).read_bytes()
    root = ElementTree.fromstring(saved["SVG"])
    assert root.find(f"{SVG}title").text == "gpu8-128cpu"  # type: ignore[union-attr]
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"0", "127", "GPU7", "aligned", "held", "reserved"} <= texts
    assert not [element for element in root.iter() if element.get("class") or element.get("style")]
    needed = set(re.findall(rb"url\([^#)]*#([a-z]+)", saved["SVG"]))
    defined = {pattern.get("id", "").encode() for pattern in root.iter(f"{SVG}pattern")}
    assert needed
    assert needed <= defined
    assert saved["PNG"].startswith(b"\x89PNG")
    size = [int.from_bytes(saved["PNG"][at : at + 4]) for at in (16, 20)]
    assert size == [round(2 * float(root.get(side, ""))) for side in ("width", "height")]
    assert size[0] == round(2 * shown["width"])
    assert size[1] > 2 * shown["height"]


def test_a_refusal_can_be_saved_and_sent(open_page: Open, tmp_path: Path) -> None:
    """Above the picture of an answer stands who is refused and why, and below it the key; in Story, too."""
    page = open_page(fragment="#what-if")
    page.locator("#pods").fill(HUGE)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option("single-numa-node")
    page.locator(".verdict.rejected").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    assert download.value.suggested_filename == "what-if-default-huge.svg"
    download.value.save_as(tmp_path / "svg")
    texts = [
        element.text or "" for element in ElementTree.fromstring((tmp_path / "svg").read_bytes()).iter(f"{SVG}text")
    ]
    assert " ".join(texts).startswith("default/huge: rejected (TopologyAffinityError). ")
    assert "✕ 100 CPUs needed, 63 here" in texts
    assert "wanted, and too little here" in texts
    page.get_by_role("link", name="Story").click()
    page.locator(".entry").nth(1).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename.startswith("decision-")
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


SKETCHES = {
    "4": "2 sockets x 2 numa x 24 cores x 2 threads, 64Gi per numa",
    "34": "2 sockets x 17 numa x 4 cores x 2 threads, 16Gi per numa",
}


@pytest.mark.parametrize("machine", ["gb200", "dgx-a100", "epyc-l3-numa", "4", "34"])
def test_a_large_screen_is_filled(open_page: Open, picture: Callable[..., bytes], machine: str) -> None:
    """At 2560x1440 the picture takes nine tenths of the stage in both directions, and no text is below 11 px."""
    page = open_page("laptop" if machine in SKETCHES else machine, size=(2560, 1440))
    if machine in SKETCHES:
        show(page, sketch(SKETCHES[machine]))
        page.get_by_role("heading", name="sketch").wait_for()
    page.locator(".drawing .node").nth(1).wait_for()
    picture(page)
    room, drawn = (page.locator(which).bounding_box() for which in (".room", "svg.drawing > g"))
    assert drawn["width"] > 0.9 * room["width"]
    assert drawn["height"] > 0.9 * room["height"]
    heights = page.evaluate(
        "[...document.querySelectorAll('.drawing text')].map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 11


def test_holders_are_told_apart_without_colour(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Without colour, two holders of about the same grey have other lines; list and picture have the same."""
    page = open_page("gpu8-128cpu")
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"})
    # Pods come and go there; what is left over from one that has ended is a dashed outline, whose ever it was.
    looks = page.wait_for_function(
        """() => {
            const looks = {};
            for (const piece of document.querySelectorAll('.drawing .piece.held:not(.gone)')) {
                const fill = getComputedStyle(piece.querySelector('.base')).fill.match(/\\d+/g).map(Number);
                const grey = Math.round(0.2126 * fill[0] + 0.7152 * fill[1] + 0.0722 * fill[2]);
                const marks = [...piece.querySelectorAll('.mark')].map(mark => mark.getAttribute('fill')).join();
                looks[piece.dataset.holder] = [grey, marks];
            }
            return Object.keys(looks).length > 3 && Object.values(looks);
        }"""
    ).json_value()
    picture(page)
    for number, (grey, marks) in enumerate(looks):
        for other, same in looks[number + 1 :]:
            assert marks != same or abs(grey - other) > 15
    textured = page.locator(".drawing .cpu.held .mark").count()
    assert textured > 0
    assert page.locator(".holder .swatch[class*=texture]").count() > 0


def test_the_memory_of_a_held_gpu_is_not_called_free(open_page: Open) -> None:
    """A GPU with memory of its own takes it along; that of a free one is free."""
    page = open_page("gb200")
    page.locator(".device.held").first.wait_for()
    # Pods come and go there: both are counted at one moment.
    page.wait_for_function(
        """() => {
            const rows = [...document.querySelectorAll('.free-table tbody tr')];
            const held = rows.filter(row => row.textContent.includes('held with GPU'));
            return held.length > 0 && held.length === document.querySelectorAll('.device.held').length;
        }"""
    )
    bar = page.locator(".device.held .owned").first
    bar.hover()
    text = page.locator(".card").inner_text()
    assert "held with it" in text
    # Of one that has ended the card says that the kubelet "frees" it.
    assert re.search(r"\bfree\b", text) is None


def test_memory_over_two_nodes_is_drawn_as_the_ledger_has_it(open_page: Open) -> None:
    """90 GiB where one node has 64: the lowest is filled, and the rest lies on the next."""
    page = open_page("laptop")
    machine = sketch("2 sockets x 1 numa x 8 cores, 64Gi per numa")
    limits = {"cpu": "2", "memory": "90Gi"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "wide"},
        "spec": {"containers": [{"name": "wide", "image": "wide", "resources": {"limits": limits}}]},
    }
    origin = page.url.split("/#")[0].rstrip("/")
    body = {"machine": machine, "pods": json.dumps(pod), "advice": False, "settings": {"policy": "best-effort"}}
    ledger = page.request.post(f"{origin}/api/v1/whatif", data=body).json()["ledger"]
    parts = ledger["holders"][0]["memoryParts"]
    first, second = sizes = [own["bytes"] for own in parts]
    assert ([own["node"] for own in parts], sum(sizes)) == ([0, 1], 90 * GIB)
    assert first > second
    assert [node["memory"]["held"] for node in ledger["nodes"]] == sizes
    show(page, machine)
    page.unroute("**/api/v1/ledger")
    page.route("**/api/v1/ledger", lambda route: route.fulfill(json=ledger))
    page.reload()
    page.locator(".drawing .piece.held").nth(1).wait_for()
    widths = page.evaluate(
        "[...document.querySelectorAll('.drawing .piece.held .base')].map(e => e.getBoundingClientRect().width)"
    )
    assert widths[0] / widths[1] == pytest.approx(first / second, rel=0.02)


def test_on_a_phone_the_answer_comes_before_the_question(open_page: Open, picture: Callable[..., bytes]) -> None:
    page = open_page("gpu8-128cpu", "#what-if", size=(390, 844))
    page.get_by_role("button", name="Two CPUs of its own").click()
    page.locator(".verdict").first.wait_for()
    picture(page)
    answer, question = (page.locator(which).bounding_box() for which in (".answers", ".question"))
    assert answer["y"] < question["y"]
    assert page.locator(".verdict").first.bounding_box()["y"] < 400


def test_on_a_phone_the_story_comes_before_the_list(open_page: Open, picture: Callable[..., bytes]) -> None:
    """Who chooses below is brought back to what is told."""
    page = open_page("gpu8-128cpu", "#story", size=(390, 844))
    page.locator(".verdict").wait_for()
    picture(page)
    assert page.locator(".verdict").bounding_box()["y"] < 400
    told, decisions = (page.locator(which).bounding_box() for which in (".told", ".list"))
    assert told["y"] < decisions["y"]
    page.locator(".entry").nth(3).click()
    page.wait_for_function("() => document.querySelector('.told').getBoundingClientRect().top >= 0")


def test_what_scrolls_shows_that_it_does(open_page: Open, picture: Callable[..., bytes]) -> None:
    """A shadow lies at the lower edge of a list that goes on, and is gone at its end."""
    page = open_page("epyc-l3-numa", size=(1280, 500))
    table = page.locator(".free-table").first
    table.locator("tbody tr").nth(15).wait_for()
    picture(page)
    assert table.evaluate("e => e.scrollHeight > e.clientHeight")

    def darkness() -> float:
        """Of the lowest pixels, where no text stands."""
        box = table.bounding_box()
        clip = {"x": box["x"] + 0.47 * box["width"], "y": box["y"] + box["height"] - 3, "width": 6, "height": 2}
        shot = page.screenshot(clip=clip)
        return page.evaluate(
            """async (bytes) => {
                const image = new Image();
                image.src = 'data:image/png;base64,' + bytes;
                await image.decode();
                const canvas = document.createElement('canvas');
                const context = canvas.getContext('2d');
                context.drawImage(image, 0, 0);
                return 255 - context.getImageData(2, 1, 1, 1).data[0];
            }""",
            b64encode(shot).decode(),
        )

    before = darkness()
    table.evaluate("e => e.scrollTo(0, e.scrollHeight)")
    page.wait_for_timeout(200)
    assert darkness() < before
