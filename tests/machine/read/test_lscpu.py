"""What `lscpu` prints, in its forms."""

import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.read.lscpu import read_lscpu
from tests.machine.read.readers import MACHINES, capture, damaged, fixture, reads_or_refuses

OFFLINE = -1


def cores(machine: Machine) -> list[list[int]]:
    """The CPUs of each core; lscpu's numbers for cores are its own."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for cpu in machine.cpus:
        found.setdefault((cpu.socket, cpu.numa, cpu.core), []).append(cpu.id)
    return sorted(found.values())


def test_an_old_summary_tells_nodes_sockets_and_offline_cpus() -> None:
    """util-linux 2.23: one thread per core, so only the sockets are a guess (there are as many as NUMA nodes)."""
    assert read_lscpu(fixture("lscpu-2.23.txt")) == Machine(
        cpus=(
            *(Cpu(id=cpu, core=cpu, socket=0, numa=0) for cpu in (0, 2, 4, 6)),
            *(Cpu(id=cpu, core=cpu, socket=1, numa=1) for cpu in (1, 3, 5)),
            Cpu(id=7, core=OFFLINE, socket=OFFLINE, numa=OFFLINE, online=False),
        ),
        numa_nodes=(NumaNode(id=0), NumaNode(id=1)),
        sockets=2,
        model="Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz",
        assumed=("socket", "uncore_cache"),
    )


@pytest.mark.parametrize("name", ["lscpu-2.38-terminal.txt", "lscpu-nested.json"])
def test_siblings_are_taken_as_linux_numbers_them(name: str) -> None:
    """Two runs per NUMA node: CPU n and its sibling n + 4. The nested JSON says the same as the text on a terminal."""
    machine = read_lscpu(fixture(name))
    assert cores(machine) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert {cpu.id: cpu.numa for cpu in machine.cpus} == {0: 0, 1: 0, 4: 0, 5: 0, 2: 1, 3: 1, 6: 1, 7: 1}
    assert (machine.sockets, machine.model) == (1, "AMD EPYC 7543 32-Core Processor")
    assert machine.assumed == ("core", "uncore_cache")


def test_the_table_names_its_columns() -> None:
    """`-p=cpu,…`: columns in any order; the L3 of half a NUMA node is an uncore cache (kubelet 1.32)."""
    table = "# CPU,Node,Socket,Core,L1d:L1i:L2:L3\n" + "".join(
        f"{cpu},0,0,{cpu // 2},{cpu // 2}:{cpu // 2}:{cpu // 2}:{cpu // 4 * 8}\n" for cpu in range(8)
    )
    machine = read_lscpu(table)
    assert machine.cpus == tuple(
        Cpu(id=cpu, core=cpu // 2, socket=0, numa=0, uncore_cache=cpu // 4 * 8) for cpu in range(8)
    )
    assert [cache for cache in machine.caches if cache.level == 3] == [
        Cache(level=3, kind="unified", size=0, cpus=0x0F, id=0),
        Cache(level=3, kind="unified", size=0, cpus=0xF0, id=8),
    ]
    assert machine.assumed == ()


def test_a_column_that_is_missing_is_assumed() -> None:
    """`-p=cpu,online`: nothing but CPU numbers; without a node the kubelet takes the package for one."""
    assert read_lscpu("# CPU,Online\n0,Y\n1,N\n") == Machine(
        cpus=(
            Cpu(id=0, core=0, socket=0, numa=0),
            Cpu(id=1, core=OFFLINE, socket=OFFLINE, numa=OFFLINE, online=False),
        ),
        numa_nodes=(NumaNode(id=0),),
        assumed=("core", "numa", "socket", "uncore_cache"),
    )


def test_without_numa_nodes_each_package_is_one() -> None:
    """Kubelet, all versions: no node directory, so one NUMA node per package with its id. The Node column is empty."""
    machine = read_lscpu("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,,,0,0,0,0\n1,1,1,,,1,1,1,1\n")
    assert [(cpu.id, cpu.socket, cpu.numa) for cpu in machine.cpus] == [(0, 0, 0), (1, 1, 1)]
    assert machine.assumed == ()


def test_the_json_of_the_table_is_read_like_the_table() -> None:
    """`lscpu --json -e`: numbers and truth values instead of text; a dash means nothing."""
    rows = [{"cpu": cpu, "node": 0, "socket": 0, "core": cpu, "l1d:l1i:l2:l3": "-", "online": True} for cpu in (0, 1)]
    text = str({"cpus": rows}).replace("'", '"').replace("True", "true")
    assert read_lscpu(text).cpus == tuple(Cpu(id=cpu, core=cpu, socket=0, numa=0) for cpu in (0, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a file: it names neither CPUs nor NUMA nodes"),
        ("NUMA node0 CPU(s): 0-x", 'a file:1: "0-x" is not a list of ids'),
        ("NUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 3", "a file: CPU 3 stands on two NUMA nodes"),
        ("# CPU,Core\n0,0,0", "a file:2: 3 cells in a table of 2 columns"),
        ("# CPU,Core\n0,0\n0,1", "a file:3: CPU 0 stands here a second time"),
        ("# CPU,Core\n0,x", 'a file:2: "x" is not an id in column core'),
        ("# CPU,Core\n", "a file: it names no CPU that is online"),
        ('{"lscpu": 3}', "a file: not the JSON of lscpu: Expected `array | null`, got `int`"),
        ("{}", 'a file: neither "lscpu" nor "cpus" in it'),
    ],
)
def test_what_is_no_output_of_lscpu_is_refused(text: str, message: str) -> None:
    """One sentence with file and, where there is one, line."""
    with pytest.raises(InputError) as error:
        read_lscpu(text, "a file")
    assert str(error.value).startswith(message)


@given(damaged("lscpu-2.23.txt", "lscpu-2.38-terminal.txt", "lscpu-nested.json"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_lscpu, data)
    reads_or_refuses(read_lscpu, b"# CPU,Core,Socket,Node,,L1d,L3\n0,0,0,0,,0,0\n" + data)


@pytest.mark.parametrize("name", MACHINES)
def test_summary_and_table_of_a_capture_agree(name: str) -> None:
    """util-linux 2.38.1: the guesses of the summary about cores and sockets are right; the table lacks empty nodes."""
    summary, table = read_lscpu(capture(name, "lscpu.txt")), read_lscpu(capture(name, "lscpu-p.txt"))
    assert cores(summary) == cores(table)
    assert summary.sockets == table.sockets
    assert [(cpu.id, cpu.numa, cpu.socket) for cpu in summary.cpus] == [
        (cpu.id, cpu.numa, cpu.socket) for cpu in table.cpus
    ]
    assert {node.id for node in table.numa_nodes} <= {node.id for node in summary.numa_nodes}
