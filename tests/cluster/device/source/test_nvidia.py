"""NVIDIA's GPUs by the options of NVIDIA's plugin, with a driver that a fake plays."""

from types import SimpleNamespace
from typing import Any

import pytest

from numafit.cluster.device.offer import GivenMount, GivenNode, Handout, ResourceOffer
from numafit.cluster.device.source.nvidia import NvidiaGpus, NvidiaOptions
from numafit.errors import InputError
from numafit.host.gpu.watch import GpuWatch
from numafit.machine.model import Device, Link, Machine
from tests.host.gpu.test_watch import WatchedNvml

MACHINE = Machine(
    devices=(
        Device("nvidia.com/gpu", "GPU-0", (0,), kind="gpu"),
        Device("nvidia.com/gpu", "GPU-1", (1,), kind="gpu"),
        Device("", "nic", kind="nic"),
    ),
    links=(Link("GPU-0", "GPU-1", "SYS"),),
)


def source(options: NvidiaOptions, nvml: WatchedNvml | None = None) -> NvidiaGpus:
    watch = GpuWatch(nvml or WatchedNvml(2))
    return NvidiaGpus(options, lambda: MACHINE, 1, watch, lambda path: path != "/dev/nvidia-modeset")


def first(options: NvidiaOptions) -> Handout:
    return source(options).read()[0].devices[0].given


def health(offers: tuple[ResourceOffer, ...]) -> dict[str, bool]:
    return {each.device.id: each.device.healthy for each in offers[0].devices}


def test_gpus_are_offered_with_node_and_links() -> None:
    (offer,) = source(NvidiaOptions()).read()
    assert offer.resource == "nvidia.com/gpu"
    assert [(each.device.id, each.device.numa) for each in offer.devices] == [("GPU-0", (0,)), ("GPU-1", (1,))]
    assert offer.links == MACHINE.links


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({}, Handout({"NVIDIA_VISIBLE_DEVICES": "GPU-0"})),
        ({"device_id_strategy": "index"}, Handout({"NVIDIA_VISIBLE_DEVICES": "0"})),
        (
            {"device_list_strategy": ("volume-mounts",)},
            Handout(
                {"NVIDIA_VISIBLE_DEVICES": "/var/run/nvidia-container-devices"},
                (GivenMount("/dev/null", "/var/run/nvidia-container-devices/GPU-0"),),
            ),
        ),
        ({"device_list_strategy": ("cdi-cri",)}, Handout(cdi=("nvidia.com/gpu=GPU-0",))),
        (
            {"device_list_strategy": ("envvar", "cdi-annotations"), "device_id_strategy": "index"},
            Handout(
                {"NVIDIA_VISIBLE_DEVICES": "0"},
                annotations={"cdi.k8s.io/numafit-device-plugin": "nvidia.com/gpu=0"},
            ),
        ),
        (
            {"pass_device_specs": True},
            Handout(
                {"NVIDIA_VISIBLE_DEVICES": "GPU-0"},
                nodes=tuple(
                    GivenNode(f"/dev/{name}", f"/dev/{name}")
                    for name in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia5")
                ),
            ),
        ),
    ],
)
def test_each_option_gives_what_it_promises(options: dict[str, Any], given: Handout) -> None:
    assert first(NvidiaOptions(**options)) == given


def test_slices_are_refused_at_the_beginning_and_lost_later() -> None:
    """MIG is NVIDIA's own plugin's; a GPU that is cut while it is offered is not offered any more."""
    nvml = WatchedNvml(2)
    gpus = source(NvidiaOptions(), nvml)
    nvml.mig[1] = [0, 1]
    with pytest.raises(InputError, match="MIG is on for GPU1, which is not supported"):
        gpus.read()
    nvml.mig[1] = [0, 0]
    assert health(gpus.read()) == {"GPU-0": True, "GPU-1": True}
    nvml.mig[1] = [1, 1]
    assert health(gpus.read()) == {"GPU-0": True}


def test_a_critical_error_makes_a_gpu_sick() -> None:
    nvml = WatchedNvml(2)
    gpus = source(NvidiaOptions(), nvml)
    gpus.read()
    nvml.events.append(SimpleNamespace(eventType=8, eventData=79, device=1))
    assert health(gpus.read()) == {"GPU-0": True, "GPU-1": False}


def test_it_waits_for_a_driver_only_where_that_is_asked_for() -> None:
    assert [source(NvidiaOptions(fail_on_init_error=fail)).waits for fail in (True, False)] == [False, True]
