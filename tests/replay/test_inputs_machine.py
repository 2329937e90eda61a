"""The machine of a recording."""

import pytest

from numafit.errors import InputError
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.replay.inputs import machine_from_recording


def test_a_recorded_machine_is_read_whole() -> None:
    """Hugepage sizes become bytes, missing distances stay missing, CPUs keep their order."""
    machine = machine_from_recording(
        {
            "name": "odd",
            "numaNodes": [
                {"id": 8, "memoryBytes": 4096, "hugepages": {"2Mi": 3, "1Gi": 1}, "distances": [10, 20]},
                {"id": 0, "memoryBytes": 0, "hugepages": {}, "distances": None},
            ],
            "cpus": [
                {"cpu": 5, "core": 2, "socket": 1, "numa": 8, "uncoreCache": 3},
                {"cpu": 1, "core": 0, "socket": 0, "numa": 0},
            ],
        }
    )
    assert machine == Machine(
        name="odd",
        numa_nodes=(
            NumaNode(id=8, memory=4096, hugepages={2 << 20: 3, 1 << 30: 1}, distances=(10, 20)),
            NumaNode(id=0),
        ),
        cpus=(Cpu(id=5, core=2, socket=1, numa=8, uncore_cache=3), Cpu(id=1, core=0, socket=0, numa=0)),
    )


@pytest.mark.parametrize("nodes", [[{"id": "x"}], [{"id": 0, "hugepages": {"2MB": 1}}]])
def test_what_is_no_machine_is_refused(nodes: list[object]) -> None:
    """One sentence with the place, never a traceback of a decoder."""
    with pytest.raises(InputError, match=r"^recording: "):
        machine_from_recording({"numaNodes": nodes, "cpus": []})
