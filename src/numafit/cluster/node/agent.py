"""The agent of a node: it looks whenever something happens there, publishes how the node stands, and compares what the
kubelet decides with what numafit would have decided."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.cluster.claims.notes import with_claims
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.events import Events
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectReference
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.node.claims import ClaimReader
from numafit.cluster.node.compare import CHANGED, ComparedDecision, DecisionComparer, NodeLook
from numafit.cluster.node.learn import Learnt, NodeLearner
from numafit.cluster.node.metrics import AgentCounts
from numafit.cluster.node.pods import NodePod, NodePodReader, by_uid
from numafit.cluster.node.publish import Publisher
from numafit.cluster.node.recordings import RecordingFolder
from numafit.cluster.node.resource_topology import ResourceTopologyPublisher
from numafit.cluster.node.state import NOT_LEARNT, StateReader
from numafit.cluster.node.watch import FolderStamps, FolderWatch, socket_stamps
from numafit.cluster.topology.write import topology_of
from numafit.errors import ApiServerError, InputError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, DEVICE_PLUGINS, MEMORY_FILE
from numafit.notes import Note
from numafit.show.records.time import now_text
from numafit.workload.pod import Pod

PODS = "/api/v1/pods"
GATHER_SECONDS = 0.1
"""What happens together is looked at once: the kubelet writes its files one after the other."""
SOON_SECONDS = 0.3
"""Until the next look while a decision is to be compared."""
POLL_SECONDS = 10.0
UNWATCHED_SECONDS = 2.0
"""Where the kernel does not tell of changes."""
FIRST_SECONDS = 2.0
"""Of waiting for the first list of pods, after which it is said."""
LEARN_SECONDS = 30.0
"""Between two looks at what seldom changes: the machine, the kubelet, its Node."""
UNTOLD_SECONDS = 15.0
"""So long a pod counts that holds something and that the API server has not told of yet."""
SOCKETS = "pod-resources"
SOCKET = "kubelet.sock"
LOOK, NODE = "state", "Node"
"""What there can be trouble with."""
MOST_TOLD = 5
"""Of notes in one message."""


class AgentOptions(msgspec.Struct, frozen=True):
    name: str
    """Of the node."""
    root: Path = Path("/")
    """Where the file system of the host is."""
    folder: str = ""
    """The kubelet's own; as its command line tells, where it is empty."""
    config: str = ""
    """The kubelet's configuration file, or `configz`; as its command line tells, where it is empty."""
    recordings: Path | None = None
    """Where decisions are kept that are not as expected."""
    resource_topology: bool = False


class NodeAgent:
    """Made inside a running loop."""

    def __init__(
        self, api: KubeApi, options: AgentOptions, counts: AgentCounts, health: ApiHealth, say: Callable[[str], None]
    ) -> None:
        self.options, self.counts, self.health, self.say = options, counts, health, say
        self.learner = NodeLearner(options.root, options.name, api, options.folder, options.config)
        self.publisher = Publisher(api, options.name, health, say)
        self.events = Events(api, "numafit-node-agent", health, instance=options.name)
        self.courtesy = None
        """Publishes a NodeResourceTopology."""
        if options.resource_topology:
            self.courtesy = ResourceTopologyPublisher(api, options.name, health, self._refused)
        self.recordings = None if options.recordings is None else RecordingFolder(options.recordings)
        self.comparer = DecisionComparer()
        self.reader = NodePodReader()
        self.claims = ClaimReader(api, options.name)
        self.state = StateReader()
        self.watch: FolderWatch | None = None
        self.served = Reflector(
            api,
            PODS,
            NodePod,
            self._pod_changed,
            parameters={"fieldSelector": f"spec.nodeName={options.name}"},
            health=health,
        )
        self._wake = asyncio.Event()
        self._learnt: Learnt | None = None
        self._learn_at = 0.0
        self._sockets: FolderStamps = ()
        self._plugins: FolderStamps = ()
        self._left: set[str] = set()
        """UIDs of pods that have left since the last look."""
        self._told_notes: tuple[Note, ...] = ()
        self._troubles: dict[str, str] = {}
        self._met: dict[str, float] = {}
        """UID of one that holds something -> since when, as far as the API server has never told of it; else 0."""

    async def run(self) -> None:
        """Until it is cancelled. Raises InputError where the machine cannot be read at the beginning."""
        work: list[Coroutine[Any, Any, None]] = [
            self.served.run(),
            self.publisher.seen.run(),
            self.publisher.run(),
            self._look_again_and_again(),
        ]
        if self.courtesy is not None:
            work.append(self.courtesy.run())
        try:
            async with asyncio.TaskGroup() as group:
                for each in work:
                    group.create_task(each)
        except ExceptionGroup as errors:
            # One of them broke, and an agent that looks alive and is not helps nobody.
            raise errors.exceptions[0] from None
        finally:
            if self.watch is not None:
                self.watch.close()

    async def _look_again_and_again(self) -> None:
        await self._first_list()
        while True:
            try:
                await self._look()
                self._say(LOOK, "")
            except InputError as error:
                if self._learnt is None and not isinstance(error, ApiServerError):
                    raise
                self.counts.unreadable += 1
                self._say(LOOK, str(error))
            await self._rest()

    async def _first_list(self) -> None:
        """Pods are needed to begin with. What keeps the API server from telling them is said once."""
        said: set[str] = set()
        while not self.served.synced.is_set():
            try:
                async with asyncio.timeout(FIRST_SECONDS):
                    await self.served.synced.wait()
            except TimeoutError:
                why = self.health.last or "it does not answer"
                if why not in said:
                    self.say(f"the API server does not tell the pods of {self.options.name}, it is asked again: {why}")
                said.add(why)

    async def _rest(self) -> None:
        unwatched = self.watch is None or bool(self.watch.unwatched)
        seconds = UNWATCHED_SECONDS if unwatched else POLL_SECONDS
        seconds = min(seconds, max(SOON_SECONDS, self._learn_at - time.monotonic()))
        try:
            async with asyncio.timeout(SOON_SECONDS if self.comparer.pending else seconds):
                await self._wake.wait()
        except TimeoutError:
            return
        await asyncio.sleep(GATHER_SECONDS)
        self._wake.clear()

    # --- one look ----------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        learnt = await self._known()
        served = by_uid(self.served.items.values())
        left, self._left = frozenset(self._left), set()
        pods = self.reader.pods(served, pod_level=learnt.stage.node.settings.gate("PodLevelResources"))
        state = await asyncio.to_thread(self.state.read, learnt.folder, learnt.stage)
        # Pods are there that the kubelet has admitted: it says so, or they hold something already.
        holding = state.ledger.active
        there = [uid for uid in pods if not served[uid].ended and (served[uid].admitted or uid in holding)]
        active = {uid: pods[uid] for uid in sorted(there, key=lambda uid: served[uid].order)}
        compared = replace(learnt.stage, ledger=replace(state.ledger, active=active))
        active |= self._unnamed(holding, served, active)
        stage = replace(learnt.stage, ledger=replace(state.ledger, active=active))
        claims = await self.claims.read(served.values(), stage.node.machine)
        notes = (
            *learnt.notes,
            *state.notes,
            *self.claims.notes,
            *self._own_notes(),
            *with_claims(replace(stage, notes=()), claims).notes,
        )
        self._tell_notes(notes)
        self.publisher.offer(topology_of(self.options.name, stage, notes=notes, claims=claims), self.learner.node)
        if self.courtesy is not None and self.learner.node is not None:
            names = [(own.metadata.namespace, own.metadata.name) for own in served.values() if not own.ended]
            self.courtesy.offer(stage, self.learner.node, names)
        doubt = "" if learnt.sure and state.good else "the node is not known well enough"
        look = NodeLook(compared, state.files, served, pods, learnt.process, doubt, self._plugins, left)
        verdict = await asyncio.to_thread(self.comparer.look, look, time.monotonic())
        if verdict is not None and verdict.result == "differs" and not await self._is_still(learnt):
            verdict = ComparedDecision("not comparable", verdict.pods, CHANGED)
        if verdict is not None:
            await self._tell(verdict)
        self._count(len(active), notes)

    def _unnamed(
        self, holding: Mapping[str, Pod], served: Mapping[str, NodePod], active: Mapping[str, Pod]
    ) -> dict[str, Pod]:
        """Those that hold something and are known by it only: what they hold must not be told as free. Such a pod
        cannot be read, or the API server has not told of it yet. One of which nobody tells for long has gone; who was
        there and is no longer told of has, too."""
        now = time.monotonic()
        known = {uid: self._met.get(uid, now) for uid in holding}
        self._met = {uid: 0.0 if uid in served else since for uid, since in known.items()}
        return {
            uid: pod
            for uid, pod in holding.items()
            if uid not in active and (not served[uid].ended if uid in served else now - known[uid] < UNTOLD_SECONDS)
        }

    async def _known(self) -> Learnt:
        """What seldom changes; learnt again when its time has come, or when the kubelet or a plugin shows itself."""
        sockets = () if self.watch is None else self.watch.stamps(DEVICE_PLUGINS, SOCKETS)
        plugins = () if self._learnt is None else socket_stamps(self._learnt.folder / DEVICE_PLUGINS)
        now = time.monotonic()
        same = (sockets, plugins) == (self._sockets, self._plugins)
        if self._learnt is not None and same and now < self._learn_at:
            return self._learnt
        try:
            trouble = ""
            if await self.learner.fetch_node() is None:
                trouble = f"there is no Node {self.options.name} (--node-name); nothing is published until there is"
            elif self.learner.drop_another_machine():
                trouble = (
                    f"the Node {self.options.name} is that of another machine (--node-name), or its kubelet has not run"
                    " since this machine was started: boot ids differ; nothing is published until they are equal"
                )
            self._say(NODE, trouble)
        except InputError as error:
            self.health.failed(error)
            self._say(NODE, f"the API server tells nothing of the Node: {error}")
        learnt = await self.learner.learn()
        if self.watch is None or self._learnt is None or learnt.folder != self._learnt.folder:
            self._watch(learnt.folder)
        elif self.watch is not None:
            self.watch.renew()
        if self._learnt is None or self._learnt.process != learnt.process:
            started = "no kubelet is seen" if learnt.process is None else f"its kubelet is process {learnt.process.id}"
            self.say(f"{self.options.name}: {learnt.stage.node.settings.version}, {started}, in {learnt.folder}")
        # A kubelet that starts answers after some seconds.
        whole = learnt.told is not None and learnt.sure
        self._learn_at = now + (LEARN_SECONDS if whole else UNWATCHED_SECONDS)
        if self._learnt is None:
            # Where they are was not known before.
            plugins = socket_stamps(learnt.folder / DEVICE_PLUGINS)
        self._learnt, self._sockets, self._plugins = learnt, sockets, plugins
        return learnt

    async def _is_still(self, learnt: Learnt) -> bool:
        """Nobody tells that a plugin has died and its devices are gone: they are asked for once more."""
        now = await self.learner.learn()
        return (now.process, now.stage.node.machine) == (learnt.process, learnt.stage.node.machine)

    def _watch(self, folder: Path) -> None:
        if self.watch is not None:
            self.watch.close()
        names = {
            folder: (CPU_FILE, MEMORY_FILE),
            folder / DEVICE_PLUGINS: (DEVICE_FILE, SOCKET),
            folder / SOCKETS: (SOCKET,),
        }
        self.watch = FolderWatch(names, self._wake.set)

    # --- what is told ------------------------------------------------------------------------------------------------

    async def _tell(self, verdict: ComparedDecision) -> None:
        self.counts.decisions[verdict.result] += len(verdict.pods)
        names = ", ".join(verdict.pods)
        if verdict.result == "equal":
            self.say(f"{names}: decided as expected")
            return
        if verdict.case is None:
            self.say(f"{names}: not compared: {verdict.why}")
            return
        kept = ""
        if self.recordings is not None:
            try:
                path = await asyncio.to_thread(self.recordings.keep, verdict.case, now_text())
                kept = f"; `numafit replay {path}` plays it"
            except OSError as error:
                kept = f"; it could not be kept: {error}"
        text = f"the kubelet decided otherwise than numafit of {names}: {verdict.why}{kept}"
        self.say(text)
        await self._event("Warning", "DecisionDiffers", text)

    async def _refused(self, why: str) -> None:
        self.say(f"no NodeResourceTopology is written: {why}")
        await self._event("Warning", "ResourceTopologyNotPublished", why)

    async def _event(self, kind: str, reason: str, text: str) -> None:
        uid = "" if self.learner.node is None else self.learner.node.uid
        await self.events.tell(ObjectReference("Node", self.options.name, uid), kind, reason, text)

    def _own_notes(self) -> tuple[Note, ...]:
        unread = self.reader.unreadable
        found = [Note(NOT_LEARNT, name, f"cannot be read: {why}") for name, why in sorted(unread.items())[:MOST_TOLD]]
        if self.watch is not None and self.watch.unwatched:
            folder = self.watch.unwatched[0]
            why = "the kernel does not tell of them" if folder.is_dir() else "there is no such folder (--kubelet-dir)"
            text = f"changes in {folder} are found late: {why}"
            found.append(Note(NOT_LEARNT, "node", text))
        return tuple(found)

    def _tell_notes(self, notes: tuple[Note, ...]) -> None:
        for note in notes:
            if note not in self._told_notes:
                self.say(f"{note.about}: {note.text}")
        self._told_notes = notes

    def _count(self, pods: int, notes: tuple[Note, ...]) -> None:
        counts, publisher = self.counts, self.publisher
        counts.notes = Counter(note.code for note in notes)
        counts.pods = pods
        counts.published, counts.publish_failures = publisher.written, publisher.failed
        counts.seconds = time.monotonic()

    def _say(self, about: str, trouble: str) -> None:
        """Once, and once when it is over."""
        if trouble != self._troubles.get(about, ""):
            self.say(trouble or f"{about}: all is well again")
        self._troubles[about] = trouble

    def _pod_changed(self, change: ObjectChange[NodePod]) -> None:
        if change.before is not None and (change.after is None or change.after.uid != change.before.uid):
            self._left.add(change.before.uid)
        self._wake.set()
