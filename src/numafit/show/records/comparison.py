"""A comparison: each pod under both kubelets, then the settings and rules that differ."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.advice.compare import Comparison, Difference, RuleChange
from numafit.decision.decision import Decision
from numafit.errors import StartRefusedError
from numafit.notes import Note, notes_by_subject


class PodCompared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: tuple[bool | None, bool | None]
    differences: tuple[Difference, ...]
    notes: tuple[Note, ...] | UnsetType = UNSET
    """Those about this pod."""


class CompareAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the right kubelet would not start, `starts` is false and only `message`, `place` and `cure` say more."""

    starts: bool
    message: str | UnsetType = UNSET
    place: str | UnsetType = UNSET
    """`FILE:LINE:COLUMN: FIELD` of the value that is to blame, as far as it is known."""
    cure: str | UnsetType = UNSET
    changed: int | UnsetType = UNSET
    pods: tuple[PodCompared, ...] | UnsetType = UNSET
    settings: tuple[Difference, ...] | UnsetType = UNSET
    rules: tuple[RuleChange, ...] | UnsetType = UNSET
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def comparison_record(comparison: Comparison, notes: Sequence[Note] = ()) -> CompareAnswer:
    about = notes_by_subject(notes)
    pods = [
        PodCompared(
            pair.pod.full_name,
            (_admitted(pair.was), _admitted(pair.becomes)),
            pair.differences,
            about.get(pair.pod.full_name, UNSET),
        )
        for pair in comparison.pairs
    ]
    return CompareAnswer(
        True,
        changed=len(comparison.changed),
        pods=tuple(pods),
        settings=comparison.settings,
        rules=comparison.rules,
        notes=tuple(notes),
    )


def no_start_record(refusal: StartRefusedError, notes: Sequence[Note] = ()) -> CompareAnswer:
    """The second kubelet would not start."""
    return CompareAnswer(
        False, refusal.message, place=refusal.place or UNSET, cure=refusal.cure or UNSET, notes=tuple(notes)
    )


def _admitted(decision: Decision | None) -> bool | None:
    return None if decision is None else decision.admitted
