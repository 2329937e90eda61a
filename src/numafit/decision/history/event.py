"""What can happen to a node and its kubelet. The words of an event file for each of them are in `lines`."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.machine.model import Device
from numafit.quantity import Quantity
from numafit.settings.read.loader import ConfigSources
from numafit.workload.pod import Pod, Resources

PluginsAt = Literal["first", "late", "never"]
"""When plugins register at a start: before pods are admitted again, after that, or not at all."""


class HistoryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What all events have."""

    line: str = ""
    """As it was written, where it was."""


class AddPods(HistoryEvent, frozen=True):
    """They come in this order, each to be decided before the next one."""

    pods: tuple[Pod, ...]
    former: Mapping[str, str] = {}
    """Pod UID -> the UID of one of the same name that came before and was not removed: as long as that one is there,
    the API server takes no other."""


class RemovePods(HistoryEvent, frozen=True):
    """They are deleted, and their containers have ended."""

    pods: tuple[Pod, ...]
    absent: tuple[str, ...] = ()
    """Names of others that are deleted, too, and that nobody has added, or somebody has removed before."""


class Reconcile(HistoryEvent, frozen=True):
    """One tick of the CPU manager's loop."""


class Beginning(msgspec.Struct, frozen=True):
    """How a kubelet starts again."""

    plugins: PluginsAt = "first"
    config: ConfigSources | None = None
    """Another configuration than before."""
    reboot: bool = False
    """No container has survived."""


class RestartKubelet(HistoryEvent, frozen=True):
    how: Beginning = Beginning()


class StopKubelet(HistoryEvent, frozen=True):
    """Pods that come or go from now on do so while it is down."""


class StartKubelet(HistoryEvent, frozen=True):
    how: Beginning = Beginning()


class ListDevices(HistoryEvent, frozen=True):
    """The plugin's list is now this."""

    resource: str
    devices: tuple[Device, ...]


class StartPlugin(HistoryEvent, frozen=True):
    """A plugin registers that was not there, or once more after it ended (`again`)."""

    resource: str
    devices: tuple[Device, ...]
    again: bool = False


class StopPlugin(HistoryEvent, frozen=True):
    resource: str


class ForgetPlugin(HistoryEvent, frozen=True):
    """Five minutes have passed since the plugin ended, or since a kubelet started to which it did not come."""

    resource: str


class ResizePod(HistoryEvent, frozen=True):
    """Other resources for one container, through the subresource `resize`."""

    pod: Pod
    container: str
    requests: Resources = {}
    """Those named change; the others stay as they are."""
    limits: Resources = {}


class ExitContainer(HistoryEvent, frozen=True):
    """It ends with status 1 and is started again."""

    pod: Pod
    container: str


class ListCapacity(HistoryEvent, frozen=True):
    """The node object lists a resource that no plugin offers."""

    resource: str
    amount: Quantity


Event = (
    AddPods
    | RemovePods
    | Reconcile
    | RestartKubelet
    | StopKubelet
    | StartKubelet
    | ListDevices
    | StartPlugin
    | StopPlugin
    | ForgetPlugin
    | ResizePod
    | ExitContainer
    | ListCapacity
)
