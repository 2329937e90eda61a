"""PCI devices in /sys."""

import pytest

from numafit.machine.links import pci_links
from numafit.machine.model import Device, Link, NumaNode
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.pci import read_devices
from tests.machine.read.sysfs.trees import NODES, MapTree, pci, server

UUID = "GPU-77a702db-e37f-3a74-d46d-c5713f66058c"
GPU, NVIDIA, AMD = "0x030200", "0x10de", "0x1002"
NIC, MELLANOX = "0x020700", "0x15b3"


def tree(*devices: tuple[dict[str, str], dict[str, str]], **more: str) -> MapTree:
    """`more` are files whose paths are given as keywords through a dictionary."""
    files: dict[str, str] = dict(more)
    links: dict[str, str] = {}
    for own_files, own_links in devices:
        files |= own_files
        links |= own_links
    return MapTree(files, links)


def devices(*found: tuple[dict[str, str], dict[str, str]], **more: str) -> tuple[Device, ...]:
    return read_devices(tree(*found, **more)).devices


def test_a_gpu_is_read_whole() -> None:
    """Behind a switch: root port, upper port, lower port, device; the driver in /proc adds UUID and product."""
    information = f"Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\nGPU UUID: \t {UUID}\nVideo BIOS: \t 96.00\n"
    path = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:04.0/0000:1a:00.0"
    assert devices(
        pci(path, GPU, NVIDIA, "1"), **{"proc/driver/nvidia/gpus/0000:1a:00.0/information": information}
    ) == (
        Device(
            resource="nvidia.com/gpu",
            id=UUID,
            numa=(1,),
            kind="gpu",
            name="NVIDIA H200",
            label="GPU0",
            bus="0000:1a:00.0",
            pci_class=0x0302,
            switch="0000:16:00.0",
            root_port="0000:15:01.0",
        ),
    )


@pytest.mark.parametrize("numa", ["-1", None, "x"])
def test_an_unknown_numa_node_stays_unknown(numa: str | None) -> None:
    """One H200 in a virtual machine: `numa_node` is -1, so the device plugin tells the kubelet nothing."""
    (gpu,) = devices(pci("pci0000:00/0000:00:06.0", GPU, NVIDIA, numa))
    assert (gpu.id, gpu.numa, gpu.root_port, gpu.switch) == ("0000:00:06.0", None, "", "")


@pytest.mark.parametrize(
    ("pci_class", "vendor", "device", "kind", "resource"),
    [
        ("0x030000", NVIDIA, "0x1", "gpu", "nvidia.com/gpu"),
        ("0x038000", AMD, "0x1", "gpu", "amd.com/gpu"),
        ("0x120000", AMD, "0x1", "gpu", "amd.com/gpu"),
        ("0x020000", "0x8086", "0x1", "nic", ""),
        ("0x010802", "0x144d", "0x1", "nvme", ""),
        ("0x00ff00", "0x1234", "0x11e8", "other", ""),
    ],
)
def test_devices_are_told_by_class_and_vendor(
    pci_class: str, vendor: str, device: str, kind: str, resource: str
) -> None:
    """The classes are those of the PCI tables: 03 display, 12 accelerator, 02 network, 0108 NVMe."""
    (found,) = devices(pci("pci0000:00/0000:00:06.0", pci_class, vendor, device=device))
    assert (found.kind, found.resource) == (kind, resource)


@pytest.mark.parametrize(
    ("pci_class", "vendor"), [("0x060400", NVIDIA), ("0x040300", NVIDIA), ("0x030000", "0x1a03"), ("0x0c0330", AMD)]
)
def test_bridges_sound_and_plain_displays_are_left_out(pci_class: str, vendor: str) -> None:
    """No workload asks for them."""
    assert devices(pci("pci0000:00/0000:00:06.0", pci_class, vendor)) == ()


def test_a_virtual_function_is_left_out() -> None:
    """It belongs to the card that `physfn` names."""
    files, links = pci("pci0000:00/0000:00:01.0/0000:01:00.1", NIC, MELLANOX)
    links["sys/devices/pci0000:00/0000:00:01.0/0000:01:00.1/physfn"] = "../0000:01:00.0"
    assert devices(pci("pci0000:00/0000:00:01.0/0000:01:00.0", NIC, MELLANOX), (files, links)) == devices(
        pci("pci0000:00/0000:00:01.0/0000:01:00.0", NIC, MELLANOX)
    )


def test_gpus_are_numbered_by_address_and_nvidias_first() -> None:
    """So that GPU0 is the GPU0 of nvidia-smi; `0000:9a` stands before `0000:c1` and domain 1 after both."""
    found = devices(
        pci("pci0001:00/0001:00:01.0", GPU, NVIDIA),
        pci("pci0000:c1/0000:c1:00.0", GPU, NVIDIA),
        pci("pci0000:9a/0000:9a:00.0", GPU, NVIDIA),
        pci("pci0000:05/0000:05:00.0", "0x038000", AMD),
    )
    assert [(device.label, device.bus) for device in found] == [
        ("GPU0", "0000:9a:00.0"),
        ("GPU1", "0000:c1:00.0"),
        ("GPU2", "0001:00:01.0"),
        ("GPU3", "0000:05:00.0"),
    ]


def test_network_cards_with_rdma_are_numbered_first_by_their_names() -> None:
    """As nvidia-smi does: mlx5_2 before mlx5_10, wherever they sit."""
    found = devices(
        pci("pci0000:01/0000:01:00.0", "0x020000", "0x8086"),
        pci("pci0000:02/0000:02:00.0", NIC, MELLANOX),
        pci("pci0000:03/0000:03:00.0", NIC, MELLANOX),
        **{
            "sys/devices/pci0000:02/0000:02:00.0/infiniband/mlx5_10/": "",
            "sys/devices/pci0000:03/0000:03:00.0/infiniband/mlx5_2/": "",
        },
    )
    assert [(device.label, device.name, device.id) for device in found] == [
        ("NIC0", "mlx5_2", "0000:03:00.0"),
        ("NIC1", "mlx5_10", "0000:02:00.0"),
        ("NIC2", "", "0000:01:00.0"),
    ]


def test_the_switch_inside_an_amd_gpu_is_not_counted() -> None:
    """Each of these GPUs sits behind two bridges of its own; what matters is the switch above them."""
    path = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0/0000:19:00.0/0000:1a:00.0"
    own = {f"sys/devices/{path.rsplit('/', up)[0]}/vendor": f"{AMD}\n" for up in (1, 2)}
    vram = {f"sys/devices/{path}/mem_info_vram_total": "206141652992\n"}
    (gpu,) = devices(pci(path, "0x120000", AMD), **own, **vram)
    assert (gpu.switch, gpu.root_port, gpu.memory) == ("0000:16:00.0", "0000:15:01.0", 206141652992)


def test_the_root_port_below_a_vmd_controller_is_its_own() -> None:
    """A disk behind Intel's VMD sits in a PCI domain of its own."""
    (disk,) = devices(pci("pci0000:97/0000:97:00.5/pci10000:80/10000:80:02.0/10000:81:00.0", "0x010802", "0x8086"))
    assert (disk.root_port, disk.label) == ("10000:80:02.0", "NVME0")


def test_devices_without_links_are_found_but_not_placed() -> None:
    """A copy of /sys that lost its links."""
    folder = "sys/bus/pci/devices/0000:1a:00.0"
    (gpu,) = devices(({f"{folder}/class": GPU, f"{folder}/vendor": NVIDIA, f"{folder}/numa_node": "1"}, {}))
    assert (gpu.numa, gpu.root_port) == ((1,), "")


@pytest.mark.parametrize("node", [0, 2])
def test_the_memory_of_a_gpu_may_be_a_numa_node(node: int) -> None:
    """Grace-Hopper: the driver names the node; a node with CPUs is never a GPU's."""
    files = server(nodes=2) | {f"{NODES}/node2/meminfo": "Node 2 MemTotal: 100 kB\n"}
    own_files, links = pci("pci0009:00/0009:00:00.0/0009:01:00.0", GPU, NVIDIA)
    driver = "proc/driver/nvidia/gpus/0009:01:00.0"
    files |= {f"{driver}/numa_status": f"Node: {node}\nStatus: online\n", f"{driver}/information": f"GPU UUID: {UUID}"}
    machine = read_sysfs(MapTree(files | own_files, links), "x")
    assert machine.numa_nodes[2] == NumaNode(2, memory=102400, device=UUID if node == 2 else "")
    assert machine.numa_nodes[0].device == ""


def gpu(number: int, switch: str, root_port: str, numa: int | None = 0) -> Device:
    place = None if numa is None else (numa,)
    return Device(
        "", f"g{number}", place, kind="gpu", bus=f"0000:{number:02x}:00.0", switch=switch, root_port=root_port
    )


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (gpu(1, "0000:16:00.0", "0000:15:01.0"), gpu(2, "0000:16:00.0", "0000:15:01.0"), "PIX"),
        (gpu(1, "0000:16:00.0", "0000:15:01.0"), gpu(2, "0000:26:00.0", "0000:15:01.0"), "PXB"),
        (gpu(1, "", "0000:15:01.0"), gpu(2, "", "0000:15:01.0"), "PIX"),
        (gpu(1, "", "0000:15:01.0"), gpu(2, "", "0000:15:02.0"), "PHB"),
        (gpu(1, "", "0000:15:01.0"), gpu(2, "", "0000:35:01.0"), "NODE"),
        (gpu(1, "", "0000:15:01.0"), gpu(2, "", "0000:35:01.0", 1), "SYS"),
        (gpu(1, "", "0000:15:01.0"), gpu(2, "", "0000:35:01.0", None), None),
    ],
)
def test_the_way_between_two_devices_follows_from_their_places(a: Device, b: Device, kind: str | None) -> None:
    """One switch, several switches, one host bridge, one NUMA node, else across; unknown when a NUMA node is."""
    assert pci_links([a, b]) == (() if kind is None else (Link("g1", "g2", kind),))
