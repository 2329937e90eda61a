"""Times of objects, and Event objects of both APIs."""

import json

import pytest

from numafit.advice.past.life import NEVER, moment, object_events
from numafit.workload.objects import FileObjects, ManifestFile


def test_moments_are_in_the_order_of_time() -> None:
    """Whatever the number of digits after the point."""
    texts = ["2026-11-15T07:00:04Z", "2026-11-15T07:00:04.05Z", "2026-11-15T07:00:04.5Z", "2026-11-15T07:00:05Z"]
    moments = [moment(text) for text in texts]
    assert moments == sorted(set(moments))


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-15T07:00:04+01:00"])
def test_a_time_that_is_none_is_not_known(text: str) -> None:
    assert moment(text) == NEVER


def test_both_kinds_of_event_objects_are_read() -> None:
    """core/v1 and events.k8s.io/v1 name their fields otherwise."""
    about = {"kind": "Node", "name": "n1"}
    metadata = {"name": "e", "namespace": "default"}
    old = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "reason": "Starting",
        "source": {"component": "kubelet"},
        "firstTimestamp": "2026-11-15T07:00:04Z",
        "lastTimestamp": "2026-11-15T07:00:09Z",
        "count": 2,
    }
    new = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": metadata,
        "regarding": about,
        "reason": "Starting",
        "reportingController": "kubelet",
        "deprecatedFirstTimestamp": "2026-11-15T07:00:04Z",
        "deprecatedLastTimestamp": "2026-11-15T07:00:09Z",
        "deprecatedCount": 2,
    }
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [old, new]})
    first, second = object_events(FileObjects(ManifestFile("events.json", text)).events)
    assert first == second
    assert (first.component, first.count, first.last) == ("kubelet", 2, ("2026-11-15T07:00:09", "000000000"))
