"""A machine as zones of a NodeResourceTopology."""

from msgspec.structs import replace

from numafit.document import read_document
from numafit.machine.convert.nrt import nrt_text
from numafit.machine.model import Machine
from numafit.machine.sketch.line import read_sketch


def resource(name: str, amount: str) -> dict[str, str]:
    return {"name": name, "capacity": amount, "allocatable": amount, "available": amount}


def test_each_numa_node_is_a_zone_with_its_resources() -> None:
    """Quantities are texts; a device without a known NUMA node, a sick one and an offline CPU are in no zone."""
    machine = read_sketch("2 sockets x 2 cores, 1Gi per numa, hugepages 2Mi 4, gpu 0-1@0 2@1 3@?, nic 0@1")
    machine = replace(machine, cpus=tuple(replace(cpu, online=cpu.id != 3) for cpu in machine.cpus))
    sick = tuple(replace(device, healthy=device.label != "GPU1") for device in machine.devices)
    value = read_document(nrt_text(replace(machine, devices=sick), "box")).value
    assert value == {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "box"},
        "zones": [
            {
                "name": f"node-{node}",
                "type": "Node",
                "costs": [{"name": f"node-{other}", "value": 10 if other == node else 20} for other in (0, 1)],
                "resources": [
                    resource("cpu", str(cpus)),
                    resource("memory", str(1 << 30)),
                    resource("hugepages-2Mi", str(4 * (2 << 20))),
                    resource("nvidia.com/gpu", "1"),
                ],
            }
            for node, cpus in ((0, 2), (1, 1))
        ],
    }


def test_a_machine_without_numa_nodes_has_no_zones() -> None:
    """Still a valid object."""
    value = read_document(nrt_text(Machine(name="y"))).value
    assert isinstance(value, dict)
    assert value["zones"] == []
    assert value["metadata"] == {"name": "y"}
