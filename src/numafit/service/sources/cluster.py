"""A node of a cluster as a source: its pods are asked for again and again, and played in the order of their start.

The API tells which pods run on a node, not what they hold: what is shown is what the kubelet would have decided had
they come to an empty node. Only state files, or the agent on the node, tell what they really hold.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

from msgspec.structs import replace

from numafit.decision.held import holdings
from numafit.decision.simulation import Simulation
from numafit.decision.stage import Stage
from numafit.errors import some_of
from numafit.machine.model import Machine
from numafit.service.node import Change, ShownNode
from numafit.service.sources.holders import Holders, came, gone, holders_of
from numafit.service.sources.listed import running
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.show.records.ledger import Known
from numafit.show.records.time import now_text
from numafit.workload.pod import Pod

SECONDS = 5.0
"""Between two questions."""
MOST_NAMES = 3
"""Of pods, in a sentence."""


class ReplayedNode:
    """`ask` fetches the list of the pods on the node; it may raise errors of `errors`."""

    def __init__(
        self,
        name: str,
        machine: Machine,
        kubelet: str,
        version: str,
        ask: Callable[[], bytes],
        facts: NodeFacts = NO_FACTS,
    ) -> None:
        self.ask = ask
        self.leases = None
        self.meter = None
        self.place = ShownNode(machine, name, "cluster", kubelet, version, facts=facts)
        self.idle = self.place.stage()
        self.known: dict[str, Known] = {}
        self.holders: Holders = {}
        self.first = True

    async def changes(self) -> AsyncIterator[Change]:
        seen: tuple[Pod, ...] | None = None
        pod_level = self.idle.node.settings.gate("PodLevelResources")
        while True:
            pods = running(await asyncio.to_thread(self.ask), pod_level=pod_level)
            if pods != seen:
                seen = pods
                played = self.idle.play(pods)
                stage = replace(self.idle, ledger=played.after)
                for change in self._since_last(stage, pods):
                    yield replace(change, warning=self._warning(played))
            await asyncio.sleep(SECONDS)

    def _since_last(self, stage: Stage, pods: tuple[Pod, ...]) -> Iterator[Change]:
        """One change for each pod that came, went or would sit elsewhere now; at first one for all."""
        now = None if self.first else now_text()
        self.known = {pod.uid: self.known.get(pod.uid) or Known(pod.full_name, now) for pod in pods}
        before, self.holders = self.holders, holders_of(self.known, holdings(stage.node, stage.ledger))
        happened = [] if self.first else [*gone(before, self.holders), *came(before, self.holders)]
        self.first = False
        for each in happened:
            yield Change(stage, self.known, each)
        if not happened:
            yield Change(stage, self.known)

    def _warning(self, played: Simulation) -> str:
        if not played.steps:
            return ""
        told = "shown is what its pods would hold had they come in the order of their start; the API tells no more"
        refused = [step.decision.pod.full_name for step in played.steps if not step.decision.admitted]
        rejected = (
            f", and {some_of(refused, MOST_NAMES)} would be rejected: they really sit otherwise" if refused else ""
        )
        return f"{self.place.name}: {told}{rejected}"
