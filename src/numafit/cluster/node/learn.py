"""A node learnt from itself: its machine, its kubelet's settings and release, its devices. What cannot be learnt is
told in notes, and something usual stands in for it where that is better than nothing."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.objects import NODES
from numafit.cluster.node.configz import CONFIGZ, KubeletAddress, asked_configz
from numafit.cluster.node.process import KUBELET_FOLDER, RunningKubelet, config_sources, find_kubelet
from numafit.cluster.node.sockets import SilentKubelet, SocketAnswer, asked
from numafit.cluster.node.state import NOT_LEARNT
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.errors import ApiServerError, InputError, StartError
from numafit.machine.combine.machine import combine
from numafit.machine.combine.unstated import with_memory
from numafit.machine.model import Device, Machine
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.tree import FolderTree
from numafit.machine.source import PODRESOURCES, SYSFS, Source
from numafit.notes import Note
from numafit.settings.facts import NodeFacts, is_machine_resource
from numafit.settings.node_object import NodeObject, node_disagreements, read_node
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion

BOOT_ID = "proc/sys/kernel/random/boot_id"


class _NodeMeta(msgspec.Struct, frozen=True):
    uid: str = ""
    annotations: dict[str, str] = {}


class _Address(msgspec.Struct, frozen=True):
    type: str = ""
    address: str = ""


class _Endpoint(msgspec.Struct, frozen=True):
    Port: int = 0


class _Endpoints(msgspec.Struct, frozen=True):
    kubeletEndpoint: _Endpoint = _Endpoint()


class _NodeInfo(msgspec.Struct, frozen=True):
    bootID: str = ""


class _NodeStatus(msgspec.Struct, frozen=True):
    nodeInfo: _NodeInfo = _NodeInfo()
    addresses: tuple[_Address, ...] = ()
    daemonEndpoints: _Endpoints = _Endpoints()


class _NodeHead(msgspec.Struct, frozen=True):
    metadata: _NodeMeta = _NodeMeta()
    status: _NodeStatus = _NodeStatus()

    @property
    def kubelet(self) -> KubeletAddress | None:
        port = self.status.daemonEndpoints.kubeletEndpoint.Port
        hosts = [own.address for own in self.status.addresses if own.type == "InternalIP"]
        return KubeletAddress(tuple(f"[{own}]" if ":" in own else own for own in hosts), port) if port else None


class KnownNode(msgspec.Struct, frozen=True):
    """The Node object, as far as it is of use."""

    object: NodeObject
    uid: str
    annotations: dict[str, str]
    kubelet: KubeletAddress | None = None
    """Where its kubelet answers."""
    boot: str = ""
    """The id of the start of its machine, as its kubelet tells it."""


class Learnt(msgspec.Struct, frozen=True):
    stage: Stage
    """With nobody on it."""
    folder: Path
    """The kubelet's own, as it is seen from here."""
    told: SocketAnswer | None
    """What its socket said."""
    process: RunningKubelet | None
    sure: bool
    """Nothing stands in for the settings or the release: decisions can be compared."""
    notes: tuple[Note, ...] = ()
    known: Start = Start()
    """What the stage was made of."""


class NodeLearner:
    """`root`: where the file system of the host is. Remembers devices, since nobody tells the ids of sick ones."""

    def __init__(self, root: Path, name: str, api: KubeApi, folder: str = "", config: str = "") -> None:
        self.root, self.name, self.api = root, name, api
        self._folder, self._config = folder, config
        self._healthy_once: dict[tuple[str, str], Device] = {}
        self._ordered: tuple[RunningKubelet, ConfigSources] | None = None
        self._made: tuple[tuple[object, ...], Stage | StartError | InputError] | None = None
        self.node: KnownNode | None = None

    async def fetch_node(self) -> KnownNode | None:
        """None where there is none. Raises ApiServerError."""
        try:
            data = await self.api.get(f"{NODES}/{self.name}")
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self.node = None
            return None
        head = msgspec.json.decode(data, type=_NodeHead)
        meta = head.metadata
        boot = head.status.nodeInfo.bootID
        self.node = KnownNode(read_node(data, f"node {self.name}"), meta.uid, meta.annotations, head.kubelet, boot)
        return self.node

    def drop_another_machine(self) -> bool:
        """A Node of this name that is not of this machine is none: what is learnt here must not be published there.

        After a start of the machine they differ, too, until its kubelet has told the new id.
        """
        try:
            here = (self.root / BOOT_ID).read_text().strip()
        except OSError:
            return False
        if self.node is None or self.node.boot in ("", here):
            return False
        self.node = None
        return True

    async def learn(self) -> Learnt:
        """Raises InputError where not even the machine can be read."""
        notes: list[Note] = []
        machine = await asyncio.to_thread(self._machine)
        process, why = await asyncio.to_thread(find_kubelet, self.root, self.name)
        seen = process or (self._ordered[0] if self._ordered is not None else None)
        folder = self.root / (self._folder or (seen.folder if seen else KUBELET_FOLDER)).lstrip("/")
        told = await self._told(folder, notes)
        machine = self._with_devices(machine, told, notes)
        version, given = self._version(notes)
        sources = await self._sources(process, why, folder, version, notes)
        facts = self._facts({device.resource for device in machine.devices if device.resource})
        known = Start(
            version=version,
            release_given=given,
            machine=with_memory(machine),
            facts=facts,
            sources=sources or ConfigSources(),
        )
        stage, problem = self._stage(known)
        sure = given and sources is not None and not problem
        if problem:
            notes.append(Note(NOT_LEARNT, "kubelet", f"with what was learnt it would not start: {problem}"))
        elif self.node is not None and sure:
            offered = {name: own for name, own in stage.allocatable.items() if is_machine_resource(name)}
            plain = _without_offers(self.node.object)
            notes += node_disagreements(plain, replace(stage.node.machine, devices=()), offered, version)
        return Learnt(stage, folder, told, process, sure, tuple(notes), known)

    def _machine(self) -> Machine:
        return read_sysfs(FolderTree(self.root), str(self.root))

    async def _told(self, folder: Path, notes: list[Note]) -> SocketAnswer | None:
        try:
            return await asked(folder)
        except SilentKubelet as error:
            notes.append(Note(NOT_LEARNT, "node", f"its kubelet does not tell of devices and their places: {error}"))
        except InputError as error:
            notes.append(Note(NOT_LEARNT, "node", f"what its kubelet tells of devices cannot be read: {error}"))
        return None

    def _with_devices(self, machine: Machine, told: SocketAnswer | None, notes: list[Note]) -> Machine:
        """Those that plugins list, also the sick ones; of other devices no plugin tells, and no pod can have them."""
        if told is not None:
            self._healthy_once |= {(device.resource, device.id): device for device in told.devices}
        listed = {(device.resource, device.id) for device in told.devices} if told is not None else set()
        sick = self._sick(listed, notes) if told is not None else ()
        known = told.devices if told is not None else tuple(self._healthy_once.values())
        plain = replace(machine, devices=tuple(replace(own, resource="") for own in machine.devices))
        if not known and not sick:
            return combine([Source("/sys", plain, SYSFS)]).machine
        offered = Machine(devices=(*known, *sick))
        both = combine([Source("/sys", machine, SYSFS), Source("podresources", offered, PODRESOURCES)]).machine
        there = {(device.resource, device.id) for device in offered.devices}
        health = {(device.resource, device.id): device.healthy for device in offered.devices}
        devices = [
            replace(own, healthy=health[own.resource, own.id])
            if (own.resource, own.id) in there
            else replace(own, resource="")
            for own in both.devices
        ]
        return replace(both, devices=tuple(devices))

    def _sick(self, listed: set[tuple[str, str]], notes: list[Note]) -> Sequence[Device]:
        """Those that were healthy once and are counted by the Node still, though nobody may have them."""
        if self.node is None:
            return ()
        found: list[Device] = []
        for resource, capacity in self.node.object.capacity.items():
            there = sum(name == resource for name, _ in listed)
            missing = [own for key, own in self._healthy_once.items() if key[0] == resource and key not in listed]
            count = capacity.value() - there if "/" in resource else 0
            if count > 0 and len(missing) == count:
                found += [replace(own, healthy=False) for own in missing]
            elif count > 0:
                text = f"{count} devices of {resource} are not healthy, or not the kubelet's, and nobody tells which"
                notes.append(Note(NOT_LEARNT, "node", text))
        return found

    def _version(self, notes: list[Note]) -> tuple[KubeVersion, bool]:
        try:
            if self.node is not None:
                return self.node.object.version(), True
            text = "there is no Node object of this machine, which would tell the release of its kubelet"
        except InputError as error:
            text = str(error)
        notes.append(Note(NOT_LEARNT, "kubelet", f"{text}; {DEFAULT_VERSION} stands in for it"))
        return DEFAULT_VERSION, False

    def _facts(self, listed: set[str]) -> NodeFacts:
        """`listed`: resources of which the kubelet tells each device; those the Node only counts."""
        if self.node is None:
            return NodeFacts(self.name)
        facts = self.node.object.facts()
        offers = {name: amount for name, amount in facts.offers.items() if name not in listed}
        return replace(facts, name=self.name, offers=offers)

    # --- settings ----------------------------------------------------------------------------------------------------

    async def _sources(
        self, process: RunningKubelet | None, why: str, folder: Path, version: KubeVersion, notes: list[Note]
    ) -> ConfigSources | None:
        """What a kubelet was told it was told when it began: a file that is changed later is news to the next one."""
        if self._ordered is not None and process is None:
            notes.append(Note(NOT_LEARNT, "kubelet", "none is seen to run: its settings are those of the last one"))
        if self._ordered is not None and process in (None, self._ordered[0]):
            return self._ordered[1]
        found = await self._written(process, why, folder, version, notes)
        self._ordered = (process, found) if process is not None and found is not None else None
        return found

    async def _written(
        self, process: RunningKubelet | None, why: str, folder: Path, version: KubeVersion, notes: list[Note]
    ) -> ConfigSources | None:
        problem = why
        if self._config == CONFIGZ:
            problem = "/configz is asked for by name"
        else:
            try:
                found = await asyncio.to_thread(config_sources, self.root, process, self._config)
                if found is not None:
                    return found
            except InputError as error:
                problem = str(error)
        try:
            address = self.node.kubelet if self.node is not None else None
            text = await asked_configz(self.api, self.name, address, folder, version.minor)
            return ConfigSources(ConfigFile(CONFIGZ, text))
        except ApiServerError as error:
            text = f"its configuration is not known, and defaults stand in for it: {problem}; /configz: {error.message}"
            notes.append(Note(NOT_LEARNT, "kubelet", text))
            return None

    def _stage(self, known: Start) -> tuple[Stage, str]:
        """Where the kubelet would not start the configuration is wrong: one with defaults stands in."""
        key = known.version, known.release_given, known.machine, known.facts, known.sources
        if self._made is None or self._made[0] != key:
            try:
                self._made = key, new_stage(known)
            except (StartError, InputError) as error:
                self._made = key, error
        made = self._made[1]
        if isinstance(made, Stage):
            return made, ""
        return new_stage(replace(known, sources=ConfigSources())), str(made)


def _without_offers(node: NodeObject) -> NodeObject:
    """With what machine and configuration tell, too: the rest comes and goes with plugins, and is known from them."""
    capacity = {name: amount for name, amount in node.capacity.items() if is_machine_resource(name)}
    allocatable = {name: amount for name, amount in node.allocatable.items() if is_machine_resource(name)}
    return replace(node, capacity=capacity, allocatable=allocatable)
