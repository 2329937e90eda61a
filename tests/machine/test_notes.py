"""What a description of a machine does not tell, in people's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.machine.combine.machine import combine
from numafit.machine.model import Machine
from numafit.machine.notes import CODES, disagreement_notes, machine_notes, untold_words
from numafit.machine.read.recognise import source_of
from numafit.machine.sketch.line import read_sketch
from numafit.machine.source import Disagreement, Source
from numafit.notes import NOTE_CODES, Note
from tests.machine.strategies import any_machines

NUMACTL = """available: 2 nodes (0-1)
node 0 cpus: 0 1 4 5
node 0 size: 1000 MB
node 1 cpus: 2 3 6 7
node 1 size: 1000 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""
LSCPU = "# CPU,Core,Socket,Node\n0,0,0,0\n1,1,0,0\n2,2,1,1\n3,3,1,1\n"
TOPO = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV1\t0,1\t0\nGPU1\tNV1\t X \t2,3\t1\n"
GPU_LIST = "GPU 0: Tesla P100 (UUID: GPU-a)\nGPU 1: Tesla P100 (UUID: GPU-b)\n"
XML = """<topology version="2.0"><object type="Machine" cpuset="0x3" nodeset="0x1">
<object type="NUMANode" os_index="0" cpuset="0x3" local_memory="1048576"/>
<object type="PU" os_index="0"/><object type="PU" os_index="1"/></object></topology>"""
PODRESOURCES = (
    '{"cpu_ids": [1, 2, 3], "memory": [{"memory_type": "memory", "size": 1048576, "topology": {"nodes": [{}]}}]}'
)
CADVISOR = '{"topology": [{"node_id": 0, "cores": [{"core_id": 0, "thread_ids": [0, 1]}]}, {"node_id": 1}]}'
FILE = "numaNodes:\n- {id: 0, memory: 1Gi}\n- {id: 1, memory: 1Gi}\ncpus:\n- {numa: 0, socket: 0, cpus: 0-3}\n"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ((NUMACTL,), {"core", "socket", "uncore_cache", "hugepages"}),
        ((NUMACTL.replace("node 1 size: 1000 MB", "node 1 size: <not available>"),), {"memory"}),
        ((NUMACTL.replace("  1:  21  10\n", ""),), {"distances"}),
        ((LSCPU,), {"uncore_cache", "memory", "distances", "hugepages"}),
        (("# CPU,Core,Socket,Node\n0,0,,0\n1,1,,0\n",), {"socket"}),
        (("# CPU,Node\n0,0\n1,0\n",), {"core", "socket"}),
        (("# CPU,Core,Socket\n0,0,0\n1,1,0\n",), {"numa"}),
        ((NUMACTL, LSCPU.replace("# CPU", "# CPU")), {"uncore_cache", "hugepages"}),
        ((NUMACTL, TOPO), {"device_numa"}),
        ((NUMACTL, GPU_LIST), {"device_numa"}),
        ((XML,), {"core", "socket", "uncore_cache"}),
        ((PODRESOURCES,), {"core", "cpus", "numa", "socket", "uncore_cache", "memory", "hugepages"}),
        ((FILE,), {"uncore_cache", "distances"}),
        (("2 sockets x 4 cores",), {"uncore_cache", "distances", "memory"}),
        (("Package:2 NUMANode:1(memory=1GB) Core:4 PU:2",), {"uncore_cache", "distances"}),
    ],
)
def test_each_source_says_what_it_does_not_tell(texts: tuple[str, ...], words: set[str]) -> None:
    machine = combine([source_of(text, f"source {number}") for number, text in enumerate(texts)]).machine
    assert words <= set(machine.assumed)
    assert [note.code for note in machine_notes(machine)] == [CODES[word] for word in CODES if word in machine.assumed]


@pytest.mark.parametrize(
    "text",
    [
        CADVISOR,
        "2 sockets x 4 cores, 1Gi per numa, l3 per 2 cores, distances 10 21",
        "1 socket x 4 cores, 1Gi per numa, l3 per 2 cores",
    ],
)
def test_what_the_kubelet_itself_sees_or_somebody_wrote_down_is_told(text: str) -> None:
    """cAdvisor shows no caches and distances here, so there are none for the kubelet."""
    assert combine([source_of(text, "box")]).machine.assumed == ()


def test_lscpu_fills_what_numactl_leaves_open() -> None:
    """Cores and sockets are told by one of the two, caches by none."""
    both = [source_of(NUMACTL.replace(" 4 5", "").replace(" 6 7", ""), "numactl.txt"), source_of(LSCPU, "lscpu.txt")]
    assert set(combine(both).machine.assumed) == {"uncore_cache", "hugepages"}


def test_a_guessed_distance_gives_way_to_a_told_one() -> None:
    """A sketch without distances stands against numactl, which has them."""
    sketch = read_sketch("2 sockets x 2 cores x 2 threads, 1000Mi per numa")
    told = source_of(NUMACTL, "numactl.txt")
    combined = combine([Source("sketch", sketch, "sketch"), told])
    assert [node.distances for node in combined.machine.numa_nodes] == [(10, 21), (21, 10)]
    assert "distances" not in combined.machine.assumed
    assert combined.disagreements == ()


def test_three_gpus_whose_links_nobody_tells_are_noted() -> None:
    """Of two there is only one pair to choose."""
    devices = "devices:\n" + "".join(
        f"- {{id: g{n}, resource: nvidia.com/gpu, kind: gpu, numa: [0]}}\n" for n in range(3)
    )
    machine = combine([source_of(FILE + devices, "box.yaml")]).machine
    assert "links" in machine.assumed
    two = combine([source_of(FILE + devices.rpartition("- ")[0], "box.yaml")]).machine
    assert "links" not in two.assumed


@given(any_machines(), st.lists(st.sampled_from([*CODES, "moon"]), unique=True))
def test_a_machine_has_a_note_for_each_word_and_no_other(machine: Machine, words: list[str]) -> None:
    notes = machine_notes(replace(machine, assumed=tuple(words)))
    assert {note.code for note in notes} == {CODES.get(word, "machine-assumed") for word in words}
    assert len(notes) == len(words) == len(untold_words(replace(machine, assumed=tuple(words))))
    assert all(note.code in NOTE_CODES and note.about == "machine" for note in notes)


def test_what_sources_disagree_about_is_a_note() -> None:
    found = Disagreement("NUMA node of GPU0", (("/sys", "0"), ("topo.txt", "1")), "0", "the kubelet reads it there")
    text = "NUMA node of GPU0: /sys says 0, topo.txt says 1; taken: 0 (the kubelet reads it there)"
    assert disagreement_notes([found]) == (Note("sources-disagree", "machine", text),)
