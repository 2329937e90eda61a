"""A lease as a value: what it claims, and how it is stored."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.host.lease import Lease, claims, decode_lease, encode_lease, memory_of
from numafit.host.process.identity import ProcessId
from numafit.ledger.ledger import Block

masks = st.integers(0, (1 << 1100) - 1)
names = st.text(max_size=12)
leases = st.builds(
    Lease,
    id=names,
    name=names,
    uid=st.integers(0, (1 << 32) - 1),
    user=names,
    since=st.floats(0, 1e11),
    command=names,
    exclusive=masks,
    nodes=masks,
    mems=masks,
    memory=st.lists(
        st.builds(
            Block,
            numa=st.lists(st.integers(0, 63), max_size=3).map(tuple),
            type=st.just("memory"),
            size=st.integers(0, 1 << 50),
        ),
        max_size=2,
    ).map(tuple),
    devices=st.dictionaries(names, st.lists(names, max_size=2).map(tuple), max_size=2),
    owners=st.lists(
        st.builds(
            ProcessId,
            pid=st.integers(1, 1 << 22),
            start=st.integers(0, 1 << 60),
            boot=names,
            namespace=st.integers(1, 1 << 32),
        ),
        max_size=2,
    ).map(tuple),
    allowed=masks,
    bound=masks,
    notes=st.lists(names, max_size=2).map(tuple),
    until=st.none() | st.floats(0, 1e9),
)


@given(lease=leases)
def test_a_stored_lease_comes_back_the_same(lease: Lease) -> None:
    """Also with more CPUs than a number of JSON can tell."""
    assert decode_lease(encode_lease(lease)) == lease


@given(
    data=st.one_of(
        st.binary(max_size=60), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(msgspec.json.encode)
    )
)
def test_what_is_no_lease_is_a_value_error(data: bytes) -> None:
    """The store takes it for damage; any other exception would look like a bug."""
    with pytest.raises(ValueError):  # noqa: PT011
        decode_lease(data)


@pytest.mark.parametrize("wrong", ["null", "3", "[]", '"9-0"', '"x"', '{"a": 1}'])
def test_a_set_that_makes_no_sense_is_a_value_error(wrong: str) -> None:
    text = f'{{"id": "a", "name": "", "uid": 0, "user": "", "since": 1.0, "exclusive": {wrong}}}'
    with pytest.raises(ValueError):  # noqa: PT011
        decode_lease(text.encode())


def test_a_lease_of_an_older_numafit_lacks_fields_and_is_read() -> None:
    """Fields that came later have defaults."""
    found = decode_lease(b'{"id": "a", "name": "", "uid": 0, "user": "root", "since": 1.0, "exclusive": "0-3"}')
    assert found == Lease("a", "", 0, "root", 1.0, exclusive=0b1111)


def test_claims_are_cpus_and_devices() -> None:
    lease = Lease("a", "", 0, "", 0.0, exclusive=0b101, devices={"x/y": ("u", "v")})
    assert claims(lease) == [("cpu", "0"), ("cpu", "2"), ("x/y", "u"), ("x/y", "v")]


def test_huge_pages_are_no_memory_of_the_lease() -> None:
    blocks = (Block((0,), "memory", 5), Block((1,), "memory", 6), Block((0,), "hugepages-2Mi", 100))
    assert memory_of(Lease("a", "", 0, "", 0.0, memory=blocks)) == 11


@pytest.mark.parametrize(("name", "label"), [("", "id1"), ("job", "job (id1)"), ("id1", "id1")])
def test_a_name_stands_before_the_id(name: str, label: str) -> None:
    assert Lease("id1", name, 0, "", 0.0).label == label
