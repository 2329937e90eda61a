"""Doctor, lint and audit in a real browser."""

from collections.abc import Callable

import pytest

from tests.page.conftest import Open
from tests.service.agents import ROOT

pytestmark = pytest.mark.real

WRONG = (ROOT / "examples/guides/kubelet-wrong.yaml").read_text()


def test_the_doctor_examines_the_node_and_any_configuration(open_page: Open, picture: Callable[..., bytes]) -> None:
    """The node that is shown is healthy; another configuration is told with place, cause and cure."""
    page = open_page(fragment="#checks")
    page.locator(".health.good").first.wait_for()
    page.get_by_text("Another KubeletConfiguration").click()
    page.get_by_label("KubeletConfiguration to examine").fill(WRONG)
    page.locator(".health.bad").wait_for()
    picture(page)
    first = page.locator(".check-part").first.locator(".findings li").first
    assert "memory-refused" in first.inner_text()
    assert "kubelet, line 15" in first.inner_text()
    assert "Cure: add 100Mi to reservedMemory" in first.inner_text()
    page.get_by_text("Go to line 15").click()
    assert page.locator(".check-part").first.locator(".wrong-line").text_content() == "15"


def test_files_are_linted(open_page: Open) -> None:
    """Pasted or opened; too large ones are refused by their size."""
    page = open_page(fragment="#checks")
    lint = page.locator(".check-part", has_text="Lint")
    lint.get_by_label("Files to lint").fill(WRONG)
    lint.locator(".findings li").first.wait_for()
    assert "NF110" in lint.inner_text()
    assert lint.get_by_text("Go to line 15").is_visible()
    lint.get_by_label("Files to lint").fill("")
    big = {"name": "big.yaml", "mimeType": "text/yaml", "buffer": b"#" * (2 << 20)}
    lint.locator("input[type=file]").set_input_files(big)
    page.get_by_text("big.yaml has 2 MiB, and at most 1 MiB are taken").wait_for()
    lint.locator("input[type=file]").set_input_files({**big, "name": "kubelet.yaml", "buffer": WRONG.encode()})
    lint.locator(".findings li").first.wait_for()
    assert "kubelet.yaml, line 15" in lint.inner_text()


def test_an_audit_needs_a_host(open_page: Open) -> None:
    """Of a demonstration there is none, and that is said."""
    page = open_page(fragment="#checks")
    page.get_by_text("this agent does not show a host").wait_for()
