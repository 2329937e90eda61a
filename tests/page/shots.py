"""Pictures of the page to look at: eight machines, three widths, light and dark.

    python -m tests.page.shots DIR [NAMES...]

Each is taken of a real agent in Debian's chromium. NAMES are machines of the catalogue; without any, the eight below.
"""

import sys
from pathlib import Path

from tests.page.conftest import CHROMIUM, QUIET, Agent

MACHINES = ("laptop", "gpu8-128cpu", "dgx-a100", "dgx-h100", "gb200", "epyc-l3-numa", "xeon-snc4", "hybrid-desktop")
SIZES = ((390, 844), (1280, 800), (2560, 1440))
SCHEMES = ("light", "dark")


def main(folder: Path, machines: tuple[str, ...]) -> None:
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        for machine in machines:
            agent = Agent(machine)
            try:
                for width, height in SIZES:
                    for scheme in SCHEMES:
                        size = {"width": width, "height": height}
                        page = browser.new_page(viewport=size, color_scheme=scheme)
                        page.goto(agent.address)
                        page.locator(".drawing .cpu.held").first.wait_for()
                        page.wait_for_timeout(300)
                        page.screenshot(path=folder / f"{machine}-{width}-{scheme}.png")
                        page.close()
            finally:
                agent.stop()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]) or MACHINES)
