"""A real browser before a real agent: Debian's chromium, `numafit serve --demo`, and nothing beyond loopback.

NUMAFIT_SCREENSHOTS=DIR keeps the pictures that the tests take.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.packages import install_packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 30_000
"""Milliseconds until something that should show counts as missing."""

Open = Callable[..., "Page"]


class Agent:
    """One `numafit serve`, of a machine in the catalogue unless told otherwise, which can be stopped and come back at
    the same address."""

    def __init__(self, machine: str = "", *arguments: str) -> None:
        self.arguments = ("--demo", machine, *arguments) if machine else arguments
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "numafit", "serve", *self.arguments, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.port = int(found[1])

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@pytest.fixture(scope="session")
def agents() -> Iterator[Callable[[str], Agent]]:
    """Agents by the name of their machine, started when first asked for."""
    running: dict[str, Agent] = {}

    def agent(machine: str) -> Agent:
        if machine not in running:
            running[machine] = Agent(machine)
        return running[machine]

    yield agent
    for each in running.values():
        each.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    why = "" if shutil.which(CHROMIUM) else install_packages(["chromium"])
    if not shutil.which(CHROMIUM):
        pytest.skip(f"{CHROMIUM} is not there: {why or 'apt-get install chromium'}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: "Browser", agents: Callable[[str], Agent]) -> Iterator[Open]:
    """Opens the page of an agent. At the end nothing may have failed on it, nor asked for anything beyond loopback."""
    contexts: list[Any] = []
    faults: list[str] = []

    def opened(machine: str = "gpu8-128cpu", fragment: str = "", agent: Agent | None = None, **options: Any) -> "Page":
        size = options.pop("size", (1280, 800))
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: "Content Security Policy" in message.text and faults.append(message.text))
        page.on("request", lambda request: _is_near(request.url) or faults.append(f"asked for {request.url}"))
        page.goto(f"{(agent or agents(machine)).address}/{fragment}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _is_near(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or parts.hostname == "127.0.0.1"


@pytest.fixture
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[["Page"], bytes]:
    """Takes a picture of the page, under the name of the test."""
    folder = Path(os.environ.get("NUMAFIT_SCREENSHOTS") or tmp_path)

    def take(page: "Page") -> bytes:
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
        taken: bytes = page.screenshot(path=folder / f"{name}.png")
        return taken

    return take


def listen_alone(page: "Page") -> None:
    """From its next load on the page has a stream of events of its own: a test sees and answers what a page asks for,
    not what the worker that all tabs share asks for."""
    page.add_init_script("delete globalThis.SharedWorker")


def answer_with(page: "Page", operation: str, body: str, media_type: str) -> None:
    """The page gets this instead of what the agent says."""
    listen_alone(page)
    page.route(f"**/api/v1/{operation}", lambda route: route.fulfill(body=body, content_type=media_type))
