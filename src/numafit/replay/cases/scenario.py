"""Plays the scenario of a recording: a node starts, pods come and go, plugins change, the kubelet restarts."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.admit import admit
from numafit.decision.history.event import Beginning
from numafit.decision.history.restart import restart
from numafit.decision.history.situation import situation_of
from numafit.decision.life import list_devices, reconcile, release
from numafit.decision.start import Start, start
from numafit.errors import InputError, StartError
from numafit.machine.model import Device
from numafit.managers.protocol import Choices
from numafit.replay.inputs import (
    RecordedDevice,
    RecordedPlugin,
    RecordedPod,
    devices_of,
    machine_from_recording,
    plugin_of,
    pod_of,
    settings_from_recording,
)
from numafit.replay.outcomes import FileLog, Json, as_recorded, decision_outcome, start_outcome
from numafit.settings.versions import KubeVersion

ChoicesFor = Callable[[int, int], Choices]
"""(step, pod within a restart) -> the choices to make there; step -1 is the start, pod -1 the start of a restart."""


def sorted_choices(_step: int, _pod: int) -> Choices:
    return Choices()


class RecordedStep(msgspec.Struct, frozen=True, rename="camel"):
    op: Literal["add", "remove", "reconcile", "devices", "restart"]
    uid: str = ""
    pod: RecordedPod | None = None
    reconcile: bool = False
    resource: str = ""
    devices: tuple[RecordedDevice, ...] | None = None
    plugins_first: bool = False


class _Input(msgspec.Struct, frozen=True, rename="camel"):
    """The scenario of a recording. Machine and configuration have readers of their own."""

    machine: dict[str, Any]
    config: dict[str, Any] | None = None
    devices: tuple[RecordedDevice, ...] | None = None
    plugins: tuple[RecordedPlugin, ...] | None = None
    initial_files: dict[str, str] | None = None
    steps: tuple[RecordedStep, ...] | None = None


class Scenario:
    def __init__(self, scenario: Mapping[str, Any], version: KubeVersion, choices: ChoicesFor = sorted_choices) -> None:
        self.scenario = msgspec.convert(scenario, _Input)
        self.version = version
        self.choices = choices
        self.files = FileLog()
        self.devices: dict[str, tuple[Device, ...]] = {}

    def play(self) -> Json:
        try:
            start_json = self._start()
        except StartError as error:
            return {"start": _error_record(error)}
        steps: list[Json] = []
        for i, step in enumerate(self.scenario.steps or ()):
            record = self._step(i, step)
            steps.append({"op": step.op, **record})
            if "panic" in record or "error" in record:
                break
        return {"start": start_json, "steps": steps or None}

    def _start(self) -> Json:
        scenario = self.scenario
        plugins = {}
        for item in scenario.plugins or ():
            self.devices[item.resource] = devices_of(scenario.devices, item.resource)
            plugins[item.resource] = plugin_of(item, self.devices[item.resource])
        known = start(
            Start(
                machine=replace(machine_from_recording(scenario.machine), devices=self._all_devices()),
                settings=settings_from_recording(scenario.config or {}, self.version),
                plugins=plugins,
                files=scenario.initial_files or {},
                active={},
                choices=self.choices(-1, -1),
            )
        )
        self.node, self.ledger = known.node, known.ledger
        record: Json = as_recorded(start_outcome(known, self._files()))
        return record

    def _all_devices(self) -> tuple[Device, ...]:
        return tuple(device for own in self.devices.values() for device in own)

    def _step(self, i: int, step: RecordedStep) -> Json:
        match step.op:
            case "add":
                return self._add(i, step)
            case "remove":
                return self._remove(step)
            case "reconcile":
                self.ledger = reconcile(self.node, self.ledger)
                return {"defaultCPUSet": self._default(), "files": self._files()}
            case "devices":
                self.devices[step.resource] = devices_of(step.devices, step.resource)
                self.ledger = list_devices(self.node, self.ledger, step.resource, self.devices[step.resource])
                return {"files": self._files()}
            case "restart":
                return self._restart(i, step.plugins_first)

    def _add(self, i: int, step: RecordedStep) -> Json:
        if step.pod is None:
            raise InputError("a step that adds a pod has no pod", field=f"steps[{i}].pod")
        pod = pod_of(step.pod)
        decision = admit(self.node, self.ledger, pod, self.choices(i, 0))
        self.ledger = decision.ledger
        record: Json = as_recorded(decision_outcome(decision))
        record["qos"] = decision.qos
        record["files"] = self._files()
        if decision.panic:
            return record
        record["defaultCPUSet"] = self._default()
        if decision.admitted:
            if self.node.memory is not None:
                for container in pod.all_containers:
                    self.ledger = self.node.memory.started(self.ledger, pod.uid, container.name)
            after = self._files()
            if after:
                record["filesAfterStart"] = after
        return record

    def _remove(self, step: RecordedStep) -> Json:
        self.ledger = release(self.ledger, step.uid)
        if step.reconcile:
            self.ledger = reconcile(self.node, self.ledger)
        return {"uid": step.uid, "defaultCPUSet": self._default(), "files": self._files()}

    def _restart(self, i: int, plugins_first: bool) -> Json:
        choices = [self.choices(i, pod) for pod in range(-1, len(self.ledger.active))]
        # The order of pods is no choice in a recording.
        in_turn = iter([choices[0], Choices(), *choices[1:]])
        situation = replace(situation_of(self.node, self.ledger, None), plugins=self.devices)
        try:
            how = Beginning("first" if plugins_first else "late")
            restarted = restart(situation, how, lambda: next(in_turn), init_runs=True)
        except StartError as error:
            return _error_record(error)
        self.ledger = restarted.situation.ledger
        readmit = as_recorded([decision_outcome(decision) for decision in restarted.readmitted])
        return {"readmit": readmit or None, "defaultCPUSet": self._default(), "files": self._files()}

    def _default(self) -> str:
        return cpuset_text(self.ledger.cpu.default)

    def _files(self) -> dict[str, str]:
        return self.files.changed(self.node, self.ledger)


def _error_record(error: StartError) -> Json:
    return {"error": {"stage": error.stage, "message": error.message}}
