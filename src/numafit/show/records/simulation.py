"""A simulation: every hint, merge and state file, and what is left on each NUMA node."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.bits import cpuset_text
from numafit.decision.decision import ResizeVerdict
from numafit.decision.doubt.chance import Extent, Others
from numafit.decision.history.step import Step
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


class Free(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is left of one NUMA node."""

    numa_node: int
    cpus: str
    memory: tuple[MemoryBlock, ...]
    devices: Mapping[str, tuple[str, ...]]


class OtherOutcome(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a decision could have been too; its fields are those of the decision."""

    admitted: bool
    containers: Mapping[str, PlacementOutcome] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    panic: str | UnsetType = UNSET


class OtherOutcomes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    others: tuple[OtherOutcome, ...]
    extent: Extent
    """`all`: there are no further ones; `more`: there are; `not searched`: not all orders were tried."""


class Simulated(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One decision. `merges`, `pluginCalls` and `containers` read as in a recording; `files` are state files."""

    pod: str
    qos: str
    uid: str
    event: str | UnsetType = UNSET
    """`restart` where the kubelet decides again on a pod that is there; left out for a pod that comes."""
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


class SimulateAnswer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    kube_version: str
    reserved_cpus: str = msgspec.field(name="reservedCPUs")
    decisions: tuple[Simulated, ...]
    left: tuple[Free, ...]
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def simulation_record(
    simulation: Simulation,
    notes: Sequence[Note] = (),
    *,
    with_files: bool = True,
    outcomes: Mapping[int, Others] | None = None,
) -> SimulateAnswer:
    """To write the state files takes most of the time; where nobody reads them they can be left out."""
    node = simulation.node
    about = notes_by_subject(notes)
    files = FileLog() if with_files else None
    if files is not None:
        files.changed(node, simulation.before)
    return SimulateAnswer(
        str(node.settings.version),
        cpuset_text(node.cpu.reserved),
        tuple(
            [
                _simulated(
                    simulation, step, files, about.get(step.decision.pod.full_name, ()), (outcomes or {}).get(number)
                )
                for number, step in enumerate(simulation.steps)
            ]
        ),
        tuple([_free(left) for left in left_on_nodes(node, simulation.after)]),
        tuple(notes),
    )


def _simulated(
    simulation: Simulation, step: Step, files: FileLog | None, notes: tuple[Note, ...], others: Others | None
) -> Simulated:
    decision = step.decision
    outcome = decision_outcome(decision)
    changed: dict[str, str] | UnsetType = UNSET
    started: dict[str, str] | UnsetType = UNSET
    if files is not None:
        changed = files.changed(simulation.node, decision.ledger)
        started = files.changed(simulation.node, step.ledger) or UNSET
    return Simulated(
        pod=decision.pod.full_name,
        qos=decision.qos,
        uid=outcome.uid,
        event=UNSET if step.event == "add" else step.event,
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
        outcomes=UNSET if others is None else _others(others),
    )


def _others(others: Others) -> OtherOutcomes:
    found = []
    for decision in others.decisions:
        outcome = decision_outcome(decision)
        found.append(OtherOutcome(outcome.admitted, outcome.containers, outcome.reason, outcome.message, outcome.panic))
    return OtherOutcomes(tuple(found), others.extent)


def _free(left: NodeLeft) -> Free:
    memory = tuple([MemoryBlock((left.numa,), name, size) for name, size in left.memory.items()])
    devices = {resource: ids for resource, ids in left.devices.items() if ids}
    return Free(left.numa, cpuset_text(left.cpus), memory, devices)
