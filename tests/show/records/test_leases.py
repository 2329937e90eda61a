"""Leases as other programs get them."""

import msgspec
import pytest
from msgspec.structs import asdict, replace

from numafit.host.host import Host
from numafit.host.lease import Lease, LeasePart
from numafit.host.process.identity import ProcessId
from numafit.ledger.ledger import Block
from numafit.machine.catalogue.names import machine_named
from numafit.show.records.leases import LeaseRecord, lease_list, lease_of_record, lease_record

NOT_SHOWN = ("allowed", "boot")
DERIVED = ("shared", "memoryBytes", "alignment")

LEASE = Lease(
    id="0badcafe",
    name="job",
    uid=1000,
    user="ann",
    since=1_700_000_000.0,
    command="python train.py",
    policy="restricted",
    exclusive=0b1111 << 60,
    nodes=0b10,
    mems=0b100,
    memory=(Block((0, 1), "memory", 1 << 30), Block((1,), "hugepages-2Mi", 2 << 20)),
    devices={"nvidia.com/gpu": ("GPU-1", "GPU-2")},
    owners=(ProcessId(1, 2, "boot", 3),),
    container="c0ffee",
    engine="/run/docker.sock",
    cgroup="/numafit/0badcafe",
    allowed=0b11,
    rung="cgroup v2",
    bound=0b1000,
    notes=("no cgroup v1",),
    until=12.5,
    boot="this one",
    sentence="It fits.",
    bind="prefer",
    limit_memory=3 << 30,
    shares=(LeasePart("60-61", "2", ("GPU-1",)), LeasePart("62-63", "2", ("GPU-2",))),
    priority=3,
    remarks=("node 0 is nearly full",),
    seconds=60.0,
    group="students",
    marked=True,
)


def test_each_field_of_a_lease_is_shown_or_left_out_on_purpose() -> None:
    """A new field of a lease must be decided on here; the order is that of the lease."""
    shown = tuple(name for name in Lease.__struct_fields__ if name not in NOT_SHOWN)
    camel = {"limit_memory": "limitMemory"}
    assert LeaseRecord.__struct_encode_fields__ == (*(camel.get(name, name) for name in shown), *DERIVED)


def test_a_lease_comes_back_from_its_record_but_for_what_is_not_shown() -> None:
    """Also as JSON. The lease of this test has something in each field, so that none can be forgotten."""
    bare = Lease("", "", 0, "", 0.0)
    assert {name for name, value in asdict(LEASE).items() if value == getattr(bare, name)} == set()
    record = lease_record(LEASE)
    assert msgspec.json.decode(msgspec.json.encode(record), type=LeaseRecord) == record
    back = lease_of_record(record)
    assert back.until is not None
    # A moment is written in whole seconds.
    assert abs(back.until - 12.5) <= 1
    assert replace(back, until=12.5) == replace(LEASE, allowed=0, boot="")
    assert (record.shared, record.memory_bytes) == (False, 1 << 30)


def test_the_answer_of_an_older_or_newer_agent_is_read() -> None:
    """What it does not have stands at its default, what is not known is passed over."""
    data = b'{"id":"a","name":"","uid":0,"user":"ann","since":"1970-01-01T00:01:00Z","later":1}'
    assert lease_of_record(msgspec.json.decode(data, type=LeaseRecord)) == Lease("a", "", 0, "ann", 60.0)


@pytest.mark.parametrize("field", ["exclusive", "nodes", "mems", "bound", "since"])
def test_a_text_that_makes_no_sense_is_no_lease(field: str) -> None:
    """One kind of error for all of them."""
    with pytest.raises(ValueError, match="x"):
        lease_of_record(replace(lease_record(LEASE), **{field: "x-y"}))


def test_what_is_kept_back_is_told_of_a_host_only() -> None:
    """`numafit ps` lists leases; an agent tells what the others need to plan with, too."""
    assert msgspec.json.encode(lease_list([], [])) == b'{"leases":[],"waiting":[]}'
    host = Host(machine_named("gpu8-128cpu"), reserved_cpus=0b11, reserved_memory={1: 64})
    assert msgspec.json.encode(lease_list([], [], host)) == (
        b'{"leases":[],"waiting":[],"reservedCpus":"0-1","reservedMemory":{"1":64}}'
    )
