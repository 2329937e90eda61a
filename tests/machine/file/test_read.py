"""The machine file."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.file.read import read_machine_file
from numafit.machine.file.write import machine_text
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.replay.inputs import machine_from_recording
from tests.machine.shapes import regular
from tests.machine.strategies import any_machines

ROOT = Path(__file__).resolve().parents[3]

TWO_SOCKETS = """\
format: numafit/machine/v1
name: two sockets
memory: 128Gi
numaNodes:
- {id: 0, memory: 64Gi, hugepages: {2Mi: 512}, distances: [10, 21]}
- {id: 1, memory: 64Gi, distances: [21, 10]}
cpus:
- {numa: 0, socket: 0, threads: [0-3, 8-11]}
- {numa: 1, socket: 1, threads: [4-7, 12-15], cores: 0-3}
offline: 15
isolated: 2,10
caches:
- {level: 2, kind: unified, size: 1Mi, threads: [0-7, 8-15]}
- {level: 3, kind: unified, size: 32Mi, cpus: ["0-3,8-11", "4-7,12-15"], ids: 0-1}
devices:
- {id: GPU-a, resource: nvidia.com/gpu, numa: [0], kind: gpu, label: GPU0, bus: "0000:3b:00.0", pciClass: "0x030200"}
- {id: GPU-b, resource: nvidia.com/gpu, numa: [1], kind: gpu, label: GPU1}
- {id: mlx5_0, kind: nic, label: NIC0}
links:
  between: [GPU0, GPU1, NIC0]
  matrix:
  - [SYS, PIX]
  - [SYS]
"""


def cpu(id: int, core: int, place: int, *, online: bool = True, isolated: bool = False) -> Cpu:
    return Cpu(id=id, core=core, socket=place, numa=place, online=online, isolated=isolated)


@settings(max_examples=50, deadline=None)
@given(any_machines(), st.sampled_from(["yaml", "json"]))
def test_a_machine_that_is_written_reads_back_the_same(machine: Machine, form: str) -> None:
    """Every field, every order, in both forms; and the same machine gives the same text again."""
    text = machine_text(machine, "yaml" if form == "yaml" else "json")
    assert read_machine_file(text, "box") == machine
    assert read_machine_file(text.encode(), "box") == machine


def test_the_text_of_a_regular_machine_is_short_and_for_people() -> None:
    """Equal CPUs share a line; what is at its default is left out."""
    machine = read_machine_file(TWO_SOCKETS, "box.yaml")
    assert machine == Machine(
        name="two sockets",
        memory=128 << 30,
        numa_nodes=(
            NumaNode(0, memory=64 << 30, hugepages={2 << 20: 512}, distances=(10, 21)),
            NumaNode(1, memory=64 << 30, distances=(21, 10)),
        ),
        cpus=tuple(
            cpu(id, id % 8 if id % 8 < 4 else id % 4, id % 8 // 4, online=id != 15, isolated=id in (2, 10))
            for id in range(16)
        ),
        caches=(
            *(Cache(2, "unified", 1 << 20, 1 << core | 1 << core + 8) for core in range(8)),
            Cache(3, "unified", 32 << 20, 0x0F0F, 0),
            Cache(3, "unified", 32 << 20, 0xF0F0, 1),
        ),
        devices=(
            Device("nvidia.com/gpu", "GPU-a", (0,), kind="gpu", label="GPU0", bus="0000:3b:00.0", pci_class=0x030200),
            Device("nvidia.com/gpu", "GPU-b", (1,), kind="gpu", label="GPU1"),
            Device("", "mlx5_0", kind="nic", label="NIC0"),
        ),
        links=(Link("GPU-a", "GPU-b", "SYS"), Link("GPU-a", "mlx5_0", "PIX"), Link("GPU-b", "mlx5_0", "SYS")),
    )
    written = machine_text(machine, "yaml").splitlines()
    # one line is too long for the writer, which breaks it up
    assert written[:15] == TWO_SOCKETS.splitlines()[:15]
    assert written[-4:] == TWO_SOCKETS.splitlines()[-4:]


def test_a_thousand_cpus_fit_on_a_page() -> None:
    """Neighbouring siblings make a list with a step."""
    text = machine_text(regular(2, 2, 512, 2, adjacent=True), "yaml")
    assert '- {numa: 0, socket: 0, threads: ["0-510:2", "1-511:2"], cores: 0-255}' in text.splitlines()
    assert len(text.splitlines()) < 10


def test_the_json_form_is_json() -> None:
    """One object, with the fields of the YAML form."""
    value = json.loads(machine_text(read_machine_file(TWO_SOCKETS, ""), "json"))
    assert value["cpus"][0] == {"numa": 0, "socket": 0, "threads": ["0-3", "8-11"]}


def test_the_form_of_the_recordings_is_read_as_the_recordings_are() -> None:
    """One entry per CPU, whose order counts."""
    data = (ROOT / "examples" / "small-node" / "machine.json").read_text()
    value = json.loads(data)
    devices = tuple(Device(item["resource"], item["id"], tuple(item["numa"])) for item in value["devices"])
    recorded = machine_from_recording(value)
    assert read_machine_file(data, "machine.json") == Machine(
        cpus=recorded.cpus, numa_nodes=recorded.numa_nodes, name=recorded.name, devices=devices
    )


def test_the_order_of_single_cpus_is_kept() -> None:
    """The kubelet's core order follows it."""
    entries = [{"cpu": id, "core": id, "socket": 0, "numa": 0} for id in (3, 1, 2)]
    machine = read_machine_file(json.dumps({"numaNodes": [{"id": 0}], "cpus": entries}), "")
    assert [cpu.id for cpu in machine.cpus] == [3, 1, 2]


REFUSED = {
    "an unknown field": ("numaNodes:\n- {id: 0, memroy: 1Gi}", "box:2:11: numaNodes[0].memroy: there is no field"),
    "a CPU twice": (
        "cpus:\n- {numa: 0, socket: 0, cpus: 0-3}\n- {numa: 0, socket: 0, cpus: '3,4'}",
        "box:3:30: cpus[1].cpus: CPU 3 is listed a second time",
    ),
    "a CPU twice in a group": ("cpus:\n- {numa: 0, socket: 0, cpus: '1,1'}", "CPU 1 is listed a second time"),
    "a missing NUMA node": (
        "numaNodes:\n- id: 0\ncpus:\n- {numa: 1, socket: 0, cpus: 0}",
        "box:4:10: cpus[0].numa: there is no NUMA node 1",
    ),
    "a NUMA node twice": ("numaNodes:\n- id: 0\n- id: 0", "box:3:7: numaNodes[1].id: NUMA node 0 is listed twice"),
    "a huge NUMA node": ("numaNodes:\n- id: 65537", "box:2:7: numaNodes[0].id: 65537 is out of range"),
    "a wrong amount": ("memory: lots", 'box:1:9: memory: "lots" is not an amount (write it like 16Gi)'),
    "a fraction of a byte": ("memory: 0.5", "a whole number is needed here, not 0.5"),
    "a negative amount": ("memory: -1Gi", "is negative"),
    "too many bytes": ("memory: 9000Ei", "is not a whole number of bytes"),
    "a wrong list": ("cpus:\n- {numa: 0, socket: 0, cpus: 3-1}", 'the range "3-1" runs backwards'),
    "a huge list": ("cpus:\n- {numa: 0, socket: 0, cpus: 0-99999}", "99999 is too large for an id"),
    "unequal threads": ("cpus:\n- {numa: 0, socket: 0, threads: [0-3, 4-6]}", "3 CPUs here, 4 in the first list"),
    "cpus and threads": ("cpus:\n- {numa: 0, socket: 0, threads: [0], cpus: 0}", "either cpus or threads"),
    "too few cores": ("cpus:\n- {numa: 0, socket: 0, cpus: 0-3, cores: 0-1}", "2 core ids for 4 cores"),
    "no socket": ("cpus:\n- {numa: 0, cpus: 0-3}", 'cpus[0]: the field "socket" is missing'),
    "too few distances": ("numaNodes:\n- {id: 0, distances: [10, 20]}", "2 distances for 1 NUMA nodes"),
    "offline of nothing": ("offline: 3", "box:1:10: offline: there is no CPU 3"),
    "a poor order": ("cpus:\n- {numa: 0, socket: 0, cpus: 0-3}\ncpuOrder: 0-2", "does not list each CPU once"),
    "a device twice": ("devices:\n- id: a\n- id: a", 'the device "a" is listed twice'),
    "a link to nothing": ("links:\n- {a: x, b: z, kind: SYS}", 'there is no device "x"'),
    "a link to itself": ("devices:\n- id: x\nlinks:\n- {a: x, b: x, kind: SYS}", "linked with itself"),
    "a short matrix": ("devices:\n- id: x\n- id: z\nlinks: {between: [x, z], matrix: []}", "0 rows for 2 devices"),
    "a wrong format": ("format: other", "it must be numafit/machine/v1"),
    "a list": ("- 1", "a mapping is needed here, not a list"),
    "a wrong class": ("devices:\n- {id: a, pciClass: zz}", '"zz" is not a PCI class'),
    "a wrong cache": ("caches:\n- {level: 1, kind: odd, cpus: [0]}", "no kind of cache"),
    "a wrong page size": ("numaNodes:\n- {id: 0, hugepages: {big: 1}}", '"big" is not a page size'),
}


def test_a_short_text_cannot_stand_for_an_endless_machine() -> None:
    """Ids are counted over the whole file."""
    sets = ", ".join(["0-65535"] * 9)
    with pytest.raises(InputError, match="all lists together name more than 500000 ids"):
        read_machine_file(f"caches:\n- {{level: 3, kind: unified, cpus: [{sets}]}}", "box")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_with_its_place(name: str) -> None:
    """One sentence with file, line, column and field."""
    text, message = REFUSED[name]
    with pytest.raises(InputError) as caught:
        read_machine_file(text, "box")
    assert message in str(caught.value)


WORDS = st.sampled_from(
    ["cpus", "numaNodes", "id", "numa", "socket", "threads", "devices", "links", "matrix", "a", "0-3"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60) | st.dictionaries(WORDS, VALUES, max_size=4).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    assert outcome(data).startswith(("machine", "box"))


def outcome(data: bytes) -> str:
    try:
        read_machine_file(data, "box")
    except InputError as error:
        return str(error)
    return "machine"
