"""Where the memory of a job comes from, and jobs that keep to NUMA nodes that they name or hold nothing."""

from typing import Any

import pytest

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.host.grant import PlannedLease, Refused, granted, planned_lease, sentence_about
from numafit.host.lease import Lease
from numafit.host.place import Placed, place
from numafit.host.pool import shared_place
from numafit.host.request import POLICIES, JobRequest, Policy
from tests.host.ledgers import host_named
from tests.host.test_place import MACHINES

GIB = 1 << 30


@pytest.mark.parametrize(
    ("request_", "mems", "bind"),
    [
        (JobRequest(cpus=2), 0b1, "prefer"),
        (JobRequest(cpus=2, memory=GIB), 0b1, "bind"),
        (JobRequest(cpus=2, memory=GIB, bind="prefer"), 0b1, "prefer"),
        (JobRequest(cpus=2, bind="bind"), 0b1, "bind"),
        (JobRequest(cpus=2, bind="interleave"), 0xFF, "interleave"),
        (JobRequest(cpus=2, memory=GIB, bind="interleave"), 0b1, "interleave"),
        (JobRequest(cpus=2, on_nodes=0b110), 0b110, "prefer"),
        (JobRequest(cpus=2, on_nodes=0b110, bind="interleave"), 0b110, "interleave"),
        (JobRequest(), 0xFF, "prefer"),
    ],
)
def test_memory_is_bound_only_for_who_asked_for_some(request_: JobRequest, mems: int, bind: str) -> None:
    """Else it is preferred: from the nodes of the CPUs, or those that were asked for."""
    placed = place(host_named("dgx-a100"), [], request_)
    assert (placed.mems, placed.bind) == (mems, bind)


@pytest.mark.parametrize("memory", [0, GIB])
def test_a_job_keeps_to_the_nodes_that_it_names(memory: int) -> None:
    host = host_named("dgx-a100")
    placed = place(host, [], JobRequest(cpus=40, memory=memory, on_nodes=0b1100))
    assert (placed.nodes, placed.exclusive.bit_count(), placed.mems & ~0b1100) == (0b1100, 40, 0)


@pytest.mark.parametrize(
    ("machine", "request_", "sentence"),
    [
        ("dgx-a100", JobRequest(on_nodes=1 << 9), "this machine has no NUMA node 9 .*there are 0-7"),
        ("dgx-a100", JobRequest(cpus=33, on_nodes=0b1), "33 CPUs are asked for, NUMA node 0 has 32"),
        ("dgx-a100", JobRequest(memory=1 << 50, on_nodes=0b1), "1Pi of memory are asked for, NUMA node 0 has"),
        ("grace-hopper", JobRequest(on_nodes=0b10), "NUMA node 1 has no CPU for this process"),
    ],
)
def test_what_the_named_nodes_can_never_give_is_an_error(machine: str, request_: JobRequest, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        place(host_named(machine), [], request_)


def test_shared_work_stays_on_the_nodes_that_it_names_and_keeps_a_cpu_there() -> None:
    """The last CPU there is left to it, and it is refused where none is."""
    host = host_named("dgx-a100")
    planned = planned_lease(host, [], JobRequest(on_nodes=0b10))
    assert isinstance(planned, PlannedLease)
    node = mask_of(cpu.id for cpu in host.machine.cpus if cpu.numa == 1)
    assert (planned.cpus, planned.lease.allowed, planned.lease.nodes) == (node, node, 0b10)
    full = granted(host, [planned.lease], JobRequest(cpus=32, on_nodes=0b10))
    assert isinstance(full, Refused)
    taken = Lease("other", "", 0, "", 0.0, exclusive=node)
    none = granted(host, [taken], JobRequest(on_nodes=0b10))
    assert isinstance(none, Refused)
    assert none.why == "every CPU of NUMA node 1 is held exclusively"


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("more", [{}, {"on_nodes": 0b1}, {"bind": "interleave"}, {"bind": "bind"}])
def test_shared_work_is_placed_without_the_engine_as_the_engine_would(
    name: str, policy: Policy, more: dict[str, Any]
) -> None:
    """A job that holds nothing starts quicker so, and lands in the same place."""
    host, request = host_named(name), JobRequest(policy=policy, **more)
    quick, whole = shared_place(host, [], request), granted(host, [], request)
    assert quick is not None
    assert isinstance(whole, Placed)
    fields = ("request", "nodes", "mems", "bind", "exclusive", "memory", "devices", "remarks")
    assert [getattr(quick, field) for field in fields] == [getattr(whole, field) for field in fields]
    assert sentence_about(quick) == sentence_about(whole)


def test_the_engine_is_asked_where_a_job_holds_something_or_nothing_is_left() -> None:
    host = host_named("laptop")
    assert shared_place(host, [], JobRequest(cpus=1)) is None
    assert shared_place(host, [Lease("a", "", 0, "", 0.0, exclusive=host.online)], JobRequest()) is None
