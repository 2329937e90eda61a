"""What is damaged, too new or changed by hand is refused with one sentence that names the field."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.cluster.topology.model import LARGEST, NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.errors import InputError
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on

WHOLE = topology_bytes(topology_of("n1", with_pods_on(stage_on("dgx-h100"), guaranteed("u-1", 4, gpus=1))))


def changed(change: Callable[[Any], None]) -> bytes:
    """`Any`: the object as plain values."""
    value = json.loads(WHOLE)
    change(value)
    return json.dumps(value).encode()


def refusal(data: bytes) -> InputError:
    with pytest.raises(InputError) as refused:
        read_topology(data, "NodeTopology n1")
    assert "\n" not in str(refused.value)
    return refused.value


def test_the_order_of_keys_and_what_servers_add_do_not_matter() -> None:
    def as_served(value: Any) -> None:
        value["metadata"] |= {"resourceVersion": "7", "managedFields": [{"manager": "numafit"}], "generation": 3}

    value = json.loads(changed(as_served))
    data = json.dumps(value, sort_keys=True, indent=1).encode()
    assert read_topology(data).status == read_topology(WHOLE).status
    assert read_topology(data).metadata.resource_version == "7"


def test_a_holder_that_somebody_changed_is_found_by_the_digest() -> None:
    error = refusal(changed(lambda value: value["status"]["holders"][0]["containers"][0].update(cpus="0-9")))
    assert error.field == "status.digest"
    assert "changed by others" in error.message


def test_a_machine_that_somebody_changed_is_found_by_its_digest() -> None:
    error = refusal(changed(lambda value: value["status"]["machine"].update(sockets=9)))
    assert error.field == "status.machineDigest"


def test_a_newer_format_is_not_read() -> None:
    error = refusal(changed(lambda value: value["status"].update(format=2, holders="otherwise")))
    assert (error.field, error.message) == ("status.format", "it has format 2, and this numafit understands up to 1")


def test_another_version_of_the_api_is_not_read() -> None:
    error = refusal(changed(lambda value: value.update(apiVersion="topology.numafit.io/v2")))
    assert "v2 is not understood" in error.message


def test_another_object_is_not_read() -> None:
    error = refusal(b'{"apiVersion": "v1", "kind": "Node"}')
    assert error.message == "is no NodeTopology of topology.numafit.io, but Node of v1"


def test_the_field_of_a_wrong_type_is_named() -> None:
    error = refusal(changed(lambda value: value["status"]["holders"][0].update(uid=7)))
    assert error.field == "status.holders[0].uid"


def test_what_is_cut_off_is_damaged() -> None:
    assert "is damaged" in refusal(WHOLE[:-40]).message


def test_what_no_node_needs_is_not_read() -> None:
    assert "too many" in refusal(b" " * (LARGEST + 1)).message


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_make_a_traceback(data: bytes) -> None:
    refusal(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values inside."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(own for key, inner in pairs for own in places(inner, (*path, key)))]


PLACES = [path for path in places(json.loads(WHOLE)["status"]) if path]


@settings(max_examples=400)
@given(st.sampled_from(PLACES), JSON | st.sampled_from(["", "0", "9-1", "0-70000", "-1", "1Gi", -1, 1 << 70]))
def test_no_value_in_the_place_of_another_makes_a_traceback(path: tuple[str | int, ...], value: Any) -> None:
    """Also where the digests are those of the changed object, as an agent with a fault would write them."""

    def change(whole: Any) -> None:
        inner = whole["status"]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    data = changed(change)
    with suppress(InputError):
        read_topology(data)
    with suppress(InputError, msgspec.ValidationError):
        topology = msgspec.json.decode(data, type=NodeTopology)
        stage = stage_of(topology)
        stage.decide(stage.ledger, guaranteed("u-2", 2))
