"""The node that is shown, as a kubelet would find it on its disk: for others that want to ask it themselves."""

from typing import Any

import msgspec

from numafit.decision.files import state_files
from numafit.machine.machine_file import machine_value
from numafit.service.shown import Shown

STATE_PATH = "/api/v1/state"


class State(msgspec.Struct, frozen=True):
    machine: dict[str, Any]
    """A machine file."""
    kubelet: str
    """A KubeletConfiguration."""
    version: str
    files: dict[str, str]
    """The state files of the managers; they name pods by UID."""
    revision: int


def state_of(shown: Shown) -> State:
    place = shown.place
    files = state_files(shown.stage.node, shown.ledger)
    return State(machine_value(place.machine), place.kubelet, place.version, files, shown.revision)
