"""From what a question names to a node that can be asked: its machine, its kubelet, and who is on it.

Single settings of a question are laid over the text of a kubelet configuration.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.advice.refusal import start_refusal
from numafit.decision.life import freed
from numafit.decision.stage import Stage, new_stage, restarted, start_problem, with_pods
from numafit.decision.start import Start, start
from numafit.errors import InputError, KubeletError, StartError
from numafit.ledger.ledger import Ledger
from numafit.machine.catalogue.names import machine_named
from numafit.machine.combine.unstated import with_memory
from numafit.machine.file.read import read_machine_file
from numafit.machine.model import Machine
from numafit.machine.sketch.devices import with_devices
from numafit.notes import Note
from numafit.service.node import Snapshot
from numafit.service.workers.question import Place as Asked
from numafit.service.workers.question import Shorthand
from numafit.settings.example import example_kubelet
from numafit.settings.facts import NO_FACTS
from numafit.settings.gates import default_gates
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES, OptionStages, stage_of
from numafit.settings.read.decoder import API_VERSION, KIND
from numafit.settings.read.forms import config_document
from numafit.settings.read.loader import ConfigFile, ConfigSources, refuse_unknown
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion, parse_version
from numafit.show.records.ledger import OUTSIDE_KIND, Known
from numafit.workload.objects import ManifestFile
from numafit.workload.reading import read_files

SOURCE = "kubelet"


def with_shorthand(text: str, shorthand: Shorthand, version: KubeVersion) -> str:
    """The configuration with these settings. Options are laid over those that are there, key by key."""
    import yaml

    document = config_document(text, SOURCE, version).document
    if not isinstance(document.value, dict):
        cure = f"it starts with apiVersion: {API_VERSION}"
        raise InputError("is not a KubeletConfiguration", source=SOURCE, cure=cure)
    fields = {"apiVersion": API_VERSION, "kind": KIND, **document.value}
    for name, value in (
        ("topologyManagerPolicy", shorthand.policy),
        ("topologyManagerScope", shorthand.scope),
        ("cpuManagerPolicy", shorthand.cpu_manager_policy),
        ("memoryManagerPolicy", shorthand.memory_manager_policy),
    ):
        if value is not None:
            fields[name] = value
    for name, options in (
        ("cpuManagerPolicyOptions", shorthand.cpu_options),
        ("topologyManagerPolicyOptions", shorthand.topology_options),
    ):
        if options:
            there = fields.get(name)
            fields[name] = (there if isinstance(there, dict) else {}) | options
    gates = _gates(shorthand, version)
    if gates:
        there = fields.get("featureGates")
        fields["featureGates"] = gates | (there if isinstance(there, dict) else {})
    return yaml.safe_dump(fields, sort_keys=False)


def _gates(shorthand: Shorthand, version: KubeVersion) -> dict[str, bool]:
    """Those that the options need and that are off in this release unless somebody switches them on."""
    names = [
        *_gate_names("CPUManagerPolicy", shorthand.cpu_options or {}, CPU_OPTION_STAGES, version),
        *_gate_names("TopologyManagerPolicy", shorthand.topology_options or {}, TOPOLOGY_OPTION_STAGES, version),
    ]
    defaults = default_gates(version)
    return {name: True for name in names if defaults.get(name) is False}


def _gate_names(prefix: str, options: Mapping[str, str], stages: OptionStages, version: KubeVersion) -> list[str]:
    reached = {stage_of(option, stages, version.minor) for option in options}
    names = [f"{prefix}{stage.capitalize()}Options" for stage in ("alpha", "beta") if stage in reached]
    return [f"{prefix}Options", *names] if options else []


SKETCH = "sketch:"
MOST_PODS = 500
"""In one question; a kubelet takes 110 unless told otherwise."""
MOST_STAGES = 32
"""Nodes that have been built are kept: most questions name the same one again."""


class Scene(msgspec.Struct, frozen=True):
    stage: Stage
    kubelet: str
    """The configuration, with all that the question laid over it."""
    known: Mapping[str, Known]
    """Those who were there before."""
    before: Ledger
    """With those who are taken to be gone."""


class Scenes:
    """Builds scenes for the node that is shown, and remembers those it has built."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.seconds = 0.0
        """That the answer to the present question may take."""
        self.clock: Callable[[], float] = time.process_time
        """What they are counted by: a machine that is busy with others costs an answer nothing."""
        self.restarted_over: Ledger | None = None
        self.restarted: list[tuple[Stage, Stage]] = []
        """Of an idle node that was asked for, the same node with the pods of this ledger."""
        self.stages: OrderedDict[tuple[object, ...], tuple[Stage, str]] = OrderedDict()

    def scene(self, asked: Asked, *, empty: bool, without: Sequence[str] = ()) -> Scene:
        """`without`: ids or names of holders that are taken to be gone."""
        own = asked.machine is None
        stage, kubelet = self._idle(asked)
        if empty or not own or not self.snapshot.ledger.active:
            scene = Scene(stage, kubelet, {}, stage.ledger)
        else:
            stage = self._occupied(stage, same=not _changes(asked))
            scene = Scene(stage, kubelet, self.snapshot.known, stage.ledger)
        for name in without:
            scene = _without(scene, name)
        return scene

    def machine(self, spec: str | dict[str, object] | None) -> Machine:
        """Never a file: what a request names is not looked up on this machine."""
        if spec is None:
            return self.snapshot.place.machine
        if isinstance(spec, dict):
            return read_machine_file(msgspec.json.encode(spec), "machine")
        if spec.startswith(SKETCH):
            from numafit.machine.sketch.line import read_sketch

            return read_sketch(spec.removeprefix(SKETCH))
        return machine_named(spec)

    def _occupied(self, stage: Stage, *, same: bool) -> Stage:
        """A kubelet that was started over the same pods before is not started again: who types asks again and again."""
        snapshot = self.snapshot.stage
        if same:
            return snapshot
        if self.restarted_over is not snapshot.ledger:
            self.restarted_over = snapshot.ledger
            self.restarted = []
        for idle, occupied in self.restarted:
            if idle is stage:
                return occupied
        occupied = self._restarted(snapshot, stage)
        self.restarted = [*self.restarted[-MOST_STAGES:], (stage, occupied)]
        return occupied

    def _restarted(self, snapshot: Stage, stage: Stage) -> Stage:
        try:
            return restarted(snapshot, stage.config, stage.node.settings.version)
        except KubeletError as error:
            raise InputError(
                f"the kubelet would not start over the pods that are here: {start_problem(error)}",
                source=SOURCE,
                cure='ask an idle node with "empty": true',
            ) from None

    def _idle(self, asked: Asked) -> tuple[Stage, str]:
        spec = msgspec.json.encode(asked.machine) if isinstance(asked.machine, dict) else asked.machine
        settings = None if asked.settings is None else msgspec.json.encode(asked.settings)
        key = (spec, asked.kubelet, settings, asked.version, asked.devices)
        if key not in self.stages:
            self.stages[key] = self._built(asked)
            if len(self.stages) > MOST_STAGES:
                self.stages.popitem(last=False)
        self.stages.move_to_end(key)
        return self.stages[key]

    def _built(self, asked: Asked) -> tuple[Stage, str]:
        known, text = self._start(asked)
        try:
            known = start(known, "valid")
            refuse_unknown(known.merged, known.version)
            return new_stage(known), text
        except StartError as error:
            raise start_refusal(error, known.sources, known.version) from None

    def started(self, asked: Asked) -> Start:
        """What a kubelet would start with; nothing of it is checked."""
        return self._start(asked)[0]

    def _start(self, asked: Asked) -> tuple[Start, str]:
        own = asked.machine is None
        place = self.snapshot.place
        machine = with_devices(self.machine(asked.machine), asked.devices)
        if not machine.numa_nodes:
            raise InputError("no NUMA node of this machine is known", source="machine")
        machine = with_memory(machine)
        version = parse_version(asked.version or (place.version if own else str(DEFAULT_VERSION)))
        text = asked.kubelet or (place.kubelet if own else example_kubelet(machine))
        if asked.settings is not None:
            text = with_shorthand(text, asked.settings, version)
        assumed = place.assumed if own else True
        sources = ConfigSources(ConfigFile(SOURCE, text), example=assumed and asked.kubelet is None)
        given = asked.version is not None or not assumed
        # Of another machine nobody told any.
        facts = place.facts if own else NO_FACTS
        return Start(version=version, release_given=given, sources=sources, machine=machine, facts=facts), text


def _changes(asked: Asked) -> bool:
    return any(part for part in (asked.kubelet, asked.settings, asked.version, asked.devices))


def _without(scene: Scene, name: str) -> Scene:
    """The holder is gone and all that it held is free. One who is not there is noted: a link may be old."""
    stage, known = scene.stage, scene.known
    found = [uid for uid, pod in stage.ledger.active.items() if name in (uid, pod.full_name, _name(known, uid))]
    if not found:
        note = Note("holder-not-there", "node", f"{name[:200]} was to be taken away and holds nothing here")
        return replace(scene, stage=replace(stage, notes=(*stage.notes, note)))
    uid = found[0]
    if uid in known and known[uid].kind == OUTSIDE_KIND:
        cure = "name a pod or a lease"
        raise InputError("what is not for this agent cannot be taken away", source="without", cure=cure)
    ledger = freed(stage.node, stage.ledger, uid)
    rest = {other: one for other, one in known.items() if other != uid}
    return replace(scene, stage=replace(stage, ledger=ledger), known=rest)


def _name(known: Mapping[str, Known], uid: str) -> str | None:
    return known[uid].name if uid in known else None


def with_pods_of(text: str, stage: Stage) -> Stage:
    """With the pods of a question. One to come may not be on the node already."""
    pod_level = stage.node.settings.gate("PodLevelResources")
    reading = read_files([ManifestFile("pods", text)], pod_level=pod_level, most=MOST_PODS)
    for pod in reading.coming:
        if pod.uid in stage.ledger.active:
            cure = 'give it another name, or ask an idle node with "empty": true'
            raise InputError(f"the pod {pod.full_name} is on this node already", source="pods", cure=cure)
    stage = with_pods(stage, reading, known=bool(stage.ledger.active))
    if not stage.pods:
        raise InputError("no pods to play: those that are given are on the node already", source="pods")
    return stage
