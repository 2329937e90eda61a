"""Each request shown in a document is made, and each metric in the dashboard exists.

In a ```http block the first line is the method and the path, with `# 422` at its end when the status is not 200; the
rest is the body.
"""

import json
import re

import httpx
import pytest

from numafit.service.api.operations import OPERATIONS
from numafit.service.metrics.table import METRICS
from tests.service.agents import ROOT, asked

PAGE = (ROOT / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"```http\n(\w+) (\S+)(?: # (\d+))?\n(.*?)```", PAGE, re.DOTALL)
DASHBOARD = ROOT / "examples" / "grafana-dashboard.json"


@pytest.mark.parametrize(("method", "path", "status", "body"), BLOCKS)
def test_a_shown_request_is_answered_as_the_page_says(method: str, path: str, status: str, body: str) -> None:
    """By the demonstration."""

    async def talk(client: httpx.AsyncClient) -> httpx.Response:
        return await client.request(method, path, json=json.loads(body))

    assert asked(talk).status_code == int(status or 200)


def test_the_page_shows_requests_and_names_every_operation() -> None:
    """None is left out."""
    assert len(BLOCKS) >= 3
    missing = [one.path for one in OPERATIONS if one.path.removeprefix("/api/v1") not in PAGE]
    assert missing == []


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    """By name and label."""
    known = {metric.name: {*metric.labels, "instance"} for metric in METRICS}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            (name,) = re.findall(r"\b(?:numafit|kubelet)_\w+", target["expr"])
            grouped = re.findall(r"by \(([^)]*)\)", target["expr"])
            labels = {label.strip() for group in grouped for label in group.split(",")}
            labels |= set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert labels <= known[name], target["expr"]
