"""A node of a cluster as a source, where numafit's agent on it publishes who sits where: shown is what really is.

The object is asked for again and again, read only. Pods of the API server tell more of a holder than what it holds.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

from msgspec.structs import replace

from numafit.cluster.topology.model import KIND, NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import kubelet_text, ledger_of, stage_of
from numafit.decision.held import holdings
from numafit.errors import InputError, some_of
from numafit.service.node import Change, ShownNode
from numafit.service.sources.holders import Holders, came, gone, holders_of
from numafit.service.sources.listed import running
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.show.records.ledger import Known
from numafit.show.records.time import now_text
from numafit.workload.pod import Pod

SECONDS = 2.0
"""Between two questions: an agent publishes once a second at most."""
MOST_NAMES = 3
"""Of pods, in a sentence."""


class PublishedNode:
    """`ask` fetches the object, None where it is gone; `ask_pods` the list of the pods on the node. They may raise
    errors of `errors`."""

    def __init__(
        self,
        topology: NodeTopology,
        ask: Callable[[], bytes | None],
        ask_pods: Callable[[], bytes],
        facts: NodeFacts = NO_FACTS,
    ) -> None:
        self.ask = ask
        self.ask_pods = ask_pods
        self.leases = None
        self.meter = None
        self.first_told = topology
        stage = stage_of(topology, facts=facts)
        name, release = f"node {topology.name}", topology.status.release
        self.place = ShownNode(stage.node.machine, name, "cluster", kubelet_text(topology), release, facts=facts)
        self.stage = stage
        self.known: dict[str, Known] = {}
        self.holders: Holders = {}
        self.first = True

    async def changes(self) -> AsyncIterator[Change]:
        seen: tuple[str, tuple[Pod, ...], str] | None = None
        gate = self.stage.node.settings.gate("PodLevelResources")
        while True:
            data, listed = await asyncio.to_thread(lambda: (self.ask(), self.ask_pods()))
            pods = running(listed, pod_level=gate)
            topology, warning = self._told(data)
            digest = "" if topology is None else topology.status.digest
            if (digest, pods, warning) != seen:
                seen = (digest, pods, warning)
                if topology is not None:
                    own = {pod.uid: pod for pod in pods}
                    self.stage = replace(self.stage, ledger=ledger_of(topology, self.stage.node, own))
                    warning = _missing(topology, own)
                for change in self._since_last():
                    yield replace(change, warning=warning)
            await asyncio.sleep(SECONDS)

    def _told(self, data: bytes | None) -> tuple[NodeTopology | None, str]:
        """The object, or why what was shown last stands."""
        before = self.first_told.status
        stands = f"{self.place.name}: what is shown may be old"
        if data is None:
            return None, f"{stands}: its {KIND} is gone (does numafit's agent run there?)"
        try:
            topology = read_topology(data, f"{KIND} {self.first_told.name}")
        except InputError as error:
            return None, f"{stands}: {error}"
        now = topology.status
        if (now.machine_digest, now.release, now.kubelet) != (before.machine_digest, before.release, before.kubelet):
            return None, f"{stands}: its machine or its kubelet is another one now (start `numafit serve` again)"
        return topology, ""

    def _since_last(self) -> Iterator[Change]:
        """One change for each pod that came, went or sits elsewhere now; at first one for all."""
        now = None if self.first else now_text()
        active = self.stage.ledger.active
        self.known = {
            uid: replace(self.known.get(uid) or Known(pod.known_name, now), name=pod.known_name)
            for uid, pod in active.items()
        }
        before, self.holders = self.holders, holders_of(self.known, holdings(self.stage.node, self.stage.ledger))
        happened = [] if self.first else [*gone(before, self.holders), *came(before, self.holders)]
        self.first = False
        for each in happened:
            yield Change(self.stage, self.known, each)
        if not happened:
            yield Change(self.stage, self.known)


def _missing(topology: NodeTopology, pods: Mapping[str, Pod]) -> str:
    """Pods that run and of which the agent does not tell."""
    told = {holder.uid for holder in topology.status.holders}
    names = sorted(pod.full_name for uid, pod in pods.items() if uid not in told)
    if not names:
        return ""
    return f"node {topology.name}: {some_of(names, MOST_NAMES)} run there, and its {KIND} does not tell of them (yet)"
