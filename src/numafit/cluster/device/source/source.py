"""Where devices come from: one protocol for files, the PCI bus, GPUs and descriptions of machines."""

from typing import Protocol

from numafit.cluster.device.offer import ResourceOffer


class DeviceSource(Protocol):
    """Read again and again; health and devices may differ each time."""

    @property
    def lost_is_sick(self) -> bool:
        """A device that it does not tell of any more is broken; else somebody took it out of the list."""

    @property
    def waits(self) -> bool:
        """Where it cannot be read at the beginning, it may be later."""

    def read(self) -> tuple[ResourceOffer, ...]:
        """Raises InputError."""
