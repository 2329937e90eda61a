"""From reports to states. Nodes of one kind (machine, configuration, release) are started once: what differs from one
to the other is who holds what, and what their Node objects list."""

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from numafit.cluster.topology.model import NodeTopology
from numafit.cluster.topology.restore import ledger_of, start_of
from numafit.decision.node import Node
from numafit.fleet.state import NodeState, state_of
from numafit.quantity import Quantity
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.workload.pod import Pod

MOST_KINDS = 1024


class StartedKind(msgspec.Struct, frozen=True):
    name: str
    node: Node
    allocatable: Mapping[str, Quantity]


class NodeKinds:
    def __init__(self) -> None:
        self._plain: OrderedDict[str, StartedKind] = OrderedDict()
        """By machine, configuration and release; no facts."""
        self._told: OrderedDict[str, StartedKind] = OrderedDict()
        """With what a Node object lists, too."""

    def state(self, topology: NodeTopology, facts: NodeFacts, pods: Mapping[str, Pod]) -> NodeState:
        """As it was reported. `pods`: UID -> those that are known, which tells more of them than what they hold.
        Raises InputError for what makes no node."""
        plain = self._plain_of(topology)
        kind = self._with(plain, facts)
        ledger = ledger_of(topology, kind.node, pods)
        return state_of(kind.name, kind.node, ledger, kind.allocatable)

    def told(self, state: NodeState, facts: NodeFacts) -> NodeState:
        """The same, where the Node object says something else than before."""
        plain = self._plain.get(state.kind.partition("/")[0])
        if plain is None:
            # It was forgotten, and so much of it is known still.
            known = {name: amount for name, amount in (state.allocatable or {}).items() if name not in _offers(state)}
            plain = StartedKind(state.kind.partition("/")[0], replace(state.node, facts=NO_FACTS), known)
        kind = self._with(plain, facts)
        if kind.name == state.kind:
            return state
        return state_of(kind.name, kind.node, state.ledger, kind.allocatable)

    def _plain_of(self, topology: NodeTopology) -> StartedKind:
        status = topology.status
        told = (
            status.machine_digest,
            status.release,
            status.kubelet,
            status.root_dir,
            status.ignore_eviction,
            [(own.resource, own.preference, own.unhealthy) for own in status.devices],
        )
        name = _digest(told)
        found = self._plain.get(name)
        if found is None:
            start = start_of(topology)
            found = _remember(self._plain, StartedKind(name, start.node, start.allocatable))
        return found

    def _with(self, plain: StartedKind, facts: NodeFacts) -> StartedKind:
        listed = {device.resource for device in plain.node.machine.devices}
        offers = {name: amount for name, amount in sorted(facts.offers.items()) if name not in listed}
        name = f"{plain.name}/{_digest((facts.group_policies, [(each, str(own)) for each, own in offers.items()]))}"
        found = self._told.get(name)
        if found is None:
            # Labels and taints are looked at apart: they tell no kinds from one another.
            own = NodeFacts(group_policies=facts.group_policies, offers=offers)
            node, allocatable = replace(plain.node, facts=own), {**offers, **plain.allocatable}
            found = _remember(self._told, StartedKind(name, node, allocatable))
        return found


def _offers(state: NodeState) -> Mapping[str, Quantity]:
    return state.node.facts.offers


def _remember(known: OrderedDict[str, StartedKind], kind: StartedKind) -> StartedKind:
    known[kind.name] = kind
    if len(known) > MOST_KINDS:
        known.popitem(last=False)
    return kind


def _digest(told: object) -> str:
    return blake2b(msgspec.json.encode(told, order="sorted"), digest_size=12).hexdigest()
