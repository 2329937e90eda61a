"""The devices of a machine as somebody describes it: a file, a name of the catalogue, a capture.

Nothing stands behind them. They are for kubelets in tests: each pod gets its devices by NUMA node and links, and finds
their ids in an environment variable.
"""

from collections.abc import Callable

from numafit.cluster.device.offer import Handout, OfferedDevice, ResourceOffer, require_resource_name
from numafit.errors import InputError
from numafit.machine.model import Machine


class DescribedDevices:
    lost_is_sick = False
    waits = False

    def __init__(self, machine: Callable[[], Machine], replicas: int = 1) -> None:
        """The machine is described anew for each reading."""
        self._machine = machine
        self.replicas = replicas

    def read(self) -> tuple[ResourceOffer, ...]:
        machine = self._machine()
        resources = dict.fromkeys(device.resource for device in machine.devices if device.resource)
        if not resources:
            raise InputError("the machine has no devices that a plugin could offer", cure="`machine show` lists them")
        return tuple(self._offer(machine, resource) for resource in resources)

    def _offer(self, machine: Machine, resource: str) -> ResourceOffer:
        require_resource_name(resource)
        name = env_name(resource)
        devices = tuple(
            OfferedDevice(device, Handout(envs={name: device.id}))
            for device in machine.devices
            if device.resource == resource
        )
        return ResourceOffer(resource, devices, machine.links, self.replicas, sockets_of(machine))


def env_name(resource: str) -> str:
    """`NUMAFIT_DEVICES_EXAMPLE_COM_FPGA`."""
    letters = (letter if letter.isascii() and letter.isalnum() else "_" for letter in resource.upper())
    return "NUMAFIT_DEVICES_" + "".join(letters)


def sockets_of(machine: Machine) -> dict[int, int]:
    return {cpu.numa: cpu.socket for cpu in machine.cpus}
