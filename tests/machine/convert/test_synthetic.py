"""A machine in hwloc's synthetic language."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.convert.synthetic import synthetic_text
from numafit.machine.model import Machine
from numafit.machine.sketch.line import read_sketch
from numafit.machine.sketch.synthetic import read_synthetic

Place = tuple[int, int, int | None]


def places(machine: Machine) -> dict[int, Place]:
    return {cpu.id: (cpu.socket, cpu.numa, cpu.uncore_cache) for cpu in machine.cpus}


def cores(machine: Machine) -> set[frozenset[int]]:
    found: dict[tuple[int, int, int], set[int]] = {}
    for cpu in machine.cpus:
        found.setdefault((cpu.numa, cpu.socket, cpu.core), set()).add(cpu.id)
    return set(map(frozenset, found.values()))


def test_the_text_is_what_lstopo_takes() -> None:
    """A NUMA node that is a whole package hangs at it; several of them are a level. hwloc 2.9 reads both so."""
    assert synthetic_text(machine_named("dgx-h100")) == (
        "Package:2 [NUMANode(memory=1099511627776)] L3Cache:1(size=110100480) Core:56 PU:2(indexes=2*112:1*2)\n"
    )
    assert synthetic_text(machine_named("xeon-snc4")) == (
        "Package:2 L3Cache:1(size=110100480) NUMANode:4(memory=68719476736) Core:14 PU:2(indexes=2*112:1*2)\n"
    )


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 4)),
    st.sampled_from(["near", "far"]),
)
def test_a_regular_machine_survives_the_language(numbers: tuple[int, int, int, int, int], smt: str) -> None:
    """The same CPUs in the same cores, caches, NUMA nodes and sockets, however siblings are numbered."""
    sockets, numa, l3, cores_each, threads = numbers
    shape = f"{sockets} sockets x {numa} numa x {l3 * cores_each} cores x {threads} threads"
    machine = read_sketch(f"{shape}, l3 1Mi per {cores_each} cores, 4Gi per numa, smt {smt}")
    back = read_synthetic(synthetic_text(machine))
    assert places(back) == places(machine)
    assert cores(back) == cores(machine)
    assert [node.memory for node in back.numa_nodes] == [node.memory for node in machine.numa_nodes]


@pytest.mark.parametrize(
    ("name", "message"),
    [("gb200", "NUMA node 10 has no CPUs"), ("hybrid-desktop", "a Core is larger than another one of its kind")],
)
def test_an_irregular_machine_is_refused(name: str, message: str) -> None:
    """As `lstopo --of synthetic` refuses it."""
    with pytest.raises(InputError, match=message):
        synthetic_text(machine_named(name))


def test_a_machine_without_cpus_is_refused() -> None:
    """There is nothing to write."""
    with pytest.raises(InputError, match="without CPUs"):
        synthetic_text(Machine())
