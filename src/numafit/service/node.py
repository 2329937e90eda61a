"""The node that is shown: its machine, its kubelet, who holds what on it at one moment, and where it comes from.

A source has a node and tells what happens there.
"""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.host.audit.activity import JobUse
from numafit.host.audit.numastat import NodeAllocations
from numafit.host.audit.watch import JobTotals
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Machine
from numafit.notes import Note
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version
from numafit.show.records.audit import AuditAnswer
from numafit.show.records.ledger import Known, LedgerView, ledger_view
from numafit.show.records.node import NodeKind

if TYPE_CHECKING:
    from numafit.host.meter import Meter
    from numafit.service.leases import Leases


class ShownNode(msgspec.Struct, frozen=True):
    """What does not change while the agent runs."""

    machine: Machine
    name: str
    kind: NodeKind
    kubelet: str
    """Its KubeletConfiguration."""
    version: str
    assumed: bool = False
    """Nobody said which kubelet is there: an example of the newest release stands in."""
    facts: NodeFacts = NO_FACTS

    @property
    def simulation(self) -> bool:
        return self.kind == "demo"

    def stage(self) -> Stage:
        """The node with nobody on it."""
        sources = ConfigSources(ConfigFile("kubelet", self.kubelet), example=self.assumed)
        version = parse_version(self.version)
        given = not self.assumed
        known = Start(version=version, release_given=given, sources=sources, machine=self.machine, facts=self.facts)
        return new_stage(known)


class ViewedNode(msgspec.Struct, frozen=True):
    """What the view is made from, where that is not the node that questions are asked."""

    node: Node
    ledger: Ledger


class Snapshot(msgspec.Struct, frozen=True):
    place: ShownNode
    stage: Stage
    """With the ledger of now."""
    known: Mapping[str, Known] = {}
    revision: int = 0
    time: str = ""

    @property
    def ledger(self) -> Ledger:
        return self.stage.ledger

    def view(self, viewed: ViewedNode | None = None) -> LedgerView:
        """Of another node and ledger than those that questions are asked, where they are given."""
        node = self.stage.node if viewed is None else viewed.node
        return ledger_view(
            node,
            self.ledger if viewed is None else viewed.ledger,
            self.known,
            revision=self.revision,
            time=self.time,
            simulation=self.place.simulation,
            kept=_reserved(self.stage.node) & ~_reserved(node),
        )


def _reserved(node: Node) -> int:
    return node.cpu.reserved if node.cpu.static else 0


class Happening(msgspec.Struct, frozen=True):
    """Something to tell: a decision of the engine, or what could be seen of one from outside."""

    kind: Literal["pod", "lease", "release"]
    name: str
    sentence: str
    decision: Decision | None = None
    uid: str = ""
    refused: bool = False
    reason: str = ""
    """Of a refusal that is known without its decision."""
    notes: tuple[Note, ...] = ()
    """What the decision stands on."""


class Audited(msgspec.Struct, frozen=True):
    """What an audit of this machine found, and what its jobs did since the one before."""

    findings: Mapping[str, int]
    """Code -> how many."""
    seconds: float | None = None
    """Since the audit before; None: it is the first."""
    jobs: tuple[JobUse, ...] = ()
    totals: Mapping[str, JobTotals] = {}
    """Lease -> its counts since the agent saw it first."""
    allocated: Mapping[int, NodeAllocations] = {}
    """NUMA node -> allocations since the audit before."""
    allocations: Mapping[int, NodeAllocations] = {}
    """The same since the kernel started."""
    answer: AuditAnswer | None = None
    """All of it, as `numafit audit --leases -o json` prints it."""


class Change(msgspec.Struct, frozen=True):
    stage: Stage
    """With the ledger after it."""
    known: Mapping[str, Known]
    happened: Happening | None = None
    viewed: ViewedNode | None = None
    warning: str = ""
    """What is doubtful about what was read."""
    audited: Audited | None = None
    """None: there was no audit."""


class NodeSource(Protocol):
    place: ShownNode

    @property
    def leases(self) -> "Leases | None":
        """None: nothing is held there by leases."""
        ...

    @property
    def meter(self) -> "Meter | None":
        """Reads how busy the machine is; None: it is not the one that the agent runs on."""
        ...

    def changes(self) -> AsyncIterator[Change]:
        """The first one says how things stand. It waits for what happens, and ends only when it is closed."""
        ...
