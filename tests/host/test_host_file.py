"""`host.yaml`: what is kept back, and devices that are not found by themselves."""

from pathlib import Path

import pytest

from numafit.errors import InputError
from numafit.host.host import HostFile
from numafit.host.host_file import parse_host_file, read_host_file
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Device

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


@pytest.mark.parametrize("text", [b"", b"\n \n", b"{}", b"devices: []"])
def test_everything_may_be_left_away(tmp_path: Path, text: bytes) -> None:
    assert read_host_file(tmp_path, MACHINE) == HostFile()
    (tmp_path / "host.yaml").write_bytes(text)
    assert read_host_file(tmp_path, MACHINE) == HostFile()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("reservedCPUs: 128", "host.yaml:1:15: reservedCPUs: CPU 128 is not online here"),
        ("reservedCPUs: x", "reservedCPUs"),
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
