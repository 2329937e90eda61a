"""What `lspci -v` and `-vv` print."""

import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Device, Machine
from numafit.machine.read.lspci import read_lspci
from tests.machine.read.readers import damaged, fixture, reads_or_refuses


def test_the_flags_tell_the_numa_node() -> None:
    """`lspci -v`: GPUs are numbered by address, as nvidia-smi does; a device without a word about NUMA has no node."""
    assert read_lspci(fixture("lspci-v-p100.txt")) == Machine(
        devices=(
            *(
                Device(
                    resource="nvidia.com/gpu",
                    id=bus,
                    numa=(numa,),
                    kind="gpu",
                    name="Tesla P100 PCIe 16GB",
                    label=label,
                    bus=bus,
                    pci_class=0x0302,
                )
                for bus, numa, label in (("0000:3b:00.0", 0, "GPU0"), ("0000:d8:00.0", 1, "GPU1"))
            ),
            Device(
                resource="",
                id="0000:3c:00.0",
                kind="nic",
                name="Intel Corporation I350 Gigabit Network Connection",
                bus="0000:3c:00.0",
                pci_class=0x0200,
            ),
        )
    )


def test_bus_numbers_tell_what_lies_above() -> None:
    """`lspci -vvDnn`: root port, upper and lower ports of a switch; virtual functions belong to their card."""
    machine = read_lspci(fixture("lspci-vv-switch.txt"))
    assert [(device.id, device.kind, device.numa) for device in machine.devices] == [
        ("0000:0a:00.0", "gpu", (0,)),
        ("0000:0b:00.0", "nic", (0,)),
    ]
    assert {(device.root_port, device.switch) for device in machine.devices} == {("0000:07:00.0", "0000:08:00.0")}
    assert [device.name for device in machine.devices] == ["A100 SXM4 40GB", "ConnectX-6"]


def test_an_amd_gpu_counts_without_the_switch_it_brings() -> None:
    """Below the root port sit two bridges of the card itself, which nothing shares."""
    text = """\
00:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] GPP Bridge [1022:1483]
\tBus: primary=00, secondary=01, subordinate=03, sec-latency=0
01:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Upstream Port of PCI Express Switch [1002:14a0]
\tBus: primary=01, secondary=02, subordinate=03, sec-latency=0
02:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Downstream Port of PCI Express Switch [1002:14a1]
\tBus: primary=02, secondary=03, subordinate=03, sec-latency=0
03:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran [1002:740c] (rev 01)
\tNUMA node: 3
"""
    (gpu,) = read_lspci(text).devices
    assert (gpu.resource, gpu.numa, gpu.root_port, gpu.switch) == ("amd.com/gpu", (3,), "0000:00:01.1", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'a file: no line such as "3b:00.0 3D controller: NVIDIA Corporation …" in it'),
        ("3b:00.0 USB controller: A\n3b:00.0 USB controller: A\n", "a file:2: 0000:3b:00.0 stands here a second time"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    """One sentence with file and line."""
    with pytest.raises(InputError) as error:
        read_lspci(text, "a file")
    assert str(error.value).startswith(message)


@given(damaged("lspci-v-p100.txt", "lspci-vv-switch.txt"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback, also when bridges claim to lie behind each other."""
    reads_or_refuses(read_lspci, data)
