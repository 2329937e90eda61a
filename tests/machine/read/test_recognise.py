"""Descriptions of machines, recognised by content."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.convert.nrt import nrt_text
from numafit.machine.convert.numactl import numactl_text
from numafit.machine.file.write import machine_text
from numafit.machine.read.recognise import kind_of, source_of
from numafit.machine.source import CATALOGUE, KINDS, NVML, SYSFS
from tests.machine.read.readers import fixture

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = (ROOT / "examples" / "small-node" / "machine.json").read_text()

TEXTS = {
    "nvidia-list": "GPU 0: Tesla P100-PCIE-16GB (UUID: GPU-77a702db-e37f-3a74-d46d-c5713f66058c)\n",
    "nvidia-topo": "\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\x1b[0m\nGPU0\t X \t0-15\t0\n\nLegend:\n\n  X = Self\n",
    "numactl": numactl_text(machine_named("laptop")),
    "lscpu": "Architecture:        x86_64\nCPU(s):              4\nOn-line CPU(s) list: 0-3\n",
    "lspci": "3b:00.0 3D controller: NVIDIA Corporation GP100GL [Tesla P100] (rev a1)\n\tFlags: NUMA node 1\n",
    "machine file": machine_text(machine_named("laptop"), "yaml"),
    "sketch": "2 sockets x 4 cores\n",
    "hwloc": fixture("hwloc-coherent-gpu.xml").decode(),
    "cadvisor": fixture("cadvisor-two-caches.json").decode(),
    "podresources": fixture("podresources-camel.json").decode(),
    "NodeResourceTopology": fixture("nrt-v1alpha1.json").decode(),
}
OTHER_TEXTS = [
    ("hwloc", fixture("lstopo-memory-only-node.txt").decode()),
    ("NodeResourceTopology", nrt_text(machine_named("laptop"))),
    ("NodeResourceTopology", '{"kind": "NodeResourceTopologyList", "items": []}'),
    ("hwloc", '<?xml version="1.0"?>\n<topology version="2.0"/>'),
    ("cadvisor", '{"machine_id": "", "topology": []}'),
    ("podresources", '{"cpu_ids": [0, 1]}'),
    ("machine file", EXAMPLE),
    ("machine file", machine_text(machine_named("dgx-a100"), "json")),
    ("machine file", "cpus:\n- {numa: 0, socket: 0, cpus: 0-3}\n"),
    ("lscpu", "# CPU,Core,Socket,Node\n0,0,0,0\n"),
    ("lscpu", '{"lscpu": [{"field": "CPU(s):", "data": "4"}]}'),
    ("lscpu", '{"cpus": [{"cpu": "0", "node": "0", "socket": "0", "core": "0"}]}'),
    ("podresources", '{"podResources": []}'),
    ("podresources", '{"devices": [{"resource_name": "a.b/c", "device_ids": ["1"]}]}'),
    ("sketch", "Package:2 Core:4 PU:2"),
]


@pytest.mark.parametrize(("kind", "text"), [*TEXTS.items(), *OTHER_TEXTS])
def test_a_text_is_recognised_by_what_it_says(kind: str, text: str) -> None:
    """The name of the file does not count."""
    assert kind_of(text) == kind


def test_each_kind_of_text_is_tried() -> None:
    """The other kinds are no texts: a tree of /sys, a name, an answer of the driver's library."""
    assert TEXTS.keys() == set(KINDS) - {SYSFS, CATALOGUE, NVML}


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_recognised_is_read(kind: str) -> None:
    """With its kind, so that sources can be weighed against each other."""
    source = source_of(TEXTS[kind].encode(), "x")
    assert source.kind == kind
    assert source.machine.cpus or source.machine.devices


@pytest.mark.parametrize("data", [b"", b" \n", b"hello world", b"[1, 2]", b"kind: Pod\n"])
def test_what_describes_no_machine_gets_a_list_of_what_does(data: bytes) -> None:
    """One sentence that names the known sources."""
    with pytest.raises(InputError, match=r"^x: .* are understood\)$"):
        source_of(data, "x")


PIECES = st.sampled_from([line + "\n" for text in TEXTS.values() for line in text.splitlines()][:60])


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=80)
    | st.lists(PIECES, max_size=8).map(lambda lines: "".join(lines).encode())
    | st.dictionaries(
        st.sampled_from(["topology", "cpus", "devices", "lscpu", "list", "format"]),
        st.lists(st.dictionaries(st.sampled_from(["cpu", "id", "numa", "nodes"]), st.integers() | st.text(max_size=3))),
        max_size=2,
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Whichever reader they reach."""
    assert outcome(data).startswith(("machine", "box"))


def outcome(data: bytes) -> str:
    try:
        source_of(data, "box")
    except InputError as error:
        return str(error)
    return "machine"
