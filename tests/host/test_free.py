"""What nobody holds, and the largest job that would still be aligned."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.bits import mask_of, parse_cpuset
from numafit.errors import InputError
from numafit.host.free import free_on
from numafit.host.grant import Refused, granted
from numafit.host.lease import Lease
from numafit.host.place import Placed, place
from numafit.host.request import JobRequest
from numafit.machine.model import Device
from tests.host.ledgers import host_named, small_host
from tests.host.test_place import GIB, GPU, MACHINES, lease_of, requests


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=12)
@given(wanted=st.lists(requests, max_size=8))
def test_the_largest_job_is_really_given(name: str, wanted: list[JobRequest]) -> None:
    """What `free` promises, a job that insists on one NUMA node gets; of several that are alike, on any."""
    host = host_named(name)
    leases: list[Lease] = []
    names = count()
    for request in wanted:
        try:
            placed = place(host, leases, request)
        except InputError:
            continue
        if placed.admitted:
            leases.append(lease_of(placed, str(next(names))))
    largest = free_on(host, leases).largest
    if largest is None:
        return
    devices = {resource: len(ids) for resource, ids in largest.devices.items()}
    asked = JobRequest(largest.cpus.bit_count(), largest.memory, devices, "single-numa-node")
    placed = place(host, leases, asked)
    assert placed.admitted, placed.decision.message
    assert placed.nodes.bit_count() <= 1


def test_what_is_held_reserved_or_forbidden_is_not_free() -> None:
    host = host_named(
        "gpu8-128cpu", reserved_cpus=parse_cpuset("0"), reserved_memory={1: GIB}, allowed_cpus=parse_cpuset("0-63")
    )
    held = Lease("a", "", 0, "", 0.0, exclusive=parse_cpuset("4-7"), devices={GPU: ("GPU0", "GPU5")})
    free = free_on(host, [held])
    own = [mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == node) for node in (0, 1)]
    usable = parse_cpuset("0-63") & ~parse_cpuset("0,4-7")
    assert [node.cpus & parse_cpuset("1-63") for node in free.nodes] == [cpus & usable for cpus in own]
    assert [node.devices[GPU] for node in free.nodes] == [("GPU1", "GPU2", "GPU3"), ("GPU4", "GPU6", "GPU7")]
    assert free.nodes[1].all_memory == host.machine.numa_nodes[1].memory - GIB
    # Others may run there: the pool is that of the host.
    assert free.pool == host.online & ~parse_cpuset("4-7")


def test_devices_of_no_node_or_of_several_are_apart() -> None:
    host = host_named("laptop")
    devices = (Device("x/y", "a", (0,)), Device("x/y", "b", None))
    free = free_on(replace(host, machine=replace(host.machine, devices=devices)), [])
    assert free.nodes[0].devices == {"x/y": ("a",)}
    assert free.unplaced == {"x/y": ("b",)}


def test_with_everything_held_nothing_is_largest() -> None:
    host = host_named("laptop")
    size = host.machine.numa_nodes[0].memory
    lease = lease_of(place(host, (), JobRequest(cpus=8, memory=size)), "all")
    free = free_on(host, [lease])
    assert free.largest is None
    assert free.pool == 0


@pytest.mark.parametrize(("allowed", "cpus"), [(0b0, 3), (0b1, 3), (0b1000, 3)])
def test_the_largest_job_leaves_a_cpu_to_shared_work(allowed: int, cpus: int) -> None:
    """One that it may use; what `free` names is given, and one CPU more is not."""
    host = small_host()
    leases = [Lease("shared", "", 0, "", 0.0, allowed=allowed)]
    found = free_on(host, leases)
    assert found.largest is not None
    assert (found.nodes[0].cpus.bit_count(), found.largest.cpus.bit_count()) == (4, cpus)
    assert isinstance(granted(host, leases, JobRequest(cpus=cpus)), Placed)
    assert isinstance(granted(host, leases, JobRequest(cpus=cpus + 1)), Refused)
