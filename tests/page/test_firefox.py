"""The main ways through the page in Firefox: another engine than chromium's, driven by `tests.page.firefox`."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.packages import install_packages
from tests.page.conftest import Agent
from tests.page.firefox import FIREFOX, Firefox
from tests.page.test_live import TABS, becomes, streams
from tests.page.test_what_if_view import HUGE, SMALL

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    why = "" if shutil.which(FIREFOX) else install_packages(["firefox-esr"])
    if not shutil.which(FIREFOX):
        pytest.skip(f"{FIREFOX} is not there: {why or 'apt-get install firefox-esr'}")
    found = Firefox(tmp_path_factory.mktemp("firefox") / "profile")
    yield found
    found.close()


@pytest.fixture
def firefox(browser: Firefox) -> Iterator[Firefox]:
    """At the end no script may have failed, and nothing may have been refused by the content security policy."""
    browser.faults()
    yield browser
    assert browser.faults() == []


@pytest.fixture
def home(agents: Callable[[str], Agent]) -> str:
    return agents("gpu8-128cpu").address


def test_the_whole_machine_is_drawn(firefox: Firefox, home: str) -> None:
    """Every CPU and GPU inside the window, and the page is live."""
    firefox.go(home)
    firefox.see(".connection.open")
    firefox.wait("document.querySelectorAll('[data-cpu]').length === 128")
    assert firefox.count("g.node") == 2
    assert firefox.count(".drawing [data-device]") == 8
    outside = firefox.run(
        "return [...document.querySelectorAll('[data-cpu], .tile')].filter(e => { const b = e.getBoundingClientRect();"
        " return b.width < 2 || b.left < 0 || b.top < 0 || b.right > innerWidth || b.bottom > innerHeight }).length"
    )
    assert outside == 0


def test_a_click_keeps_a_holder_lit(firefox: Firefox, home: str) -> None:
    """Its CPUs and no others; the link names it."""
    firefox.go(home)
    firefox.see(".drawing .cpu.held")
    firefox.click(".drawing .cpu.held text")
    firefox.see(".holder[aria-pressed=true]")
    name = firefox.text(".holder[aria-pressed=true] .name")
    assert firefox.count(".drawing .cpu.dim") > 0
    held = firefox.run(
        "return new Set([...document.querySelectorAll('.drawing .cpu.held:not(.dim)')].map(e => e.dataset.holder)).size"
    )
    assert held == 1
    firefox.wait("location.hash.startsWith('#machine/')")
    firefox.ask("WebDriver:Refresh")
    firefox.see(".holder[aria-pressed=true]", name)


def test_a_question_is_answered(firefox: Firefox, home: str) -> None:
    """Admitted with a picture, rejected with reason and advice, a wrong line marked."""
    firefox.go(f"{home}/#what-if")
    firefox.type("#pods", SMALL)
    firefox.click("label.check", "as if it were idle")
    firefox.see(".verdict.admitted")
    firefox.wait("document.querySelectorAll('.drawing .cpu.new').length === 2")
    firefox.type("#pods", HUGE)
    firefox.choose("#left-policy", "single-numa-node")
    firefox.see(".verdict.rejected .reason", "TopologyAffinityError")
    firefox.see(".wanted text", "100 CPUs needed, 63 here")
    firefox.see(".advice li")
    firefox.type("#pods", "kind: Pod\n  broken: [")
    firefox.see(".wrong-line", "2")


def test_form_and_yaml_agree(firefox: Firefox, home: str) -> None:
    """A step changes the text, and the text the form."""
    firefox.go(f"{home}/#what-if")
    firefox.click("button", "Ask with this pod")
    firefox.see(".verdict")
    firefox.click("button[aria-label='More: GPUs']")
    firefox.wait("""document.querySelector("#pods").value.includes('nvidia.com/gpu: "1"')""")
    firefox.type("#pods", SMALL.replace('cpu: "2"', 'cpu: "7"'))
    firefox.wait("document.querySelector('input[aria-label=CPUs]').value === '7'")
    firefox.type("input[aria-label=CPUs]", "5")
    firefox.run("document.activeElement.blur()")
    firefox.wait("""document.querySelector("#pods").value.includes('cpu: "5"')""")


def test_a_link_restores_the_question(firefox: Firefox, home: str) -> None:
    """In another tab, with the machine of the catalogue and both kubelets."""
    firefox.go(f"{home}/#what-if")
    firefox.type("#pods", SMALL)
    firefox.choose("#on", "laptop")
    firefox.click("button", "Two side by side")
    firefox.see("#right-version")
    firefox.choose("#right-version", "v1.24")
    firefox.see(".answer[aria-label='Answer B'] .verdict")
    firefox.wait("location.hash.length > 100 && document.querySelector('#right-version').value === 'v1.24'")
    firefox.wait("atob(location.hash.split('/')[1].replaceAll('-', '+').replaceAll('_', '/')).includes('v1.24')")
    address = firefox.run("return location.href")
    own, other = firefox.tab(), firefox.new_tab()
    firefox.show(other)
    firefox.go(address)
    firefox.see(".answer[aria-label='Answer B'] .verdict")
    assert firefox.value("#pods") == SMALL
    assert firefox.value("#on") == "laptop"
    assert firefox.value("#right-version") == "v1.24"
    firefox.wait("""document.querySelectorAll(".answer[aria-label='Answer B'] [data-cpu]").length === 8""")
    firefox.close_tab(other)
    firefox.show(own)


def test_a_story_is_told_and_stepped_through(firefox: Firefox, home: str) -> None:
    """With the machine as it was."""
    firefox.go(f"{home}/#story")
    firefox.see(".stepper .at", "The machine after this decision")
    firefox.click(".entry")
    firefox.wait("location.hash.length > 10")
    first = firefox.text(".stepper .at")
    firefox.click(".stepper button", "Earlier")
    firefox.wait("document.querySelector('.stepper .at').textContent !== arguments[0]", first)
    assert firefox.count(".told [data-cpu]") == 128


def test_a_link_that_makes_no_sense_is_told(firefox: Firefox, home: str) -> None:
    firefox.go(f"{home}/#what-if/%%%")
    firefox.see(".notice", "This link could not be read as a whole")
    firefox.see("main#main")


def test_dark_colours_follow_the_system(firefox: Firefox, home: str) -> None:
    """Grounds and texts change sides."""

    def brightness(what: str) -> float:
        found = firefox.run(f"return getComputedStyle(document.body).{what}.match(/[0-9.]+/g).slice(0, 3).map(Number)")
        return sum(found) / 3

    firefox.go(home)
    firefox.see(".connection.open")
    try:
        for scheme, is_dark in (("dark", True), ("light", False)):
            firefox.colours(scheme)
            firefox.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
            assert (brightness("backgroundColor") < brightness("color")) == is_dark
    finally:
        firefox.colours("light")


def test_twenty_tabs_work(firefox: Firefox) -> None:
    """One is seen, the others lie behind it: one stream for all, and whichever is shown next is live."""
    agent = Agent("laptop")
    own = firefox.tab()
    others = []
    try:
        firefox.go(agent.address)
        firefox.see(".connection.open")
        for _ in range(TABS - 1):
            others.append(firefox.new_tab())
            firefox.go(agent.address)
            assert firefox.run("return document.hidden") is True
        firefox.see("h1", "laptop")
        assert streams(agent) == 1
        for tab in (others[-1], others[7], own):
            firefox.show(tab)
            firefox.see(".connection.open")
            assert becomes(1, lambda: streams(agent))
    finally:
        for tab in others:
            firefox.close_tab(tab)
        firefox.show(own)
        firefox.go("about:blank")
        agent.stop()


def test_an_agent_that_comes_back_is_shown_again(firefox: Firefox) -> None:
    """Not live while it is away; then everything anew, without a reload."""
    agent = Agent("laptop")
    try:
        firefox.go(agent.address)
        firefox.see(".connection.open")
        agent.stop()
        firefox.see(".notice.lost")
        agent.arguments = ("--demo", "p100-28cpu")
        agent.start()
        firefox.see(".connection.open")
        firefox.wait("document.querySelectorAll('[data-cpu]').length === 28")
        assert firefox.count(".notice") == 0
    finally:
        firefox.go("about:blank")
        agent.stop()


def test_a_token_is_asked_for_once(firefox: Firefox, tmp_path: Path) -> None:
    """As a password; what the page and the worker of its tabs ask for then comes with it."""
    token = "0123456789abcdef"
    (tmp_path / "token").write_text(token)
    agent = Agent("laptop", "--token-file", str(tmp_path / "token"))
    try:
        firefox.go(agent.address.replace("//", f"//me:{token}@"))
        firefox.go(agent.address)
        firefox.see(".connection.open")
        firefox.wait("document.querySelectorAll('[data-cpu]').length === 8")
        with pytest.raises(HTTPError, match="401"):
            streams(agent)
    finally:
        firefox.go("about:blank")
        agent.stop()
