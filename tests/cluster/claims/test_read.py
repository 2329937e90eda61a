"""Claims and slices among other objects of a file."""

import json

import pytest
import yaml

from numafit.cluster.claims.read import read_claims
from numafit.errors import InputError
from tests.cluster.claims.objects import claim, slice_of

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"resourceClaims": [{"name": "gpu"}]}}


def test_they_are_found_in_lists_and_documents_among_others() -> None:
    items = [POD, claim("a", "u-1", "gpu-0"), slice_of({"gpu-0": {}})]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    typed = {**slice_of({"gpu-1": {}})}
    del typed["kind"]
    slices = {"kind": "ResourceSliceList", "apiVersion": "resource.k8s.io/v1", "items": [typed]}
    several = yaml.safe_dump_all([POD, slices])
    found = read_claims([("a.json", listed), ("b.yaml", several.encode()), ("c.yaml", b"kind: Pod")])
    assert [own.metadata.name for own in found.claims] == ["a"]
    assert [device.name for own in found.slices for device in own.spec.devices or ()] == ["gpu-0", "gpu-1"]


def test_a_kind_of_this_name_of_another_group_is_another_one() -> None:
    other = claim("a", "u-1") | {"apiVersion": "example.com/v1"}
    assert not read_claims([("a.json", json.dumps(other).encode())])


def test_one_that_is_none_is_refused_with_its_place() -> None:
    bad = claim("a", "u-1")
    bad["status"]["reservedFor"] = "everybody"
    with pytest.raises(InputError, match="this is no ResourceClaim") as refused:
        read_claims([("a.json", json.dumps(bad).encode())])
    assert refused.value.source == "a.json"
    assert "status.reservedFor" in refused.value.message
