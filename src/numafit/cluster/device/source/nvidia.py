"""NVIDIA's GPUs through their management library, handed out whole, by the options of NVIDIA's own plugin.

GPUs that are cut into slices (MIG) are refused: slices are resources of their own, with rules that are NVIDIA's.
"""

import os
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from numafit.cluster.device.offer import GivenMount, GivenNode, Handout, OfferedDevice, ResourceOffer
from numafit.cluster.device.source.described import sockets_of
from numafit.errors import InputError
from numafit.host.gpu.watch import GpuWatch, WholeGpu
from numafit.machine.model import GPU_RESOURCE, Machine

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
ENVVAR, VOLUME_MOUNTS, CDI_ANNOTATIONS, CDI_CRI = "envvar", "volume-mounts", "cdi-annotations", "cdi-cri"
LIST_STRATEGIES = (ENVVAR, VOLUME_MOUNTS, CDI_ANNOTATIONS, CDI_CRI)
UUID, INDEX = "uuid", "index"
ID_STRATEGIES = (UUID, INDEX)
MOUNTED = "/var/run/nvidia-container-devices"
"""Where NVIDIA's container runtime looks for the names of devices among the mounts."""
CONTROL_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
"""Those that are on the host belong to each GPU."""


class NvidiaOptions(msgspec.Struct, frozen=True):
    """Names and meanings are those of NVIDIA's plugin."""

    device_list_strategy: tuple[str, ...] = (ENVVAR,)
    device_id_strategy: str = UUID
    pass_device_specs: bool = False
    fail_on_init_error: bool = True


class NvidiaGpus:
    lost_is_sick = True

    def __init__(
        self,
        options: NvidiaOptions,
        machine: Callable[[], Machine],
        replicas: int = 1,
        watch: GpuWatch | None = None,
        exists: Callable[[str], bool] = os.path.exists,
    ) -> None:
        """The machine is asked for once: NUMA nodes and links of GPUs do not change."""
        self.options = options
        self.waits = not options.fail_on_init_error
        self.replicas = replicas
        self._machine = machine
        self._known: Machine | None = None
        self._watch = GpuWatch() if watch is None else watch
        self._exists = exists

    def read(self) -> tuple[ResourceOffer, ...]:
        found, broken = self._watch.look()
        if self._known is None:
            _refuse_slices(found)
            self._known = self._machine()
        machine = self._known
        # One that is cut later on is as good as lost.
        gpus = {gpu.id: gpu for gpu in found if not gpu.mig}
        devices = tuple(
            OfferedDevice(replace(device, healthy=device.id not in broken), self._given(gpus[device.id]))
            for device in machine.devices
            if device.id in gpus
        )
        if not devices:
            raise InputError("NVML lists no GPU", source="NVML")
        return (ResourceOffer(GPU_RESOURCE, devices, machine.links, self.replicas, sockets_of(machine)),)

    def _given(self, gpu: WholeGpu) -> Handout:
        name = gpu.id if self.options.device_id_strategy == UUID else str(gpu.index)
        strategies = self.options.device_list_strategy
        envs: dict[str, str] = {}
        mounts: tuple[GivenMount, ...] = ()
        if VOLUME_MOUNTS in strategies:
            envs[VISIBLE] = MOUNTED
            mounts = (GivenMount("/dev/null", f"{MOUNTED}/{name}"),)
        if ENVVAR in strategies:
            envs[VISIBLE] = name
        qualified = f"{GPU_RESOURCE}={name}"
        return Handout(
            envs,
            mounts,
            self._nodes(gpu) if self.options.pass_device_specs else (),
            {"cdi.k8s.io/numafit-device-plugin": qualified} if CDI_ANNOTATIONS in strategies else {},
            (qualified,) if CDI_CRI in strategies else (),
        )

    def _nodes(self, gpu: WholeGpu) -> tuple[GivenNode, ...]:
        if gpu.minor is None:
            raise InputError(f"the driver does not tell the device file of {gpu.id}", source="NVML")
        paths = [*(path for path in CONTROL_NODES if self._exists(path)), f"/dev/nvidia{gpu.minor}"]
        return tuple(GivenNode(path, path) for path in paths)


def _refuse_slices(gpus: Sequence[WholeGpu]) -> None:
    cut = [f"GPU{gpu.index}" for gpu in gpus if gpu.mig]
    if cut:
        cure = "use NVIDIA's own plugin, or switch MIG off: nvidia-smi -mig 0"
        raise InputError(f"MIG is on for {', '.join(cut)}, which is not supported", source="NVML", cure=cure)
