"""A NodeTopology of each simulated node, as the agent of a real one publishes it: the newest state, at most once a
second and node, and again when somebody deletes or changes it; then an annotation on the Node, which wakes
schedulers."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from numafit import __version__
from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import NODES, ObjectJson, node_owner
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.node.publish import ANNOTATION, PACE_SECONDS, PublishedState, PublishedTopology
from numafit.cluster.sim.group import SimulatedNode
from numafit.cluster.topology.model import API_VERSION, KIND, PATH
from numafit.cluster.topology.write import MachinePart, machine_part, topology_of
from numafit.decision.node import Node
from numafit.decision.stage import Stage
from numafit.errors import ApiServerError, InputError
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Machine
from numafit.settings.config import KubeletConfig

MANAGER = "numafit-kubelet-sim"
"""Whose fields they are."""
WORKERS = 8
DEFINED_SECONDS = 3.0
"""A definition that was just applied is not served at once."""
MOST_MACHINES = 64
"""Descriptions of machines that are kept: one for each group, more where devices come and go."""


class _Object(msgspec.Struct):
    """The object with its status already written."""

    metadata: ObjectJson
    status: msgspec.Raw
    apiVersion: str = API_VERSION
    kind: str = KIND


class StateText(NamedTuple):
    """What a state was made of, and the text of it."""

    ledger: Ledger
    manager: object
    digest: str
    status: msgspec.Raw


class _Topology:
    """One node, and how far it is told."""

    def __init__(self, node: SimulatedNode) -> None:
        self.node = node
        self.owner = ""
        """The UID of its Node; empty while there is none: its object would be cleared away."""
        self.annotated = ""
        """What the Node was seen or left with."""
        self.digest = ""
        """Of what was written last."""
        self.looked: tuple[Ledger, object] | None = None
        """What was looked at last: as long as it is the same, nothing is to be told."""
        self.waits = False
        """It is queued, on its way, or was told a moment ago."""
        self.again = False
        """Something changed while it waited."""


class TopologyWriter:
    """For those of `nodes` that are to have one. `warn` gets a sentence when it cannot be told, and one when it can be
    told again."""

    def __init__(
        self, api: KubeApi, nodes: Sequence[SimulatedNode], health: ApiHealth, warn: Callable[[str], None]
    ) -> None:
        self._api, self._health, self._warn = api, health, warn
        self._known = {node.kubelet.name: _Topology(node) for node in nodes if node.config is not None}
        self._queue: OrderedDict[str, _Topology] = OrderedDict()
        self._wake = asyncio.Event()
        self._begun = False
        self._machines: OrderedDict[tuple[int, int], tuple[Machine, object, MachinePart]] = OrderedDict()
        self._made: StateText | None = None
        self._trouble = ""
        self.written = 0
        self.seen: Reflector[PublishedTopology] = Reflector(
            api, PATH, PublishedTopology, self._changed, health=health, keep=self._kept
        )

    async def check(self) -> None:
        """Raises InputError where the API server does not know the object, or it may not be listed."""
        end = time.monotonic() + DEFINED_SECONDS
        while self._known:
            try:
                await self._api.get(PATH, {"limit": "1"})
                return
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
            if time.monotonic() > end:
                cure = "numafit kubelet-sim --definition | kubectl apply -f -"
                server = self._api.access.cluster.server
                raise InputError(f"the cluster does not know the kind {KIND}", source=server, cure=cure)
            await asyncio.sleep(0.2)

    async def begin(self, group: asyncio.TaskGroup) -> None:
        """Writes all of them, and raises the first error; what changes from then on is written by tasks of `group`."""
        if not self._known:
            return
        group.create_task(self.seen.run())
        await self.seen.synced.wait()
        first = iter([own for own in self._known.values() if not own.node.kubelet.situation.down])

        async def worker() -> None:
            for own in first:
                await self._write(own)

        await asyncio.gather(*(worker() for _ in range(WORKERS)))
        self._begun = True
        for own in self._known.values():
            self.put(own.node)
        for _ in range(WORKERS):
            group.create_task(self._work())

    # --- what is to be told -------------------------------------------------------------------------------------------

    def put(self, node: SimulatedNode) -> None:
        """Something happened there: it is told if it changed what the object says."""
        own = self._known.get(node.kubelet.name)
        if own is None or not self._begun or node.kubelet.situation.down:
            return
        situation = node.kubelet.situation
        if own.looked is None or own.looked[0] is not situation.ledger or own.looked[1] is not situation.node.device:
            self._enqueue(own)

    def owner(self, name: str, uid: str, annotated: str) -> None:
        """The Node as it was seen: its UID, empty where it is gone, and what its annotation says."""
        own = self._known.get(name)
        if own is None or (own.owner, own.annotated) == (uid, annotated):
            return
        own.owner, own.annotated = uid, annotated
        if self._begun and uid and annotated != own.digest:
            self._enqueue(own)

    def _kept(self, item: PublishedTopology) -> PublishedTopology | None:
        return item if item.metadata.name in self._known else None

    def _changed(self, change: ObjectChange[PublishedTopology]) -> None:
        """Somebody wrote or deleted the object: we, most often."""
        own = self._known[change.key]
        if self._begun and (change.after is None or change.after.status != _wanted(own.digest)):
            self._enqueue(own)

    def _enqueue(self, own: _Topology) -> None:
        if own.waits:
            own.again = True
            return
        own.waits = True
        self._queue[own.node.kubelet.name] = own
        self._wake.set()

    def _rested(self, own: _Topology) -> None:
        own.waits = False
        if own.again:
            own.again = False
            self._enqueue(own)

    # --- how it is told -----------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        backoff = Backoff()
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            _, own = self._queue.popitem(last=False)
            own.again = False
            began = time.monotonic()
            try:
                await self._write(own)
                backoff.succeeded()
                self._say("")
            except InputError as error:
                self._health.failed(error)
                self._say(f"the state of {own.node.kubelet.name} cannot be published: {error}")
                own.again, own.looked = True, None
                await asyncio.sleep(backoff.seconds())
            rest = max(0.0, PACE_SECONDS - (time.monotonic() - began))
            asyncio.get_running_loop().call_later(rest, self._rested, own)

    async def _write(self, own: _Topology) -> None:
        situation, name, uid = own.node.kubelet.situation, own.node.kubelet.name, own.owner
        if not uid or situation.down:
            return
        made = self.text(own.node)
        own.looked = situation.ledger, situation.node.device
        seen = self.seen.items.get(name)
        if seen is None or seen.status != _wanted(made.digest):
            # What is seen may be older than what was written: the same is written again at worst.
            metadata = {"name": name, "ownerReferences": [node_owner(name, uid)]}
            content = msgspec.json.encode(_Object(metadata, made.status))
            own.digest = made.digest
            await self._api.apply(f"{PATH}/{name}", content, MANAGER, force=True)
            self.written += 1
        own.digest = made.digest
        if own.annotated != made.digest:
            annotation = {"metadata": {"annotations": {ANNOTATION: made.digest}}}
            own.annotated = made.digest
            try:
                await self._api.patch(f"{NODES}/{name}", msgspec.json.encode(annotation), MERGE)
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    own.annotated = ""
                    raise

    def text(self, own: SimulatedNode) -> StateText:
        """What it says does not name the node: nodes of a group that begin share a ledger, and its text."""
        node, ledger = own.kubelet.situation.node, own.kubelet.situation.ledger
        made = self._made
        if made is not None and made.ledger is ledger and made.manager is node.device:
            return made
        stage = Stage(node, ledger, {}, own.config or KubeletConfig())
        status = topology_of(own.kubelet.name, stage, machine=self._machine(node, ledger)).status
        self._made = StateText(ledger, node.device, status.digest, msgspec.Raw(msgspec.json.encode(status)))
        return self._made

    def _machine(self, node: Node, ledger: Ledger) -> MachinePart:
        key = id(node.machine), id(ledger.device.devices)
        found = self._machines.get(key)
        if found is None:
            # The values are kept with it: as long as they are, nobody else has their numbers.
            found = node.machine, ledger.device.devices, machine_part(node, ledger.device)
            self._machines[key] = found
            if len(self._machines) > MOST_MACHINES:
                self._machines.popitem(last=False)
        else:
            self._machines.move_to_end(key)
        return found[2]

    def _say(self, trouble: str) -> None:
        if bool(trouble) != bool(self._trouble):
            self._warn(trouble or "the states of nodes are published again")
        self._trouble = trouble


def _wanted(digest: str) -> PublishedState:
    return PublishedState(digest, (), __version__)
