"""The tables."""

import pytest
from hypothesis import given

from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.show.draw.tables import TABLES, columns, cpu_table, device_table, link_table, numa_table
from tests.machine.strategies import any_machines
from tests.show.draw.boxes import few, pairs_box


@few
@given(machine=any_machines())
def test_each_table_has_a_row_for_each_thing(machine: Machine) -> None:
    """And one for its heads; a name with a line end in it breaks no row."""
    rows = {name: len(table(machine).splitlines()) - 1 for name, table in TABLES.items()}
    assert rows == {
        "cpus": len(machine.cpus),
        "numa": len(machine.numa_nodes),
        "devices": len(machine.devices),
        "links": len(machine.links),
    }


def test_columns_that_nothing_is_known_of_are_left_out() -> None:
    """No die, no uncore cache, no kind, no state."""
    assert cpu_table(Machine((Cpu(1, 0, 0, 0), Cpu(0, 0, 0, 0)))) == (
        "CPU  core  socket  NUMA\n  0     0       0     0\n  1     0       0     0\n"
    )


def test_an_empty_table_is_its_heads() -> None:
    """So that one sees what was looked for."""
    assert link_table(Machine()).split() == ["from", "to", "kind", "typical,", "one", "way", "meaning"]


def test_distances_of_many_nodes_are_written_short() -> None:
    """Four and more equal neighbours become their number."""
    rows = numa_table(machine_named("gb200")).splitlines()
    assert rows[1].endswith("10 40 16x80 16x120")
    assert all(len(row) < 90 for row in rows[:3])


def test_a_device_shows_both_nodes_where_they_differ() -> None:
    """/sys knows none, the driver says 0."""
    gpus = (Device("", "a", None, label="GPU0", driver_numa=0), Device("", "b", (1,), label="GPU1", driver_numa=1))
    assert device_table(Machine(devices=gpus, numa_nodes=(NumaNode(0),))).splitlines() == [
        "device  NUMA  driver  id",
        "GPU0          0       a",
        "GPU1    1             b",
    ]


@pytest.mark.parametrize("row", [("a", ""), ("abc", "")])
def test_numbers_stand_to_the_right(row: tuple[str, str]) -> None:
    """Texts named as such to the left."""
    assert columns(("x", "y"), [row, ("1", "2")], left=("y",)).splitlines()[2] == "1".rjust(len(row[0])) + "  2"


def test_a_link_has_its_meaning() -> None:
    """In the words of `numafit machine links`."""
    assert link_table(pairs_box()).splitlines()[1].split()[:3] == ["GPU0", "GPU1", "PIX"]
