"""Other outcomes, where the kubelet leaves a decision to chance: what each is, and what it depends on."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from numafit.decision.decision import Decision
from numafit.decision.doubt.other import Dependence, Extent, Other, Others
from numafit.decision.simulation import Simulation
from numafit.managers.protocol import DrawKind
from numafit.replay.outcomes import PlacementOutcome, decision_outcome


class DependsOn(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How chance has to fall for it."""

    kind: DrawKind
    """`devices` and `preferred`: devices that are taken; `victim`: the pod that is evicted; `cpus`: a set of them;
    `pods`: the order of static pods at a start; `resources`, `nodes` and `stale` are orders, too."""
    taken: tuple[str, ...]
    """Those that are taken, or all of them in this order."""
    instead: tuple[str, ...]
    """In the outcome that is shown."""
    container: str | UnsetType = UNSET
    resource: str | UnsetType = UNSET


class OtherOutcome(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What a decision could have been too; its fields are those of the decision."""

    admitted: bool
    containers: Mapping[str, PlacementOutcome] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    panic: str | UnsetType = UNSET
    evicts: tuple[str, ...] | UnsetType = UNSET
    depends: tuple[DependsOn, ...] | UnsetType = UNSET
    also: tuple[str, ...] | UnsetType = UNSET
    """At a restart: the other pods that come out otherwise with it."""


class OtherOutcomes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    others: tuple[OtherOutcome, ...]
    extent: Extent
    """`all`: there are no further ones; `more`: there are; `not searched`: not all orders were tried."""


def outcomes_by_step(simulation: Simulation, found: Mapping[int, Others]) -> dict[int, OtherOutcomes]:
    """By the number of the step. Of outcomes of a whole restart each pod has those in which it is another."""
    records: dict[int, OtherOutcomes] = {}
    for first, others in found.items():
        for number in others.steps or (first,):
            shown = simulation.steps[number].decision
            own = [
                _other(decision, other)
                for other in others.found
                for decision in other.decisions
                if decision.pod.uid == shown.pod.uid and bool(decision.resize) == bool(shown.resize)
            ]
            if own or not others.steps or others.extent == "not searched":
                records[number] = OtherOutcomes(tuple(own), others.extent)
    return records


def _other(decision: Decision, other: Other) -> OtherOutcome:
    outcome = decision_outcome(decision)
    also = tuple(each.pod.full_name for each in other.decisions if each is not decision)
    return OtherOutcome(
        admitted=outcome.admitted,
        containers=outcome.containers,
        reason=outcome.reason,
        message=outcome.message,
        panic=outcome.panic,
        evicts=tuple(victim.pod.full_name for victim in decision.evicted) or UNSET,
        depends=tuple(_depends_on(own) for own in other.depends) or UNSET,
        also=also or UNSET,
    )


def _depends_on(own: Dependence) -> DependsOn:
    draw = own.draw
    return DependsOn(draw.kind, own.taken, own.instead, draw.container or UNSET, draw.resource or UNSET)
