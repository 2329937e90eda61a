"""Nodes that reach a pod's volumes."""

import json
from typing import Any

import msgspec

from numafit.cluster.place.around.volumes import (
    ClassObject,
    VolumeLimits,
    VolumeObject,
    claims_of,
    class_terms,
    reaches,
    volume_terms,
)


def claims(*volumes: dict[str, Any]) -> tuple[str, ...]:
    return claims_of(json.dumps({"volumes": volumes}).encode(), "web-0")


def zone(*values: str) -> VolumeLimits:
    rule = {"key": "zone", "operator": "In", "values": values}
    required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    return (volume_terms(msgspec.convert({"spec": {"nodeAffinity": {"required": required}}}, VolumeObject)),)


def test_claims_are_those_that_are_named_and_those_that_are_made_for_the_pod() -> None:
    assert claims({"name": "a", "emptyDir": {}}) == ()
    assert claims(
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "c", "configMap": {"name": "persistentVolumeClaim"}},
    ) == ("data", "web-0-scratch")


def test_a_volume_is_reached_by_the_nodes_that_it_names() -> None:
    assert reaches(zone("a", "b"), {"zone": "a"}, "n1")
    assert not reaches(zone("a"), {"zone": "b"}, "n1")
    assert not reaches((*zone("a"), *zone("b")), {"zone": "a"}, "n1")
    assert reaches((), {}, "n1")
    assert volume_terms(msgspec.convert({"spec": {}}, VolumeObject)) == ()


def test_a_storage_class_tells_where_volumes_can_be_made() -> None:
    topologies = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    terms = class_terms(msgspec.convert({"allowedTopologies": topologies}, ClassObject))
    assert reaches((terms,), {"zone": "b"}, "n1")
    assert not reaches((terms,), {"zone": "c"}, "n1")
    assert class_terms(ClassObject()) == ()
