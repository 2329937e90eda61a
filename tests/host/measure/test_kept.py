"""The last survey of a machine, on disk."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.host.measure.kept import digest_of, file_of, keep, kept
from numafit.host.measure.result import Measured, MeasuredNode, NodePair, figure_of
from numafit.machine.catalogue.names import machine_named

FOUND = Measured(
    "2026-11-16T19:00:00Z", "abc", (MeasuredNode(0, 3, 64, "move_pages"),), (NodePair(0, 0, figure_of([1])),)
)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    """In a folder that is made for it; the last one counts."""
    folder = tmp_path / "state"
    assert keep(folder, FOUND) == ""
    assert kept(folder, "abc") == FOUND
    newer = replace(FOUND, at="2026-11-17T00:00:00Z")
    assert (keep(folder, newer), kept(folder, "abc")) == ("", newer)
    assert os.listdir(folder) == ["measured-abc.json"]


def test_what_cannot_be_read_was_not_kept(tmp_path: Path) -> None:
    """Another machine, another format, half a file."""
    keep(tmp_path, FOUND)
    assert kept(tmp_path, "other") is None
    file_of(tmp_path, "abc").write_text('{"at": ')
    assert kept(tmp_path, "abc") is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cure = "--state-dir or NUMAFIT_STATE names a folder that you may write"
    assert keep(tmp_path / "file", FOUND) == f"{tmp_path / 'file'}: cannot be made: File exists ({cure})"


def test_a_machine_is_the_same_until_something_comes_or_goes() -> None:
    """Another amount of memory, as a virtual machine gets it bit by bit, a new name and devices are nothing."""
    machine = machine_named("gpu8-128cpu")
    nodes = tuple(replace(node, memory=node.memory * 2) for node in machine.numa_nodes)
    assert digest_of(replace(machine, numa_nodes=nodes, name="other", devices=())) == digest_of(machine)
    others = [
        replace(machine, cpus=machine.cpus[1:]),
        replace(machine, model="another"),
        replace(machine, numa_nodes=tuple(replace(node, memory=0) for node in machine.numa_nodes)),
    ]
    assert len({digest_of(each) for each in (machine, *others)}) == 4


@pytest.mark.parametrize(("samples", "middle"), [([3.0], 3.0), ([1.0, 9.0, 2.0], 2.0), ([1.0, 2.0], 1.5)])
def test_a_figure_is_a_median_with_its_range(samples: list[float], middle: float) -> None:
    found = figure_of(samples)
    assert found is not None
    assert (found.middle, found.low, found.high, found.rounds) == (middle, min(samples), max(samples), len(samples))
    assert figure_of([]) is None
