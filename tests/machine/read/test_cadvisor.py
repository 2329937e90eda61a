"""cAdvisor's machine info."""

import json

import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.read.cadvisor import read_cadvisor
from tests.machine.read.readers import damaged, fixture, reads_or_refuses

MIB = 1 << 20


def test_machine_info_is_the_machine_of_the_kubelet() -> None:
    """cAdvisor 0.53: nodes and CPUs keep their order, page sizes are KiB, an uncore cache serves all cores with it."""
    assert read_cadvisor(fixture("cadvisor-two-caches.json")) == Machine(
        cpus=(
            Cpu(id=0, core=0, socket=0, numa=10, uncore_cache=5),
            Cpu(id=4, core=0, socket=0, numa=10, uncore_cache=5),
            Cpu(id=1, core=1, socket=0, numa=10, uncore_cache=5),
            Cpu(id=5, core=1, socket=0, numa=10, uncore_cache=5),
            Cpu(id=2, core=4, socket=0, numa=10, uncore_cache=6),
            Cpu(id=6, core=4, socket=0, numa=10, uncore_cache=6),
            Cpu(id=3, core=5, socket=0, numa=2),
            Cpu(id=7, core=5, socket=0, numa=2),
        ),
        numa_nodes=(
            NumaNode(id=10, memory=16 * MIB, hugepages={1 << 30: 0, 2 * MIB: 3}, distances=(10, 20)),
            NumaNode(id=2, memory=16 * MIB, distances=(20, 10)),
        ),
        memory=32 * MIB,
        sockets=1,
        caches=(
            Cache(level=1, kind="data", size=32768, cpus=0x11, id=0),
            Cache(level=3, kind="unified", size=16 * MIB, cpus=0x33, id=5),
            Cache(level=3, kind="unified", size=16 * MIB, cpus=0x44, id=6),
            Cache(level=3, kind="unified", size=16 * MIB, cpus=0x88, id=7),
        ),
    )


def test_machine_info_of_an_old_cadvisor_is_read() -> None:
    """cAdvisor 0.38 (kubelet 1.20): no distances, no uncore caches, no cache ids."""
    core = {"core_id": 0, "thread_ids": [0], "caches": [{"size": 1, "type": "Data", "level": 1}], "socket_id": 0}
    node = {"node_id": 0, "memory": 5, "hugepages": None, "cores": [core], "caches": None}
    assert read_cadvisor(json.dumps({"num_sockets": 1, "topology": [node]})) == Machine(
        cpus=(Cpu(id=0, core=0, socket=0, numa=0),),
        numa_nodes=(NumaNode(id=0, memory=5),),
        sockets=1,
        caches=(Cache(level=1, kind="data", size=1, cpus=1),),
    )


def node(id: int, *threads: int) -> dict[str, object]:
    return {"node_id": id, "cores": [{"core_id": 0, "thread_ids": list(threads)}]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "a file: not cAdvisor's machine info: Expected `object`, got `array`"),
        ({}, "a file: not cAdvisor's machine info: Object missing required field `topology`"),
        ({"topology": [node(0, 1), node(0, 2)]}, "a file: NUMA node 0 stands in it twice"),
        ({"topology": [node(0, 1), node(1, 1)]}, "a file: CPU 1 stands in it twice"),
        ({"topology": [node(0, -1)]}, "a file: not cAdvisor's machine info: Expected `int` >= 0"),
    ],
)
def test_other_json_is_refused(value: object, message: str) -> None:
    """One sentence that says what is missing."""
    with pytest.raises(InputError) as error:
        read_cadvisor(json.dumps(value), "a file")
    assert str(error.value).startswith(message)


@given(damaged("cadvisor-two-caches.json"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_cadvisor, data)
