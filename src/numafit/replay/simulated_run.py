"""A whole run made here, written as a recording: the node, what happens to it, and what numafit itself says to it."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.decision.files import state_files
from numafit.decision.history.event import AddPods, Event, RestartKubelet, StartKubelet
from numafit.decision.history.lines import line_of
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation
from numafit.ledger.ledger import Ledger
from numafit.quantity import Quantity
from numafit.replay.cases.run import RecordedSources, Run, decision_records
from numafit.replay.outcomes import Json, as_recorded
from numafit.replay.replay import RUN
from numafit.replay.simulated import STANDS, Stand, device_records, machine_record, plugin_records, pod_record
from numafit.settings.allocatable import allocatable_of
from numafit.settings.config import KubeletConfig, fields_of
from numafit.settings.read.loader import ConfigSources
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Pod


class RunBeginning(msgspec.Struct, frozen=True):
    """The node of a run before anything has happened."""

    node: Node
    ledger: Ledger
    allocatable: Mapping[str, Quantity]
    config: KubeletConfig


def run_case(simulation: Simulation, config: KubeletConfig, name: str) -> tuple[Json, tuple[str, ...]]:
    """One line of a recording file, and the events that it tells otherwise than the simulation.

    Where its plugins must stand in for others, the stand-in that decides alike.
    """
    beginning = RunBeginning(simulation.node, simulation.before, simulation.allocatable, config)
    events = [each.event for each in simulation.happened]
    version = simulation.node.settings.version
    best: tuple[Json, tuple[str, ...]] | None = None
    for stand in STANDS:
        content = run_input(beginning, named_pods(events), [line_of(event) for event in events], stand)
        content["configs"] = configs_of(events)
        played = Run(content, version).play()
        case = case_of_run(name, version, content, {"events": _changes(played["events"])})
        unlike = _unlike(simulation, played)
        if not unlike:
            return case, ()
        best = best or (case, unlike)
    return best or ({}, ())


def case_of_run(name: str, version: KubeVersion, content: Json, expect: Json) -> Json:
    return {"id": name, "kubeVersion": str(version), "family": RUN, "input": content, "expect": expect}


def run_input(beginning: RunBeginning, pods: Sequence[Pod], lines: Sequence[str], stand: Stand = "first") -> Json:
    """`pods` are those that come; those that are there already stand in the ledger, in the order they came."""
    node, residents = beginning.node, tuple(beginning.ledger.active.values())
    version = node.settings.version
    computed = allocatable_of(beginning.config, node.machine, version)
    machine = machine_record(node.machine)
    told = {"memoryBytes": node.machine.memory, "sockets": node.machine.sockets}
    record: Json = {
        "machine": machine | {name: own for name, own in told.items() if own is not None},
        "config": fields_of(beginning.config),
        "allocatable": {
            name: str(amount) for name, amount in beginning.allocatable.items() if computed.get(name) != amount
        },
        "devices": device_records(node),
        "plugins": plugin_records(node, stand),
        "pods": [pod_record(pod) for pod in (*residents, *pods)],
        "events": list(lines),
    }
    if residents:
        record["residents"] = [pod.uid for pod in residents]
        record["initialFiles"] = state_files(node, beginning.ledger)
    return record


def named_pods(events: Sequence[Event]) -> list[Pod]:
    """Each that comes, once: one that comes again after it went gets its new UID from the line."""
    pods: dict[str, Pod] = {}
    for event in events:
        for pod in event.pods if isinstance(event, AddPods) else ():
            pods.setdefault(pod.full_name, pod)
    return list(pods.values())


def configs_of(events: Sequence[Event]) -> Json:
    """By the names that their lines give them."""
    configs: Json = {}
    for event in events:
        if isinstance(event, RestartKubelet | StartKubelet) and event.how.config is not None:
            name = next(word.partition("=")[2] for word in line_of(event).split() if word.startswith("config="))
            configs[name] = sources_record(event.how.config)
    return configs


def sources_record(sources: ConfigSources) -> Json:
    drop_ins = None if sources.drop_ins is None else {file.name: file.text for file in sources.drop_ins}
    text = sources.file.text if sources.file is not None else ""
    record: Json = as_recorded(RecordedSources(text, drop_ins, tuple(argument.text for argument in sources.arguments)))
    return record


def _changes(events: Sequence[Json]) -> list[Json]:
    """State files only where they changed."""
    before: Mapping[str, str] = {}
    changes = []
    for event in events:
        files = event.get("files")
        if files is None:
            changes.append(event)
            continue
        changes.append(event | {"files": {name: text for name, text in files.items() if before.get(name) != text}})
        before = files
    return changes


def _unlike(simulation: Simulation, played: Json) -> tuple[str, ...]:
    """The lines of the events at which the recording decides otherwise."""
    told = []
    for happened, event in zip(simulation.happened, played.get("events") or (), strict=False):
        decisions = decision_records(happened.steps)
        if (decisions, happened.crash) != (event["decisions"], event.get("crash", "")):
            told.append(event["event"])
    return tuple(told)
