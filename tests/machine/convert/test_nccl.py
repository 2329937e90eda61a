"""A machine as a topology file for NCCL."""

from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.convert.nccl import nccl_xml
from numafit.machine.model import Cpu, Device, Link, Machine

GPU = "nvidia.com/gpu"


def with_buses(machine: Machine) -> Machine:
    devices = [replace(device, bus=f"0000:{number + 16:02x}:00.0") for number, device in enumerate(machine.devices)]
    return replace(machine, devices=tuple(devices))


def test_gpus_and_nics_hang_at_their_numa_node_and_switch() -> None:
    """Masks are written as the kernel writes them; what NCCL can look up itself is left out."""
    machine = Machine(
        cpus=tuple(Cpu(id, id, id // 32, id // 32) for id in range(64)),
        model="AMD EPYC 7763",
        devices=(
            Device(GPU, "a", (0,), kind="gpu", bus="0000:01:00.0", switch="0000:00:01.0", pci_class=0x030200),
            Device(GPU, "b", (1,), kind="gpu", bus="0000:81:00.0"),
            Device("", "n", (0,), kind="nic", bus="0000:02:00.0", switch="0000:00:01.0", pci_class=0x020700),
        ),
        links=(Link("a", "b", "NV4"), Link("a", "n", "PIX")),
    )
    assert (
        nccl_xml(machine)
        == """\
<system version="1">
  <cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:00:01.0" class="0x060400">
      <pci busid="0000:01:00.0" class="0x030200">
        <gpu dev="0">
          <nvlink target="0000:81:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:02:00.0" class="0x020700"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffffffff,00000000" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:81:00.0" class="0x030200">
      <gpu dev="1">
        <nvlink target="0000:01:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
  </cpu>
</system>
"""
    )


def test_links_of_all_gpus_with_all_others_go_through_nvswitch() -> None:
    """No GPU has 7 x 12 NVLinks: on a DGX A100 each has 12, all to the switch."""
    root = ElementTree.fromstring(nccl_xml(with_buses(machine_named("dgx-a100"))))
    links = [[link.attrib for link in gpu] for gpu in root.iter("gpu")]
    assert links == [[{"target": "fffffff:ffff:ff", "count": "12", "tclass": "0x068000"}]] * 8


def test_four_gpus_with_four_links_each_are_linked_directly() -> None:
    """3 x 4 NVLinks fit on an A100."""
    root = ElementTree.fromstring(nccl_xml(with_buses(machine_named("hgx-a100-4numa"))))
    assert [len(gpu) for gpu in root.iter("gpu")] == [3, 3, 3, 3]
    assert [cpu.get("numaid") for cpu in root] == ["1", "3", "5", "7"]


def test_an_unknown_numa_node_is_minus_one() -> None:
    """As NCCL writes it in a virtual machine, with all CPUs near."""
    device = Device(GPU, "a", kind="gpu", bus="0000:00:06.0")
    text = nccl_xml(Machine(cpus=(Cpu(0, 0, 0, 0), Cpu(1, 1, 0, 0)), devices=(device,)))
    assert '<cpu numaid="-1" affinity="00000003">' in text


@pytest.mark.parametrize(("name", "message"), [("dgx-h100", "the PCI address of GPU0"), ("laptop", "there is no GPU")])
def test_a_machine_that_nccl_could_not_recognise_is_refused(name: str, message: str) -> None:
    """A made-up PCI address would be worse than none."""
    with pytest.raises(InputError, match=message):
        nccl_xml(machine_named(name))
