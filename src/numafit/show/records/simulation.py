"""A simulation: every hint, merge and state file, and what is left on each NUMA node."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.advice.past.agreement import PastAgreement
from numafit.bits import cpuset_text
from numafit.decision.decision import ResizeVerdict
from numafit.decision.doubt.other import Others
from numafit.decision.effects import told_events
from numafit.decision.held import stale_holdings
from numafit.decision.history.lines import line_of
from numafit.decision.history.step import Step, StepEvent, with_evictions
from numafit.decision.left import NodeLeft, left_on_nodes
from numafit.decision.simulation import Simulation
from numafit.notes import Note, notes_by_subject
from numafit.replay.outcomes import (
    CallOutcome,
    FileLog,
    MemoryBlock,
    MergeOutcome,
    PlacementOutcome,
    decision_outcome,
)
from numafit.show.records.effects import EffectRecord, effect_records
from numafit.show.records.outcomes import OtherOutcomes, outcomes_by_step


class Free(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is left of one NUMA node."""

    numa_node: int
    cpus: str
    memory: tuple[MemoryBlock, ...]
    devices: Mapping[str, tuple[str, ...]]


class Simulated(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One decision. `merges`, `pluginCalls` and `containers` read as in a recording; `files` are state files."""

    pod: str
    qos: str
    uid: str
    event: StepEvent | UnsetType = UNSET
    """At what it is decided: `restart`, of a pod that is there; `evict`, for a critical pod; `resize`. Left out for a
    pod that comes, unless there are `events`."""
    resize: ResizeVerdict | UnsetType = UNSET
    """Of a resize: what came of it. `admitted` says whether the pod has the new resources; it runs in any case."""
    admitted: bool
    merges: tuple[MergeOutcome, ...] | None
    plugin_calls: tuple[CallOutcome, ...] | UnsetType = UNSET
    containers: Mapping[str, PlacementOutcome] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    panic: str | UnsetType = UNSET
    default_cpus: str = msgspec.field(name="defaultCPUSet")
    files: Mapping[str, str] | UnsetType = UNSET
    """What changed by the decision. Not in a what-if."""
    files_after_start: Mapping[str, str] | UnsetType = UNSET
    notes: tuple[Note, ...] | UnsetType = UNSET
    """Those about this pod."""
    outcomes: OtherOutcomes | UnsetType = UNSET
    """With --outcomes, where the kubelet leaves the decision to chance and everybody before it is as told."""


class StaleHolding(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is still counted of a pod that is gone, or was rejected."""

    pod: str
    """Its UID where its name is not known."""
    cpus: str
    memory: tuple[MemoryBlock, ...]
    devices: Mapping[str, tuple[str, ...]]


class EventRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One event of a run."""

    event: str
    """Its line."""
    decisions: tuple[Simulated, ...]
    """Those that it caused: of pods that come, of all that are there at a restart, evictions, resizes."""
    effects: tuple[EffectRecord, ...] | UnsetType = UNSET
    files: Mapping[str, str] | UnsetType = UNSET
    """With --files: the state files after it."""
    crash: str | UnsetType = UNSET
    """What the kubelet says at its end, or why it does not start."""
    no_effect: str | UnsetType = UNSET
    """Why it had no effect, or not on all of its pods."""


class SimulateAnswer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    kube_version: str
    reserved_cpus: str = msgspec.field(name="reservedCPUs")
    decisions: tuple[Simulated, ...]
    events: tuple[EventRecord, ...] | UnsetType = UNSET
    """With events: each in its order, with those of the decisions that it caused."""
    left: tuple[Free, ...]
    stale: tuple[StaleHolding, ...] | UnsetType = UNSET
    """What is not left though nobody uses it: of pods that are gone or were rejected, until the kubelet cleans up."""
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""
    agreement: PastAgreement | UnsetType = UNSET
    """With --past: of how many decisions log or objects tell the same."""


def simulation_record(
    simulation: Simulation,
    notes: Sequence[Note] = (),
    *,
    with_files: bool = True,
    outcomes: Mapping[int, Others] | None = None,
    events: bool = False,
    event_files: bool = False,
    agreement: PastAgreement | None = None,
) -> SimulateAnswer:
    """To write the state files takes most of the time; where nobody reads them they can be left out."""
    node = simulation.node
    about = notes_by_subject(notes)
    files = FileLog() if with_files else None
    if files is not None:
        files.changed(node, simulation.before)
    own_outcomes = outcomes_by_step(simulation, outcomes) if outcomes else {}
    others = {id(simulation.steps[number]): own for number, own in own_outcomes.items()}
    decisions = [
        _simulated(
            simulation,
            step,
            files,
            about.get(step.decision.pod.full_name, ()),
            others.get(id(step)),
            event=step.event if events or step.event != "add" else UNSET,
        )
        for step in with_evictions(simulation.steps)
    ]
    return SimulateAnswer(
        kube_version=str(node.settings.version),
        reserved_cpus=cpuset_text(node.cpu.reserved),
        decisions=tuple(decisions),
        events=_events(simulation, decisions, files=event_files) if events else UNSET,
        left=tuple([_free(left) for left in left_on_nodes(simulation.end.node, simulation.after)]),
        stale=_stale(simulation) or UNSET,
        notes=tuple(notes),
        agreement=UNSET if agreement is None else agreement,
    )


def _events(simulation: Simulation, decisions: Sequence[Simulated], *, files: bool) -> tuple[EventRecord, ...]:
    found = []
    log = FileLog()
    first = 0
    for told in told_events(simulation):
        happened = told.happened
        last = first + len(told.steps)
        if files:
            log.changed(happened.after.node, happened.after.ledger)
        found.append(
            EventRecord(
                event=line_of(happened.event),
                decisions=tuple(decisions[first:last]),
                effects=effect_records(told) or UNSET,
                files=dict(log.reported) if files else UNSET,
                crash=happened.crash or UNSET,
                no_effect=happened.void or UNSET,
            )
        )
        first = last
    return tuple(found)


def _simulated(
    simulation: Simulation,
    step: Step,
    files: FileLog | None,
    notes: tuple[Note, ...],
    others: OtherOutcomes | None,
    *,
    event: StepEvent | UnsetType,
) -> Simulated:
    decision = step.decision
    outcome = decision_outcome(decision)
    changed: dict[str, str] | UnsetType = UNSET
    started: dict[str, str] | UnsetType = UNSET
    if files is not None:
        changed = files.changed(simulation.node_of(step), decision.ledger)
        started = files.changed(simulation.node_of(step), step.ledger) or UNSET
    return Simulated(
        pod=decision.pod.full_name,
        qos=decision.qos,
        uid=outcome.uid,
        event=event,
        resize=decision.resize or UNSET,
        admitted=outcome.admitted,
        merges=outcome.merges,
        plugin_calls=outcome.plugin_calls,
        containers=outcome.containers,
        reason=outcome.reason,
        message=outcome.message,
        panic=outcome.panic,
        default_cpus=cpuset_text(decision.ledger.cpu.default),
        files=changed,
        files_after_start=started,
        notes=notes or UNSET,
        outcomes=UNSET if others is None else others,
    )


def _stale(simulation: Simulation) -> tuple[StaleHolding, ...]:
    pods = simulation.pods
    return tuple(
        [
            StaleHolding(
                pods[uid].known_name if uid in pods else uid,
                cpuset_text(own.cpus),
                tuple([MemoryBlock(block.numa, block.type, block.size) for block in own.memory]),
                own.devices,
            )
            for uid, own in stale_holdings(simulation.end.node, simulation.after).items()
        ]
    )


def _free(left: NodeLeft) -> Free:
    memory = tuple([MemoryBlock((left.numa,), name, size) for name, size in left.memory.items()])
    devices = {resource: ids for resource, ids in left.devices.items() if ids}
    return Free(left.numa, cpuset_text(left.cpus), memory, devices)
