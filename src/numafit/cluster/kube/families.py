"""Families of metrics with one label."""

from collections.abc import Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

LabelValue = TypeVar("LabelValue", bound=str)


def counters(name: str, text: str, label: str, counts: Mapping[LabelValue, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def gauges(name: str, text: str, label: str, counts: Mapping[LabelValue, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family
