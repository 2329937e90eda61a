"""Pictures of the page to look at: eight machines, three widths, light and dark, and the other views of one of them.

    python -m tests.page.shots DIR [NAMES...]

Each is taken of a real agent in Debian's chromium. NAMES are machines of the catalogue; without any, the eight below.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.page.conftest import CHROMIUM, QUIET, Agent

if TYPE_CHECKING:
    from playwright.sync_api import Page

MACHINES = ("laptop", "gpu8-128cpu", "dgx-a100", "dgx-h100", "gb200", "epyc-l3-numa", "xeon-snc4", "hybrid-desktop")
ALL_VIEWS = "gpu8-128cpu"
SIZES = ((390, 844), (1280, 800), (2560, 1440))
SCHEMES = ("light", "dark")
POD = """apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
  - name: main
    image: example
    resources:
      limits:
        cpu: "{cpus}"
        memory: 64Gi
        nvidia.com/gpu: "{gpus}"
"""


def machine(page: "Page") -> None:
    page.locator(".drawing .cpu.held").first.wait_for()


def refused(page: "Page") -> None:
    """More GPUs than a NUMA node has, for a policy that takes one node only."""
    _ask(page, POD.format(cpus=20, gpus=5), "single-numa-node")
    page.locator(".advice li").first.wait_for()


def split(page: "Page") -> None:
    """It would fit one NUMA node, but on each of them lies another pod."""
    pods = [POD.format(cpus=40, gpus=0).replace("train", name) for name in ("first", "second", "third")]
    _ask(page, "---\n".join(pods), "best-effort")
    page.locator(".pod-tabs button").nth(2).click()
    page.locator(".verdict.apart").wait_for()


def story(page: "Page") -> None:
    page.locator(".entry").nth(1).click()
    page.locator(".told .drawing .cpu").first.wait_for()


def checks(page: "Page") -> None:
    page.get_by_label("Files to lint").fill(POD.format(cpus=20, gpus=5).replace("limits", "limit"))
    page.locator(".check-part", has_text="Lint").locator(".findings li").first.wait_for()


VIEWS: tuple[tuple[str, str, Callable[["Page"], None]], ...] = (
    ("refused", "#what-if", refused),
    ("split", "#what-if", split),
    ("story", "#story", story),
    ("checks", "#checks", checks),
)


def _ask(page: "Page", pods: str, policy: str) -> None:
    page.locator("#pods").fill(pods)
    page.get_by_label("as if it were idle").check()
    page.get_by_label("Topology policy").select_option(policy)


def main(folder: Path, machines: tuple[str, ...]) -> None:
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        for name in machines:
            agent = Agent(name)
            views = (("", "", machine), *(VIEWS if name == ALL_VIEWS else ()))
            try:
                for width, height in SIZES:
                    for scheme in SCHEMES:
                        for view, fragment, shown in views:
                            size = {"width": width, "height": height}
                            page = browser.new_page(viewport=size, color_scheme=scheme)
                            page.goto(f"{agent.address}/{fragment}")
                            shown(page)
                            page.wait_for_timeout(300)
                            file = "-".join([name, *([view] if view else []), str(width), scheme])
                            page.screenshot(path=folder / f"{file}.png", full_page=bool(view))
                            page.close()
            finally:
                agent.stop()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]) or MACHINES)
