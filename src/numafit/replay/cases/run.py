"""Plays the recording of a whole run: a kubelet starts on a node, and events happen to both.

`input` has the machine, the kubelet's configuration with its defaults filled in, what its node offers beside what
machine and configuration tell (`allocatable`), plugins with their devices, the pods that are named, and the lines of an
event file. `expect` has one entry for each line: what the kubelet decided at it, its state files and the node's
allocatable after it, or the crash that ended it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.decision.decision import Decision
from numafit.decision.files import state_files
from numafit.decision.history.coming import Outcome
from numafit.decision.history.event import Event, RestartKubelet, StartKubelet
from numafit.decision.history.happen import happen
from numafit.decision.history.lines import line_of, read_events
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.history.step import Step, with_evictions
from numafit.decision.start import UNKNOWN, Start, start
from numafit.errors import InputError, StartError
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity, parse_quantity
from numafit.replay.comparison import MISSING, Mismatch, mismatch
from numafit.replay.inputs import (
    RecordedDevice,
    RecordedPlugin,
    RecordedPod,
    devices_of,
    machine_from_recording,
    plugin_of,
    pod_of,
)
from numafit.replay.outcomes import Json, as_recorded, placement_outcome
from numafit.replay.runs.compare import unlike
from numafit.replay.runs.follow import SeenChoices, failed_at, given_at, orders_of
from numafit.replay.runs.seen import SeenKind, decision
from numafit.settings.config import KubeletConfig, config_of_merged
from numafit.settings.read.arguments import Argument
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Pod

ORDERS = 5000
"""How many orders of static pods are tried to explain a start."""

KINDS: Mapping[str, SeenKind] = {"add": "admission", "restart": "admission", "evict": "eviction", "resize": "resize"}


class RecordedSources(msgspec.Struct, frozen=True, rename="camel"):
    """What an administrator wrote for a kubelet that starts again."""

    file: str
    drop_ins: dict[str, str] | None = None
    arguments: tuple[str, ...] = ()


class _RunInput(msgspec.Struct, frozen=True, rename="camel"):
    machine: dict[str, Any]
    events: tuple[str, ...]
    config: dict[str, Any] = {}
    configs: dict[str, RecordedSources] = {}
    """By the name that a line gives them: `restart config=NAME`."""
    allocatable: dict[str, str] = {}
    devices: tuple[RecordedDevice, ...] = ()
    plugins: tuple[RecordedPlugin, ...] = ()
    pods: tuple[RecordedPod, ...] = ()
    residents: tuple[str, ...] | None = None
    """UIDs of the pods that are there when the run begins; None: those that the files tell of, as far as they do."""
    initial_files: dict[str, str] = {}


class Run:
    def __init__(self, content: Mapping[str, Any], version: KubeVersion) -> None:
        try:
            self.content = msgspec.convert(content, _RunInput)
        except msgspec.ValidationError as error:
            raise InputError(str(error), source="recording", field="input") from error
        self.version = version

    def play(self) -> Json:
        """By numafit's own choices."""
        return self._played(lambda situation, event, _number: happen(situation, event, Choices))

    def follow(self, expected: Sequence[Json | None], *, backwards: bool = False) -> Json:
        """By the choices that the record tells; where it does not tell an order, by one that gives the record.

        What is stale is released in one order through all of it: whether that was the right one shows only later.
        """
        choices = partial(SeenChoices, backwards=backwards)

        def outcome(situation: Situation, event: Event, number: int) -> Outcome:
            given = given_at(expected, number)
            entry = expected[number] if number < len(expected) else None
            decided = {each["uid"] for each in (entry or {}).get("decisions") or () if "uid" in each}
            named = [*failed_at(entry or {}), ""]
            held = given_at(expected, number, decided)
            first = happen(situation, event, partial(choices, given, (), named[0], held))
            if entry is None or _is_seen(entry, event, first):
                return first
            starts = isinstance(event, RestartKubelet | StartKubelet)
            for failed in ("", *named[:-1]):
                orders = orders_of(entry) if starts else iter(((),) if failed else ())
                for order in islice(orders, ORDERS):
                    other = happen(situation, event, partial(choices, given, order, failed))
                    if _is_seen(entry, event, other):
                        return other
            return first

        return self._played(outcome)

    def _played(self, outcome: Callable[[Situation, Event, int], Outcome]) -> Json:
        try:
            situation = self.start()
        except StartError as error:
            return {"error": {"stage": error.stage, "message": error.message}}
        told: list[Json] = []
        for number, event in enumerate(self.events()):
            own = outcome(situation, event, number)
            situation = own.situation
            told.append(event_record(event, own))
        return {"events": told}

    def events(self) -> list[Event]:
        content = self.content
        pods = [pod_of(pod) for pod in content.pods]
        residents = content.residents or ()
        coming = [pod for pod in pods if pod.uid not in residents]
        there = [pod for pod in pods if pod.uid in residents]
        named = {name for line in content.events for name in line.split()[1:] if line.startswith("add")}
        missing = [pod.full_name for pod in coming if pod.name not in named and pod.full_name not in named]
        if missing:
            raise InputError(f"no event adds {missing[0]}", source="recording", field="input.events")
        return read_events("\n".join(content.events), "input.events", coming, there, config=self._config)

    def _config(self, name: str) -> ConfigSources:
        own = self.content.configs.get(name)
        if own is None:
            raise InputError(f"there is no configuration {name}", source="recording", field="input.configs")
        drop_ins = None if own.drop_ins is None else tuple(ConfigFile(*item) for item in own.drop_ins.items())
        return ConfigSources(ConfigFile(name, own.file), drop_ins, tuple(Argument(text) for text in own.arguments))

    def start(self) -> Situation:
        content = self.content
        devices = {item.resource: devices_of(content.devices, item.resource) for item in content.plugins}
        machine = machine_from_recording(content.machine)
        residents = {pod.uid: pod_of(pod) for pod in content.pods if pod.uid in (content.residents or ())}
        known = start(
            Start(
                version=self.version,
                config=_config_of(content.config),
                machine=replace(machine, devices=tuple(device for own in devices.values() for device in own)),
                plugins={item.resource: plugin_of(item, devices[item.resource]) for item in content.plugins},
                files=content.initial_files,
                active=UNKNOWN if content.residents is None else residents,
            )
        )
        told = {name: parse_quantity(amount) for name, amount in content.allocatable.items()}
        return situation_of(known.node, known.ledger, {**known.allocatable, **told})


def _config_of(fields: Mapping[str, Any]) -> KubeletConfig:
    """Of a configuration as a file would say it, with all defaults."""
    memory = [
        {"numaNode": item["numaNode"], "limits": {name: parse_quantity(own) for name, own in item["limits"].items()}}
        for item in fields.get("reservedMemory") or ()
    ]
    return config_of_merged({**fields, "reservedMemory": memory})


def _is_seen(entry: Json, event: Event, outcome: Outcome) -> bool:
    return unlike(entry, event_record(event, outcome)) is None


def first_unlike(expected: Json, actual: Json) -> Mismatch | None:
    """The first difference of two runs. Nothing was looked at after an event whose entry is null."""
    if "error" in expected or "error" in actual:
        return mismatch(expected.get("error", MISSING), actual.get("error", MISSING), "/error")
    sides = expected["events"], actual["events"]
    if len(sides[0]) != len(sides[1]):
        return Mismatch("/events", len(sides[0]), len(sides[1]))
    for number, (seen, said) in enumerate(zip(sides[0], sides[1], strict=True)):
        found = unlike(seen or {}, said, f"/events/{number} {said['event']}")
        if found is not None:
            return found
    return None


def event_record(event: Event, outcome: Outcome) -> Json:
    situation = outcome.situation
    record: Json = {"event": line_of(event), "decisions": decision_records(outcome.steps)}
    if outcome.crash:
        return record | {"crash": outcome.crash}
    if situation.down:
        return record
    files = state_files(situation.node, situation.ledger)
    return record | {
        "files": files,
        "allocatable": _texts(situation.node_allocatable),
        "allocated": {pod.uid: _allocated(pod) for pod in situation.ledger.active.values()},
        "waiting": sorted(situation.resizes),
    }


def _allocated(pod: Pod) -> Json:
    """What its containers have been allocated: another amount than the pod asks for, where a resize waits."""
    both = {own.name: {"requests": own.requests, "limits": own.limits} for own in pod.all_containers}
    return {name: {kind: _texts(amounts) for kind, amounts in own.items() if amounts} for name, own in both.items()}


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def decision_records(steps: Iterable[Step]) -> list[Json]:
    return [decision_record(step.decision, KINDS[step.event]) for step in with_evictions(steps)]


def decision_record(own: Decision, kind: SeenKind) -> Json:
    message = own.message if own.reason else ""
    record = decision(own.pod.uid, own.pod.full_name, kind, own.admitted, own.reason, message)
    if not own.panic and own.containers:
        record["containers"] = as_recorded({name: placement_outcome(each) for name, each in own.containers.items()})
    return record
