"""What lstopo prints on a terminal."""

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.read.hwloc.console import read_console
from numafit.machine.read.hwloc.machine import read_hwloc
from numafit.machine.read.recognise import source_of
from tests.machine.read.readers import MACHINES, capture, damaged, fixture, reads_or_refuses

KIB = 1 << 10
MIB = 1 << 20
OLD = """\
Machine (63GB)
  NUMANode L#0 (P#0 31GB) + Socket L#0 + L3 L#0 (20MB)
    L2 L#0 (256KB) + L1 L#0 (32KB) + Core L#0
      PU L#0 (P#0)
      PU L#1 (P#2)
  NUMANode L#1 (P#1 32GB) + Socket L#1 + L3 L#1 (20MB)
    L2 L#1 (256KB) + L1 L#1 (32KB) + Core L#1
      PU L#2 (P#1)
      PU L#3 (P#3)
"""


def test_the_text_of_hwloc_1_has_its_numa_nodes_above_the_cpus() -> None:
    """Sizes are rounded, so the memory of another source counts; all else is told."""
    cpus = tuple(Cpu(id, id % 2, id % 2, id % 2, None) for id in (0, 2, 1, 3))
    assert read_console(OLD) == Machine(
        cpus=cpus,
        numa_nodes=(NumaNode(0, 31 << 30), NumaNode(1, 32 << 30)),
        sockets=2,
        caches=tuple(
            Cache(level, "unified", size, 0b0101 << node, node)
            for level, size in ((1, 32 * KIB), (2, 256 * KIB), (3, 20 * MIB))
            for node in (0, 1)
        ),
        assumed=("memory",),
    )


def test_a_machine_of_one_numa_node_may_have_no_line_for_it() -> None:
    """hwloc 1: the memory is that of the machine."""
    machine = read_console("Machine (7GB)\n  Socket L#0 + Core L#0\n    PU L#0 (P#0)\n    PU L#1 (P#1)\n")
    assert machine.numa_nodes == (NumaNode(0, 7 << 30),)
    assert [(cpu.id, cpu.core) for cpu in machine.cpus] == [(0, 0), (1, 0)]
    assert machine.assumed == ("memory", "numa", "uncore_cache")


@pytest.mark.parametrize("form", ["lstopo", "lstopo-p", "lstopo-v"])
def test_each_form_of_the_text_tells_what_the_xml_tells(form: str) -> None:
    """A box with a NUMA node without CPUs. Only -v has exact sizes and distances; no form has huge pages."""
    machine = source_of(fixture(f"{form}-memory-only-node.txt"), form).machine
    xml = read_hwloc(capture("numa3memonly", "lstopo.xml"))
    assert [(cpu.id, cpu.socket, cpu.numa, cpu.uncore_cache) for cpu in machine.cpus] == [
        (cpu.id, cpu.socket, cpu.numa, cpu.uncore_cache) for cpu in xml.cpus
    ]
    assert machine.caches == xml.caches
    if form == "lstopo-v":
        assert machine.numa_nodes == tuple(replace(node, hugepages={}) for node in xml.numa_nodes)
        assert machine.assumed == ("numa",)
    else:
        assert [(node.id, node.memory // MIB) for node in machine.numa_nodes] == [(0, 1006), (1, 943), (2, 974)]
        assert machine.assumed == ("memory", "numa")


@pytest.mark.parametrize("box", MACHINES)
def test_the_text_of_a_captured_box_agrees_with_its_xml(box: str) -> None:
    """Which CPUs share a core, a cache, a socket, a NUMA node."""
    text, xml = read_console(capture(box, "lstopo.txt")), read_hwloc(capture(box, "lstopo.xml"))

    def groups(machine: Machine) -> set[frozenset[int]]:
        shared: dict[tuple[int, int, int], set[int]] = {}
        for cpu in machine.cpus:
            shared.setdefault((cpu.numa, cpu.socket, cpu.core), set()).add(cpu.id)
        return {frozenset(ids) for ids in shared.values()}

    assert groups(text) == groups(xml)
    assert [(c.level, c.kind, c.size, c.cpus) for c in text.caches] == [
        (c.level, c.kind, c.size, c.cpus) for c in xml.caches
    ]
    assert [(cpu.id, cpu.socket, cpu.numa) for cpu in text.cpus] == [(cpu.id, cpu.socket, cpu.numa) for cpu in xml.cpus]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"\x89PNG\r\n",
            "m: this is a PNG picture, and no machine can be read from it (write it with: lstopo --of xml)",
        ),
        (b"%PDF-1.4", "m: this is a PDF document, and"),
        (b"%!PS-Adobe-3.0", "m: this is a PostScript document, and"),
        (b"#FIG 3.2  Produced by hwloc's lstopo", "m: this is a drawing for xfig, and"),
        (b"\\documentclass{standalone}\n", "m: this is a drawing for LaTeX, and"),
        ("┌───┐\n│ Machine (1GB) │\n".encode(), "m: this is a drawing made of characters, and"),
        (
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            "m:1: XML of <svg>, not the <topology> of hwloc (write it with:",
        ),
        (
            b"depth 0:           1 Machine (type #0)\n",
            "m: this is what hwloc-info counts, and not which CPUs are where",
        ),
        (b"Core L#0\nCore L#1\n", "m: this is one kind of object, as lstopo --only prints it (write it with: lstopo"),
        (b"NUMANode L#0 (P#0 1917MB)\n", "m: this is one kind of object, as lstopo --only prints it (write it with:"),
        (b"Machine (1GB)\n  Package L#0\n", "m: no PU in what lstopo printed (write it with: lstopo --of xml"),
        (b"Machine (1GB)\n  PU L#0\n", "m:2: the PU has only hwloc's number, not that of the operating system (print"),
        (b"Machine (1GB)\n  PU P#0\n  PU P#0\n", "m:3: PU 0 stands in it twice (write it with: lstopo --of xml)"),
        (
            b"<topology><object type='Machine'/></topology>",
            "m:1: hwloc XML of version 1; version 2 is needed (write it",
        ),
    ],
)
def test_what_cannot_be_read_says_which_export_to_make(data: bytes, message: str) -> None:
    """One sentence."""
    with pytest.raises(InputError) as refused:
        source_of(data, "m")
    assert str(refused.value).startswith(message)


@settings(max_examples=60, deadline=None)
@given(damaged("lstopo-v-memory-only-node.txt", "lstopo-memory-only-node.txt"))
def test_damaged_input_is_read_or_refused(data: bytes) -> None:
    """Never anything else."""
    reads_or_refuses(read_console, data)
