"""Whatever stands in an address, is pasted, or is dropped: never a blank view, and never an exception on the page.

Seeded: the same everywhere. NUMAFIT_ALL=1 takes more of each.
"""

import base64
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.page.conftest import Agent, Open
from tests.page.test_what_if_view import HUGE, SMALL, drop

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
LINKS = 1500 if os.environ.get("NUMAFIT_ALL") else 300
TEXTS = 150 if os.environ.get("NUMAFIT_ALL") else 40
FILES = 60 if os.environ.get("NUMAFIT_ALL") else 20
LOG = (ROOT / "examples/small-node/recreate-loop.log").read_bytes()

WHAT_IF = {"pods": SMALL, "events": "", "machine": "", "empty": True, "kubelet": "", "left": {"settings": {}}}
VALID: list[tuple[str, dict[str, Any]]] = [
    ("machine", {"table": True}),
    ("machine", {"holder": "demo/web-1"}),
    ("story", {"story": {"decision": 12, "pod": "web", "verdict": "rejected"}}),
    ("what-if", {"whatIf": WHAT_IF}),
    ("what-if", {"whatIf": {**WHAT_IF, "machine": "p100-28cpu", "events": "stop\nstart reboot", "right": {}}}),
    ("what-if", {"whatIf": {**WHAT_IF, "left": {"settings": {"policy": "restricted"}, "version": "v1.30"}}}),
]
ODD: list[Any] = [None, True, -1, 0, 1e300, 2**53, "", "x" * 5000, "\0\u202e<b>&", "__proto__", [], [[]], {}, {"a": {}}]
KEYS = ["__proto__", "constructor", "toString", "view", "unread", "pods", "decision", ""]
VIEWS = ["machine", "what-if", "story", "fleet", "", "WHAT-IF", "what-if/x", "%", "main", "%00"]

STANDS = """() => {
    const main = document.querySelector('main#main');
    return Boolean(main) && main.getBoundingClientRect().height > 50 && main.innerText.trim().length > 20
        && !/This view could not be drawn/.test(document.body.innerText);
}"""

# Chromium types thousands of lines one by one when it is asked to fill a field, which takes half a minute.
PASTE = """text => {
    const field = document.querySelector('#pods');
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
}"""


def mutated(random: random.Random, value: Any) -> Any:
    """The same value with something else in one of its places."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        key = random.choice(list(value))
        if random.random() < 0.2:
            return {**value, random.choice(KEYS): random.choice(ODD)}
        return {**value, key: mutated(random, value[key])}
    return random.choice(ODD)


def links(seed: int, count: int) -> list[str]:
    """Valid ones with wrong values, with changed letters, cut short, and noise."""
    own = random.Random(seed)
    found = []
    for _ in range(count):
        view, chosen = own.choice(VALID)
        for _ in range(own.randrange(3)):
            chosen = mutated(own, chosen)
        text = json.dumps(chosen).encode()
        kind = own.randrange(5)
        if kind == 0:
            at = own.randrange(len(text))
            text = text[:at] + own.randbytes(own.randrange(4)) + text[at + 1 :]
        code = base64.urlsafe_b64encode(text).decode().rstrip("=")
        if kind == 1:
            code = code[: own.randrange(len(code) + 1)]
        if kind == 2:
            code = "".join(own.choice("abcXYZ019-_=%/#?&é\u2028\U0001f600 ") for _ in range(own.randrange(60)))
        if own.random() < 0.2:
            view = own.choice(VIEWS)
        found.append(f"#{view}/{code}" if own.random() < 0.95 else f"#{code}")
    return found


def texts(seed: int, count: int) -> list[str]:
    """Manifests, settings, logs and noise, whole and damaged."""
    own = random.Random(seed)
    sources = [
        SMALL,
        HUGE,
        f"{SMALL}---\n{HUGE}",
        json.dumps({"apiVersion": "v1", "kind": "List", "items": []}),
        (ROOT / "examples/gpu-box/pods.yaml").read_text(),
        (ROOT / "examples/gpu-box/kubelet.yaml").read_text(),
        LOG.decode()[:4000],
        "a: &a [*a, *a]\n",
        "{" * 3000,
        "- " * 3000,
        "? !!binary x\n: !<tag:yaml.org,2002:python/object> y\n",
        "key: |\n" + "  line\n" * 2000,
        "\ufeff---\n",
    ]
    odd = [
        "\t",
        "\0",
        "\r",
        ": ",
        "- ",
        "{",
        "}",
        "'",
        '"',
        "&x ",
        "*x ",
        "!!map ",
        "\ud7ff",
        "\U0001f600",
        "9" * 400,
        "\n",
    ]
    found = []
    for _ in range(count):
        text = own.choice(sources)
        for _ in range(own.randrange(4)):
            at = own.randrange(len(text) + 1)
            cut = own.randrange(30) if own.random() < 0.5 else 0
            text = text[:at] + own.choice(odd) + text[at + cut :]
        found.append(text)
    return found


def files(seed: int, count: int) -> list[bytes]:
    """Logs, plain, packed and damaged, and bytes without a meaning."""
    import gzip

    own = random.Random(seed)
    sources = [
        LOG,
        gzip.compress(LOG),
        (ROOT / "examples/p100-box/kubelet.log").read_bytes(),
        SMALL.encode(),
        b"stop\n",
    ]
    found = [b"", b"\x1f\x8b", own.randbytes(5000), b"\xff\xfe" + "I0101".encode("utf-16-le")]
    while len(found) < count:
        data = bytearray(own.choice(sources))
        for _ in range(own.randrange(6)):
            at = own.randrange(len(data) + 1)
            data[at : at + own.randrange(40)] = own.randbytes(own.randrange(40))
        found.append(bytes(data[: own.randrange(len(data) + 1)] if own.random() < 0.3 else data))
    return found


@pytest.fixture
def laptop(agents: Callable[[str], Agent]) -> Agent:
    return agents("laptop")


def test_no_link_makes_the_page_blank(open_page: Open, laptop: Agent) -> None:
    """Each is opened in the page that stands, as by a link in it, and some in a page of their own."""
    page = open_page(agent=laptop)
    page.locator("[data-cpu]").first.wait_for()
    for number, fragment in enumerate(links(16, LINKS)):
        if number % 25 == 0:
            page.goto("about:blank")
            page.goto(f"{laptop.address}/{fragment}")
        else:
            page.evaluate("fragment => { location.hash = fragment }", fragment)
        try:
            page.wait_for_function(STANDS)
        except Exception as error:
            raise AssertionError(f"link {number}: {fragment!r}: {page.locator('body').inner_text()[:500]!r}") from error


def test_no_text_that_is_pasted_makes_the_page_blank(open_page: Open, laptop: Agent) -> None:
    """Each gets a verdict or one sentence, and the next is answered all the same."""
    page = open_page(agent=laptop, fragment="#what-if")
    page.locator("#pods").wait_for()
    for number, text in enumerate(texts(16, TEXTS)):
        with page.expect_response("**/api/v1/whatif") as answered:
            page.evaluate(PASTE, text if text.strip() else SMALL)
        assert answered.value.status < 500, (number, text)
        try:
            page.locator(".answer .verdict, .answer .notice.trouble, .answer .resolved").first.wait_for()
            page.wait_for_function(STANDS)
        except Exception as error:
            raise AssertionError(f"text {number}: {text[:500]!r}") from error
    page.locator("#pods").fill(SMALL)
    page.locator(".verdict strong", has_text="default/small").wait_for()


def test_no_file_that_is_dropped_makes_the_page_blank(open_page: Open, laptop: Agent) -> None:
    """A log is told, a manifest asked, and of anything else one sentence is said."""
    page = open_page(agent=laptop)
    page.locator("[data-cpu]").first.wait_for()
    for number, data in enumerate(files(16, FILES)):
        drop(page, f"file-{number}", data)
        try:
            page.wait_for_function(
                "name => document.querySelector('.log-name')?.textContent.includes(name)"
                " ? !document.querySelector('.log [aria-busy=true]') : document.querySelector('#pods') !== null",
                arg=f"file-{number}",
            )
            page.wait_for_function(STANDS)
        except Exception as error:
            raise AssertionError(f"file {number}: {data[:300]!r}") from error
        page.evaluate("() => { location.hash = '#machine' }")
