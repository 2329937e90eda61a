"""The Grafana board: by Grafana's own types, with queries that Prometheus can read, about metrics that there are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import promql_parser
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from numafit.cluster.admission.counts import AdmissionCollector, AdmissionCounts
from numafit.cluster.extender.counts import ExtenderCollector, ExtenderCounts
from numafit.cluster.guard.counts import GuardCollector, GuardCounts
from numafit.cluster.kube.health import ApiHealth, HealthCollector
from numafit.cluster.node.metrics import AgentCounts, NodeCollector
from numafit.cluster.place.counts import PlaceCollector, PlaceCounts

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
BOARD: Json = json.loads((ROOT / "deploy" / "grafana" / "numafit.json").read_text())
SCHEMAS = Path(__file__).with_name("grafana")
PANELS: list[Json] = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
VARIABLES = {"$__rate_interval": "5m", "$__range": "1h"}
"""Of Grafana -> what it could put there."""
COLLECTORS: tuple[Collector, ...] = (
    NodeCollector(AgentCounts()),
    PlaceCollector(PlaceCounts()),
    AdmissionCollector(AdmissionCounts()),
    GuardCollector(GuardCounts()),
    ExtenderCollector(ExtenderCounts(), lambda: 0, {}),
    HealthCollector(ApiHealth()),
)
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def mistakes(schema: str, content: object) -> list[str]:
    text = (SCHEMAS / f"{schema}.schema.json").read_text()
    return [
        f"{error.instance_path}: {error.message}" for error in jsonschema_rs.validator_for(text).iter_errors(content)
    ]


def known() -> dict[str, set[str]]:
    """Name of a series -> its labels."""
    families: list[Metric] = [family for collector in COLLECTORS for family in collector.collect()]
    return {
        family.name + suffix: {*getattr(family, "_labelnames", ()), *(["le"] if suffix == "_bucket" else [])}
        for family in families
        for suffix in SUFFIXES[family.type]
    }


def parsed(query: str) -> promql_parser.Expr:
    for variable, text in VARIABLES.items():
        query = query.replace(variable, text)
    return promql_parser.parse(query)


def series(query: str) -> Iterator[tuple[str, set[str]]]:
    """(name, labels that are asked for) of each selector, with the labels that an aggregation keeps."""
    text = parsed(query).prettify()
    kept = {label.strip() for own in re.findall(r"by \(([^)]*)\)", text) for label in own.split(",")}
    for name, matchers in re.findall(r"(numafit_\w+)(?:\{([^}]*)\})?", text):
        yield name, kept | set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", matchers))


def test_it_is_a_board_by_grafanas_own_types() -> None:
    assert mistakes("dashboard", BOARD) == []


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_has_options_of_its_kind(panel: Json) -> None:
    assert mistakes(f"{panel['type']}-options", panel["options"]) == []
    if panel["type"] == "timeseries":
        assert mistakes("timeseries-field", panel["fieldConfig"]["defaults"]["custom"]) == []


def test_a_mistake_would_be_seen() -> None:
    """The schemas allow nothing that they do not name."""
    assert mistakes("dashboard", {**BOARD, "pannels": []})
    assert mistakes("timeseries-options", {**PANELS[-1]["options"], "legend": {}})


@pytest.mark.parametrize(("title", "query"), QUERIES)
def test_a_query_is_about_metrics_that_there_are(title: str, query: str) -> None:
    asked = list(series(query))
    assert asked
    for name, labels in asked:
        assert name in known()
        assert labels <= known()[name]


def test_each_component_is_on_the_board() -> None:
    shown = {name for _, query in QUERIES for name, _ in series(query)}
    for room in ("node", "place", "webhook", "guard", "extender", "api_server"):
        assert any(name.startswith(f"numafit_{room}_") for name in shown)


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
