"""The captures kept here: machines that were booted once, read as they were defined."""

import tarfile
from pathlib import Path

import pytest

from numafit.cli.options.machine import resolve_machine
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.tree import open_tree
from tests.vm.capture import BIG_CAPTURE
from tests.vm.facts import facts_of_machine, facts_of_shape, kernel_share
from tests.vm.results import extract
from tests.vm.shapes import BIG

LARGEST = 200_000


def test_a_machine_with_128_cpus_is_what_it_was_defined_to_be() -> None:
    """2 sockets with 2 NUMA nodes each, 2 threads per core, 2 devices per node; and the tools agree with /sys."""
    combined = resolve_machine([str(BIG_CAPTURE)])
    assert facts_of_machine(combined.machine) == facts_of_shape(BIG)
    assert combined.disagreements == ()
    assert all(0 < share < 1 / 8 for share in kernel_share(combined.machine, BIG))


def test_it_is_the_same_machine_in_a_folder(tmp_path: Path) -> None:
    """Links between its files lead on, packed and unpacked."""
    with tarfile.open(BIG_CAPTURE) as archive:
        extract(archive, tmp_path)
    assert read_sysfs(open_tree(tmp_path), "x") == read_sysfs(open_tree(BIG_CAPTURE), "x")


def test_its_last_level_cache_is_no_uncore_cache() -> None:
    """A NUMA node shares it, so it tells the kubelet nothing new. QEMU gives each thread a level 1 cache."""
    machine = read_sysfs(open_tree(BIG_CAPTURE), "x")
    assert {(cache.level, cache.cpus.bit_count()) for cache in machine.caches} == {(1, 1), (2, 2), (3, 32)}
    assert {cpu.uncore_cache for cpu in machine.cpus} == {None}


@pytest.mark.parametrize("path", sorted(BIG_CAPTURE.parent.iterdir()), ids=lambda path: path.name)
def test_a_kept_capture_is_small(path: Path) -> None:
    """They stay in the repository for ever."""
    assert path.stat().st_size <= LARGEST
