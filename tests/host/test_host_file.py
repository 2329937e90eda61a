"""`host.yaml`: what is kept back, and devices that are not found by themselves."""

import os
from pathlib import Path

import pytest

from numafit.errors import InputError
from numafit.host.host import HostFile, Quota, Quotas
from numafit.host.host_file import parse_host_file, read_host_file
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Device
from tests.host.children import NOBODY, needs_root

MACHINE = machine_named("gpu8-128cpu")
PATH = Path("host.yaml")


def test_everything_may_be_written() -> None:
    text = b"""
reservedCPUs: 0,64
reservedMemory: {0: 2Gi, 1: 512Mi}
devices:
- {resource: example.com/fpga, id: fpga0, numa: 1}
- {resource: example.com/fpga, id: fpga1}
"""
    assert parse_host_file(text, PATH, MACHINE) == HostFile(
        1 | 1 << 64,
        {0: 2 << 30, 1: 512 << 20},
        (Device("example.com/fpga", "fpga0", (1,)), Device("example.com/fpga", "fpga1", None)),
    )


def test_quotas_may_be_written() -> None:
    text = b"""
quotas:
  users:
    "*": {cpus: 16, jobs: 20, time: 2d}
    ann: {cpus: 64, priority: 10, memory: 1Gi, devices: {nvidia.com/gpu: 2}}
  groups:
    students: {cpus: 32, jobs: 0}
"""
    assert parse_host_file(text, PATH, MACHINE).quotas == Quotas(
        {
            "*": Quota(cpus=16, jobs=20, seconds=2 * 86400.0),
            "ann": Quota(cpus=64, memory=1 << 30, devices={"nvidia.com/gpu": 2}, priority=10),
        },
        {"students": Quota(cpus=32, jobs=0)},
    )


@pytest.mark.parametrize("text", [b"", b"\n \n", b"# a word\n  # another\n", b"{}", b"devices: []"])
def test_everything_may_be_left_away(tmp_path: Path, text: bytes) -> None:
    assert read_host_file(tmp_path, MACHINE) == HostFile()
    (tmp_path / "host.yaml").write_bytes(text)
    assert read_host_file(tmp_path, MACHINE) == HostFile()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("reservedCPUs: 128", "host.yaml:1:15: reservedCPUs: CPU 128 is not online here"),
        ("reservedCPUs: x", "reservedCPUs"),
        ("quotas: {user: {}}", "did you mean users?"),
        ("quotas: {users: {ann: {cpu: 1}}}", "did you mean cpus?"),
        ("quotas: {users: {ann: {cpus: -1}}}", "host.yaml:1:30: quotas.users.ann.cpus: -1 is out of range"),
        ("quotas: {users: {ann: {time: soon}}}", '"soon" is not a time'),
        ("quotas: {groups: {staff: {time: 1h}}}", "known are cpus, memory, devices, jobs"),
        ("quotas: {groups: {staff: 3}}", "a mapping is needed here"),
        ("reservedMemory: {2: 1Gi}", "2"),
        ("reservedMemory: {0: much}", "reservedMemory.0"),
        ("reservedcpus: 0", "reservedcpus"),
        ("devices: [{id: a}]", "resource"),
        ("devices: [{resource: fpga, id: a}]", "a resource is named like example.com/fpga"),
        ("devices: [{resource: x/y, id: 'a,b'}]", "an id without , ; and = is needed here"),
        ("devices: [{resource: x/y, id: a, numa: 7}]", "this machine has no NUMA node 7"),
        ("devices: [{resource: x/y, id: a}, {resource: x/y, id: a}]", 'the device "a" comes twice'),
        ("[1", "host.yaml"),
        ("just words", "host.yaml"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_host_file(text.encode(), PATH, MACHINE)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("host.yaml")


def test_a_folder_in_its_place_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "host.yaml").mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_host_file(tmp_path, MACHINE)


def test_only_a_file_of_root_or_of_the_owner_counts(tmp_path: Path) -> None:
    """In a folder that a group may write, any member could make one while there is none."""
    needs_root()
    (tmp_path / "host.yaml").write_text("reservedCPUs: 0")
    assert read_host_file(tmp_path, MACHINE).reserved_cpus == 1
    os.chown(tmp_path / "host.yaml", NOBODY, NOBODY)
    assert read_host_file(tmp_path, MACHINE) == HostFile()
    os.chown(tmp_path, NOBODY, NOBODY)
    assert read_host_file(tmp_path, MACHINE).reserved_cpus == 1
