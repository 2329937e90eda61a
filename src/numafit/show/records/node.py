"""The node that is shown, as a kubelet would find it on its disk: for others that want to ask it themselves."""

from typing import Any, Literal

import msgspec

from numafit.quantity import parse_quantity
from numafit.settings.facts import NodeFacts
from numafit.workload.pod import Pod

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
    pods: tuple[dict[str, Any], ...]
    """Who is there, with names and what they asked for: the files name none, and tell of pods that have ended, too."""

    assumed: bool = False
    """Nobody said which kubelet is there: an example of the newest release stands in."""
    facts: dict[str, Any] = {}
    """What no machine shows of it: name, labels, taints, and what else it has for pods."""

    def active(self) -> tuple[Pod, ...]:
        """Raises msgspec.ValidationError for pods that are none."""
        return msgspec.convert(self.pods, tuple[Pod, ...], dec_hook=lambda _, text: parse_quantity(text))

    def node_facts(self) -> NodeFacts:
        """Raises msgspec.ValidationError for facts that are none."""
        return msgspec.convert(self.facts, NodeFacts, dec_hook=lambda _, text: parse_quantity(text))


NodeKind = Literal["live", "demo", "kubelet", "cluster"]
