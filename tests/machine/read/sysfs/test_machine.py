"""Machines from /sys and /proc, compared with what the kubelet found on the same machines."""

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.model import Machine, NumaNode
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.tree import FolderTree, Tree, live_tree, open_tree
from tests.machine.read.sysfs.trees import CPUS, NODES, MapTree, server

SHARED = Path(__file__).resolve().parents[4].parent / "shared"
RUNS = sorted((SHARED / "kubelet-runs").glob("*/kubelet.log.gz"))

_NODE = re.compile(r"\{Id:(\d+) Memory:(\d+) HugePages:\[(.*?)\] Cores:\[(.*)\] Caches:\[.*?\] Distances:\[([\d ]*)\]")
_CORE = re.compile(r"\{Id:(\d+) Threads:\[([\d ]*)\] Caches:\[.*?\] UncoreCaches:\[(.*?)\] SocketID:(\d+)")
_PAGES = re.compile(r"PageSize:(\d+) NumPages:(\d+)")


def kubelet_view(line: str) -> tuple[object, ...]:
    """Sockets, and per NUMA node its id, huge pages, distances and cores, from the `Machine:` line of a kubelet log."""
    nodes = []
    for text in re.split(r"(?=\{Id:\d+ Memory:)", line[line.index(" Topology:[") :])[1:]:
        node = _NODE.match(text)
        assert node
        cores = [
            (int(core), int(socket), [int(cpu) for cpu in threads.split()], uncore != "")
            for core, threads, uncore, socket in _CORE.findall(node[4])
        ]
        pages = {int(size) * 1024: int(count) for size, count in _PAGES.findall(node[3])}
        nodes.append((int(node[1]), pages, tuple(int(part) for part in node[5].split()), cores))
    sockets = re.search(r"NumSockets:(\d+)", line)
    assert sockets
    return int(sockets[1]), nodes


def our_view(machine: Machine) -> tuple[object, ...]:
    nodes = []
    for node in machine.numa_nodes:
        cores: dict[tuple[int, int, bool], list[int]] = {}
        for cpu in machine.cpus:
            if cpu.numa == node.id:
                cores.setdefault((cpu.core, cpu.socket, cpu.uncore_cache is not None), []).append(cpu.id)
        listed = [(core, socket, threads, uncore) for (core, socket, uncore), threads in cores.items()]
        nodes.append((node.id, node.hugepages, node.distances, listed))
    return machine.sockets, nodes


@pytest.mark.skipif(not RUNS, reason="the runs of a real kubelet are not here")
@pytest.mark.parametrize("log", RUNS, ids=lambda log: log.parent.name)
def test_a_captured_machine_is_what_the_kubelet_saw_there(log: Path) -> None:
    """kubelet 1.36.4 logs the machine it found: nodes and cores in this order, and these uncore caches. Memory is left
    out: some runs were on another boot of the machine than the capture."""
    name = (log.parent / "machine").read_text().strip()
    with gzip.open(log, "rt") as lines:
        line = next(line for line in lines if " Machine: {" in line)
    machine = read_sysfs(open_tree(SHARED / "captures" / name), name)
    assert our_view(machine) == kubelet_view(line)


def test_the_kubelet_finds_no_memory_but_what_the_files_say() -> None:
    """`MemTotal` of the machine and of each node, in bytes; the first is not the sum of the others."""
    machine = read_sysfs(MapTree(server(nodes=2)), "x")
    assert (machine.memory, [node.memory for node in machine.numa_nodes]) == (2000000 * 1024, [1 << 30, 1 << 30])


def test_a_server_is_read_whole() -> None:
    """Nodes with huge pages and distances, model and sockets."""
    machine = read_sysfs(MapTree(server(nodes=2)), "x")
    assert (machine.model, machine.sockets, len(machine.cpus)) == ("Test CPU", 2, 16)
    assert machine.numa_nodes == (
        NumaNode(0, memory=1 << 30, hugepages={2 << 20: 0, 1 << 30: 0}, distances=(10, 21)),
        NumaNode(1, memory=1 << 30, hugepages={2 << 20: 1, 1 << 30: 0}, distances=(21, 10)),
    )


def test_nodes_stand_in_the_order_of_their_names_as_text() -> None:
    """node10 before node2, as cAdvisor's glob gives them; the distances go by ascending id all the same."""
    machine = read_sysfs(MapTree(server(nodes=12, cores=1)), "x")
    assert [node.id for node in machine.numa_nodes] == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    assert machine.numa_nodes[2].distances == (21,) * 10 + (10, 21)


def test_a_node_without_cpus_or_memory_is_a_node() -> None:
    """The topology manager counts it (kubelet 1.20 to 1.36)."""
    files = {**server(nodes=1), f"{NODES}/node3/distance": "17 10\n", f"{NODES}/node5/cpu0/topology": ""}
    machine = read_sysfs(MapTree(files), "x")
    assert machine.numa_nodes[1:] == (NumaNode(3, distances=(17, 10)), NumaNode(5))


def test_without_node_folders_each_socket_is_a_node() -> None:
    """cAdvisor then knows neither memory nor distances of these nodes; numafit lists them by id."""
    files = {path: text for path, text in server(nodes=2).items() if not path.startswith(NODES)}
    machine = read_sysfs(MapTree(files), "x")
    assert machine.numa_nodes == (NumaNode(0), NumaNode(1))
    assert {cpu.numa == cpu.socket for cpu in machine.cpus} == {True}


@pytest.mark.parametrize(
    ("cpuinfo", "sockets"),
    [
        ("physical id\t: 0\nphysical id\t: 3\nphysical id\t: 0\n", 2),
        ("physical id\t: 0\nphysical id : 0\n", 2),
        ("processor\t: 0\n", 2),
        (None, 2),
    ],
    ids=["lines", "other blanks count twice", "no such lines", "no file"],
)
def test_sockets_are_counted_as_cadvisor_does(cpuinfo: str | None, sockets: int) -> None:
    """Different `physical id` lines of /proc/cpuinfo as text; without any, different package numbers of the CPUs."""
    files = server(nodes=2)
    del files["proc/cpuinfo"]
    if cpuinfo is not None:
        files["proc/cpuinfo"] = cpuinfo
    assert read_sysfs(MapTree(files), "x").sockets == sockets


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{CPUS}/cpu1/topology/core_id", "one"),
        (f"{CPUS}/cpu1/topology/physical_package_id", ""),
        (f"{CPUS}/online", "0-"),
        (f"{NODES}/node0/distance", "10  21"),
        (f"{NODES}/node0/meminfo", "MemFree: 5 kB"),
        (f"{NODES}/node0/hugepages/hugepages-2048kB/nr_hugepages", "x"),
        ("proc/meminfo", "nothing"),
    ],
)
def test_a_file_that_the_kubelet_could_not_read_either_is_refused(path: str, text: str) -> None:
    """The kubelet does not start on such a machine; the error names the file."""
    with pytest.raises(InputError, match=re.escape(f"box.tgz/{path}")):
        read_sysfs(MapTree({**server(), path: text}), "box.tgz")


def test_a_tree_without_cpus_is_refused() -> None:
    """Most likely the wrong folder."""
    with pytest.raises(InputError, match=r"^box: no CPU and no NUMA node"):
        read_sysfs(MapTree({"etc/passwd": "root"}), "box")


def test_the_live_machine_is_read() -> None:
    """Wherever these tests run, the process sits on a CPU."""
    if not Path("/sys/devices/system/cpu/cpu0/topology/core_id").exists():
        pytest.skip("this system has no /sys with CPUs")
    machine = read_sysfs(live_tree(), "/")
    assert any(cpu.online for cpu in machine.cpus)


ODD = st.one_of(st.sampled_from(["", "\n", "-1", "0", "0-3", "9" * 30, "1,2,", "ffffffff,ffffffff", "\0"]), st.text())


@settings(max_examples=40)
@given(data=st.data())
def test_arbitrary_files_give_a_machine_or_a_sentence(data: st.DataObject) -> None:
    """Some files missing, some with arbitrary text."""
    files = server(nodes=2, cores=2)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=6, unique=True)):
        text = data.draw(st.one_of(st.none(), ODD))
        if text is None:
            del files[path]
        else:
            files[path] = text
    tree: Tree = MapTree(files)
    try:
        machine = read_sysfs(tree, "x")
    except InputError:
        return
    assert isinstance(machine, Machine)


def test_few_files_are_read() -> None:
    """128 CPUs, one thread per core: 23 files each and some for the rest; more would cost the live reader its speed."""

    class Counting(MapTree):
        reads = 0

        def text(self, path: str) -> str | None:
            self.reads += 1
            return super().text(path)

    tree = Counting(server(nodes=8, cores=16, threads=1, l3_cores=8))
    assert len(read_sysfs(tree, "x").cpus) == 128
    assert tree.reads < 24 * 128


def test_a_folder_is_read_like_the_tree_in_memory(tmp_path: Path) -> None:
    """Links of CPUs in nodes, files, folders."""
    tree = MapTree(server(nodes=2, cores=4, l3_cores=2))
    tree.write(tmp_path)
    assert read_sysfs(FolderTree(tmp_path), "x") == read_sysfs(tree, "x")
