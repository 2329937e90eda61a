"""Nodes as rows of a table: the formats, what is assumed, and mistakes with their places."""

import pytest

from numafit.cluster.sim.group import idle_situation, reconfigured
from numafit.cluster.sim.table import (
    NodeAssumptions,
    TableRow,
    assumption_notes,
    groups_of_table,
    looks_like_table,
    machine_of_row,
    read_node_table,
)
from numafit.errors import InputError

ALIBABA = """\
sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,32000,262144,0,
openb-node-0001,96000,393216,8,G2
openb-node-0002,96000,393216,8,G2
"""
OWN = "name,count,cpu,memory,example.com/nic\nbox,2,8,16Gi,2\n,,4,8Gi,\n"


def test_rows_of_equal_nodes_are_one_kind() -> None:
    """Whatever else is told of them: that is not looked at."""
    small, large = TableRow(32, 262144), TableRow(96, 393216, (("nvidia.com/gpu", 8),))
    table = read_node_table(ALIBABA, "t")
    assert table.rows == {small: ("openb-node-0000",), large: ("openb-node-0001", "openb-node-0002")}
    assert table.skipped == ()


def test_our_own_columns_have_counts_and_any_device() -> None:
    table = read_node_table(OWN, "t")
    assert table.rows == {
        TableRow(8, 16384, (("example.com/nic", 2),)): ("box-0", "box-1"),
        TableRow(4, 8192): ("node-3",),
    }


def test_the_mark_that_spreadsheets_write_first_is_no_part_of_a_name() -> None:
    assert looks_like_table(f"\ufeff{OWN}")
    assert read_node_table(f"\ufeff{OWN}", "t") == read_node_table(OWN, "t")


def test_a_machine_has_equal_parts_on_its_numa_nodes() -> None:
    machine = machine_of_row(TableRow(96, 393216, (("nvidia.com/gpu", 8),)), 2)
    assert [sum(cpu.numa == numa for cpu in machine.cpus) for numa in (0, 1)] == [48, 48]
    assert [own.numa for own in machine.devices] == [(0,)] * 4 + [(1,)] * 4
    siblings = [cpu.id for cpu in machine.cpus if (cpu.socket, cpu.core) == (0, machine.cpus[0].core)]
    assert siblings == [0, 48]


@pytest.mark.parametrize(
    ("cpus", "wanted", "numa", "threads"), [(82, 2, 2, 1), (82, 4, 2, 1), (7, 2, 1, 1), (8, 4, 4, 2)]
)
def test_what_cannot_be_split_has_fewer_numa_nodes_or_threads(cpus: int, wanted: int, numa: int, threads: int) -> None:
    machine = machine_of_row(TableRow(cpus, 8192), wanted)
    cores = {(cpu.socket, cpu.core) for cpu in machine.cpus}
    assert (len(machine.numa_nodes), len(machine.cpus), len(machine.cpus) // len(cores)) == (numa, cpus, threads)


def test_each_kind_is_a_kubelet_that_starts_and_another_policy_can_be_set() -> None:
    """The first core is reserved: CPUs 0 and 48."""
    (_, (group, names)) = groups_of_table(read_node_table(ALIBABA, "t"), NodeAssumptions())
    node = idle_situation(group).node
    assert names == ("openb-node-0001", "openb-node-0002")
    assert (node.topology.policy, node.cpu.reserved) == ("single-numa-node", 1 | 1 << 48)
    other = idle_situation(reconfigured(group, {"topologyManagerPolicy": "restricted", "topologyManagerScope": "pod"}))
    assert (other.node.topology.policy, other.node.topology.scope) == ("restricted", "pod")
    assert [note.code for note in assumption_notes(NodeAssumptions())] == [
        "nodes-numa-assumed",
        "nodes-kubelet-assumed",
    ]


def test_bad_rows_are_left_out_with_their_places() -> None:
    text = "name,count,cpu,memory\na,1,4,8Gi\na,1,4,8Gi\nb,x,4,8Gi\nc,1,1500m,8Gi\nd,1,4\ne,1,4,8Mi\n"
    table = read_node_table(text, "t.csv")
    assert list(table.rows.values()) == [("a",)]
    assert [own.partition(": ")[0] for own in table.skipped] == [f"t.csv:{line}" for line in (3, 4, 5, 6, 7)]


def test_what_no_machine_has_is_a_bad_row_at_its_line() -> None:
    """As many CPUs and as much memory as is believed make machines, on any number of NUMA nodes."""
    text = "cpu,memory\n4,8Gi\n100000,8Gi\n4,9Ei\n4,1" + "0" * 40 + "\n4096,1Pi\n"
    table = read_node_table(text, "t")
    assert list(table.rows) == [TableRow(4, 8192), TableRow(4096, 1 << 30)]
    assert table.skipped[0] == "t:3: 100000 CPUs are not believed: at most 4096"
    assert [own[:4] for own in table.skipped] == ["t:3:", "t:4:", "t:5:"]
    for cpus in (4095, 4096):
        for numa in (1, 2, 16):
            assert len(machine_of_row(TableRow(cpus, 1 << 30), numa).cpus) == cpus


def test_a_row_that_is_no_csv_is_left_out_with_its_line() -> None:
    table = read_node_table("cpu,memory\n4,8\rGi\n4,8Gi\n", "t")
    assert list(table.rows.values()) == [("node-3",)]
    assert table.skipped == ("t:2: a carriage return stands inside this row (end lines as Unix or Windows does)",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cpu,memory,a.b/c=d\n4,8Gi,1\n", '"a.b/c=d" is no column of nodes'),
        ("cpu,colour,memory\n", '"colour" is no column of nodes'),
        ("cpu,name\n1,2\n", "no column memory"),
        ("cpu,memory\n", "there is no node in it"),
        ("cpu,memory\nx,1Gi\n", 't:2: cpu is "x", and no quantity like 16 or 64Gi'),
        ("cpu,memory,count\n4,8Gi,few\n", 't:2: count is "few", and no whole number'),
        ("cpu,memory,a.b/c\n4,8Gi,1.5\n", 't:2: a.b/c is "1.5", and no whole number'),
    ],
)
def test_a_table_without_a_good_row_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_node_table(text, "t")
    assert said in str(caught.value)


def test_a_file_of_kubelet_sim_is_no_table() -> None:
    assert looks_like_table(ALIBABA)
    assert looks_like_table(OWN)
    assert not looks_like_table("format: numafit/nodes/v1\nnodes: [a, cpu]\n")
