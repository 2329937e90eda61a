"""The node that is shown: its machine, its kubelet, and who holds what on it at one moment."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.advice.stage import Stage, new_stage
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Machine
from numafit.service.view import Known, LedgerView, ledger_view
from numafit.settings.load import ConfigFile, load_config
from numafit.settings.versions import parse_version

Kind = Literal["live", "demo", "kubelet"]


class Place(msgspec.Struct, frozen=True):
    """What does not change while the agent runs."""

    machine: Machine
    name: str
    kind: Kind
    kubelet: str
    """Its KubeletConfiguration."""
    version: str

    @property
    def simulation(self) -> bool:
        return self.kind == "demo"

    def stage(self) -> Stage:
        """The node with nobody on it."""
        version = parse_version(self.version)
        config = load_config(version, file=ConfigFile("kubelet", self.kubelet)).config
        return new_stage(self.machine, config, version)


class Shown(msgspec.Struct, frozen=True):
    place: Place
    stage: Stage
    """With the ledger of now."""
    known: Mapping[str, Known] = {}
    revision: int = 0
    time: str = ""

    @property
    def ledger(self) -> Ledger:
        return self.stage.ledger

    def view(self, node: Node | None = None, ledger: Ledger | None = None) -> LedgerView:
        """Of another node and ledger than those that questions are asked, where they are given."""
        return ledger_view(
            node or self.stage.node,
            ledger or self.ledger,
            self.known,
            revision=self.revision,
            time=self.time,
            simulation=self.place.simulation,
        )
