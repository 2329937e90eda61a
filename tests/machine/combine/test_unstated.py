"""Memory that stands in where no source tells any."""

from msgspec.structs import replace

from numafit.machine.combine.machine import combine
from numafit.machine.combine.unstated import UNTOLD_MEMORY, with_memory
from numafit.machine.model import Machine
from numafit.machine.notes import machine_notes
from numafit.machine.read.recognise import source_of
from tests.machine.test_notes import LSCPU, NUMACTL


def sizes(machine: Machine) -> list[int]:
    return [node.memory for node in machine.numa_nodes]


def test_where_no_source_tells_memory_there_is_enough_and_a_note_says_so() -> None:
    machine = with_memory(combine([source_of(LSCPU, "lscpu.txt")]).machine)
    assert sizes(machine) == [UNTOLD_MEMORY, UNTOLD_MEMORY]
    [note] = machine_notes(machine, ["memory"])
    assert "; 1Ti on each stands in; " in note.text


def test_the_memory_of_the_whole_machine_is_shared_out_where_only_that_is_told() -> None:
    machine = combine([source_of(LSCPU, "lscpu.txt")]).machine
    assert sizes(with_memory(replace(machine, memory=64 << 30))) == [32 << 30, 32 << 30]


def test_memory_that_is_told_stays() -> None:
    """And so does none, where a source tells that there is none."""
    machine = combine([source_of(NUMACTL, "numactl.txt")]).machine
    assert with_memory(machine) == machine
    none = replace(machine, numa_nodes=tuple(replace(node, memory=0) for node in machine.numa_nodes))
    assert with_memory(none) == none
