"""Which device of a claim is on which NUMA node, by whatever a driver tells of it."""

from typing import Any

import msgspec
import pytest

from numafit.cluster.claims.held import devices_by_pod
from numafit.cluster.claims.objects import ResourceClaim, ResourceSlice
from numafit.cluster.topology.model import ClaimedDevice
from numafit.machine.model import Device, Machine
from tests.cluster.claims.objects import DRIVER, claim, slice_of

MACHINE = Machine(
    devices=(
        Device("nvidia.com/gpu", "GPU-aaaa", (1,), bus="0000:3b:00.0", root_port="0000:3a:01.0"),
        Device("", "mlx5_0", (0,), bus="0000:17:00.0", root_port="0000:16:01.0"),
        Device("", "mlx5_1", (0,), bus="0000:18:00.0", root_port="0000:16:02.0"),
    )
)


def told(attributes: dict[str, Any], machine: Machine | None = MACHINE) -> ClaimedDevice:
    claims = [msgspec.convert(claim("c", "u-1", "gpu-0"), ResourceClaim)]
    slices = [msgspec.convert(slice_of({"gpu-0": attributes}), ResourceSlice)]
    (device,) = devices_by_pod(claims, slices, machine)["u-1"]
    return device


@pytest.mark.parametrize(
    ("attributes", "numa"),
    [
        ({"resource.kubernetes.io/numaNode": {"int": 1}}, "1"),
        ({"resource.kubernetes.io/numaNode": {"ints": [1, 0]}}, "1"),
        ({"numaNode": {"int": 0}}, "0"),
        ({"gpu.amd.com/numaNode": {"int": 1}}, "1"),
        ({"dra.cpu/numaNodeID": {"int": 3}}, "3"),
        ({"numaNode": {"int": 7}, "resource.kubernetes.io/numaNode": {"int": 1}}, "1"),
        ({"resource.kubernetes.io/pciBusID": {"string": "0000:3B:00.0"}}, "1"),
        ({"pcieBusID": {"string": "00000000:3B:00.0"}}, "1"),
        ({"uuid": {"string": "GPU-aaaa"}}, "1"),
        ({"resource.kubernetes.io/pcieRoot": {"string": "pci0000:16"}}, "0"),
        ({"resource.kubernetes.io/pcieRoot": {"string": "pci0000:77"}}, None),
        ({"numaNode": {"int": -1}}, None),
        ({"numaNode": {"string": "1"}}, None),
        ({}, None),
    ],
)
def test_the_numa_node_is_found_by_what_the_driver_tells(attributes: dict[str, Any], numa: str | None) -> None:
    """The standard attribute first, then one of the driver's own, then by the machine."""
    assert told(attributes).numa == numa


def test_without_a_machine_an_address_tells_no_numa_node() -> None:
    device = told({"resource.kubernetes.io/pciBusID": {"string": "0000:3b:00.0"}}, None)
    assert device == ClaimedDevice("c", DRIVER, "gpu-1", "gpu-0", None, "0000:3b:00.0")


def test_attributes_of_v1beta1_stand_one_step_deeper() -> None:
    value = slice_of({})
    value["spec"]["devices"] = [{"name": "gpu-0", "basic": {"attributes": {"numaNode": {"int": 1}}}}]
    slices = [msgspec.convert(value, ResourceSlice)]
    claims = [msgspec.convert(claim("c", "u-1", "gpu-0"), ResourceClaim)]
    assert devices_by_pod(claims, slices)["u-1"][0].numa == "1"


def test_a_claim_that_pods_share_is_told_with_each() -> None:
    shared = claim("c", "u-1", "gpu-0", "gpu-1")
    shared["status"]["reservedFor"].append({"resource": "pods", "name": "b", "uid": "u-2"})
    found = devices_by_pod([msgspec.convert(shared, ResourceClaim)], [])
    assert [device.device for device in found["u-1"]] == ["gpu-0", "gpu-1"]
    assert found["u-1"] == found["u-2"]


def test_who_only_looks_at_a_device_does_not_hold_it() -> None:
    monitor = claim("c", "u-1", "gpu-0")
    monitor["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    assert devices_by_pod([msgspec.convert(monitor, ResourceClaim)], []) == {}


@pytest.mark.parametrize(
    "status", [None, {}, {"allocation": None, "reservedFor": None}, {"reservedFor": [{"uid": "u"}]}]
)
def test_a_claim_that_nobody_has_is_nobody_s(status: Any) -> None:
    value = claim("c", "u-1") | {"status": status}
    assert devices_by_pod([msgspec.convert(value, ResourceClaim)], []) == {}
