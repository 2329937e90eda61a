"""hwloc's XML, version 2."""

import msgspec
import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.machine.read.hwloc.machine import read_hwloc
from numafit.machine.read.numactl import read_numactl
from numafit.machine.read.sysfs.archive import archive_tree
from numafit.machine.read.sysfs.machine import read_sysfs
from tests.machine.read.readers import MACHINES, capture, damaged, fixture, reads_or_refuses

UUID = "GPU-ba136838-6443-7991-9143-1bf4e48b2994"


def test_a_coherent_machine_is_read_whole() -> None:
    """Node 2 is the memory of the GPU and hangs beside node 0; the matrix of distances has an order of its own.

    The network card hangs at the whole machine: hwloc knows no place for it. The smallest page is the ordinary one.
    """
    assert read_hwloc(fixture("hwloc-coherent-gpu.xml")) == Machine(
        cpus=(
            Cpu(id=0, core=0, socket=0, numa=0, kind="performance"),
            Cpu(id=1, core=1, socket=0, numa=0, kind="performance"),
            Cpu(id=2, core=0, socket=1, numa=1, kind="efficiency"),
            Cpu(id=3, core=0, socket=1, numa=1, kind="efficiency"),
        ),
        numa_nodes=(
            NumaNode(id=0, memory=513000000000, hugepages={2 << 20: 16, 16 << 30: 0}, distances=(10, 40, 80)),
            NumaNode(id=1, memory=514000000000, distances=(40, 10, 120)),
            NumaNode(id=2, memory=102005473280, distances=(80, 120, 10), device=UUID),
        ),
        devices=(
            Device(
                resource="nvidia.com/gpu",
                id=UUID,
                numa=(0,),
                kind="gpu",
                name="NVIDIA GH200 480GB",
                label="GPU0",
                bus="0009:01:00.0",
                pci_class=0x0302,
                root_port="0009:00:00.0",
                memory=99610624 << 10,
            ),
            Device(
                resource="",
                id="0000:01:00.0",
                kind="nic",
                name="mlx5_0",
                label="NIC0",
                bus="0000:01:00.0",
                pci_class=0x0207,
            ),
        ),
        sockets=2,
        model="Neoverse-V2",
        assumed=("numa",),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<topology><object/></topology>", "a file:1: hwloc XML of version 1; version 2 is needed"),
        ('<topology version="3.0"/>', "a file:1: hwloc XML of version 3.0; version 2 is needed"),
        ("<html/>", "a file:1: XML of <html>, not the <topology> of hwloc"),
        ('<topology version="2.0">', "a file:1:25: not XML: no element found"),
        ('<topology version="2.0"/>', "a file: no Machine in it"),
        ('<topology version="2.0"><object type="Machine"/></topology>', "a file: no PU in it"),
        (
            '<topology version="2.0"><object type="Machine"><object type="PU"/></object></topology>',
            "a file:1: a PU without os_index",
        ),
        (
            '<topology version="2">\n<object type="Machine"><object type="NUMANode" cpuset="0xg"/></object></topology>',
            'a file:2: "0xg" is not a set of ids',
        ),
    ],
)
def test_other_xml_is_refused(text: str, message: str) -> None:
    """One sentence with file and line; version 1 had another structure."""
    with pytest.raises(InputError) as error:
        read_hwloc(text, "a file")
    assert str(error.value).startswith(message)


def test_a_device_that_stands_there_twice_is_refused() -> None:
    """Two GPUs with one UUID would be promised twice."""
    text = fixture("hwloc-coherent-gpu.xml").decode()
    again = text.replace("0207 [15b3:1021]", "0302 [10de:2342]").replace(
        'name="mlx5_0" osdev_type="3"/>',
        f"""name="nvml1">
      <info name="NVIDIAUUID" value="{UUID}"/></object>""",
    )
    with pytest.raises(InputError, match="two PCI devices have the same address or UUID"):
        read_hwloc(again)


def test_entities_are_refused() -> None:
    """A file of a few lines that would grow to gigabytes never does."""
    bomb = '<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><topology version="2.0">&b;</topology>'
    with pytest.raises(InputError, match="a file:1: entities are not allowed in it"):
        read_hwloc(bomb, "a file")


def test_deep_nesting_is_refused() -> None:
    """No real machine is nested more than 250 levels deep."""
    with pytest.raises(InputError, match="nested more than 250 levels deep"):
        read_hwloc('<topology version="2.0">' + '<object type="Group">' * 100_000)


@given(damaged("hwloc-coherent-gpu.xml"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_hwloc, data)


def without(machine: Machine, *, caches: bool) -> Machine:
    """What hwloc does not tell, set aside: MemTotal, and a die that is alone in its package."""
    single = len({(cpu.socket, cpu.die) for cpu in machine.cpus}) == machine.sockets
    cpus = tuple(msgspec.structs.replace(cpu, die=None) for cpu in machine.cpus) if single else machine.cpus
    kept = machine.caches if caches else tuple(cache for cache in machine.caches if cache.level < 3)
    return msgspec.structs.replace(machine, cpus=cpus, memory=None, caches=kept, assumed=())


@pytest.mark.parametrize("name", MACHINES)
def test_hwloc_and_sys_give_the_same_machine(name: str) -> None:
    """hwloc 2.9 and Linux 6.1. On epyc2 the emulation numbers one L3 once per CPU, which hwloc takes for one cache."""
    caches = name != "epyc2"
    ours = read_hwloc(capture(name, "lstopo.xml"))
    theirs = read_sysfs(archive_tree(capture(name, "sys.tgz"), name), name)
    assert without(ours, caches=caches) == without(theirs, caches=caches)
    assert ours.assumed == (("numa",) if name == "numa3memonly" else ())


@pytest.mark.parametrize("name", MACHINES)
def test_hwloc_and_numactl_agree_on_numa_nodes(name: str) -> None:
    """numactl rounds memory down to MiB and knows no huge pages; CPUs, nodes and distances are the same."""
    ours, theirs = read_hwloc(capture(name, "lstopo.xml")), read_numactl(capture(name, "numactl-hardware.txt"))
    assert [(cpu.id, cpu.numa) for cpu in ours.cpus] == [(cpu.id, cpu.numa) for cpu in theirs.cpus]
    assert [(node.id, node.memory >> 20, node.distances) for node in ours.numa_nodes] == [
        (node.id, node.memory >> 20, node.distances) for node in theirs.numa_nodes
    ]


@pytest.mark.parametrize("encoding", ["UTF-99", "shift_jis"])
def test_an_encoding_that_cannot_be_read_is_a_sentence(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><topology version="2.0"></topology>'
    with pytest.raises(InputError, match="not XML"):
        read_hwloc(text.encode(), "box.xml")
