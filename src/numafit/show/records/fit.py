"""A count of pods: per shape, per NUMA node, and per variant of the kubelet."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.advice.fit import Count, FitCount, Left
from numafit.advice.stop import Limit, Stop
from numafit.advice.variants import Variant
from numafit.notes import Note, notes_by_subject


class Counted(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    pod: str
    admitted: int
    aligned: int
    reason: str
    message: str
    limits: tuple[Limit, ...]
    would_fit_unaligned: int
    stop: Stop | None = None
    """The rule that stopped the next pod; none where counting ended before a rejection."""
    notes: tuple[Note, ...] | UnsetType = UNSET
    """Those about this pod."""


class VariantCounted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a kubelet that would not start `problem` says why, and nothing is counted."""

    policy: str
    scope: str
    option: str
    current: bool
    problem: str
    shapes: tuple[Counted, ...] | UnsetType = UNSET
    stranded: tuple[Left, ...] | UnsetType = UNSET


class FitAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`shapes` and `stranded`; with `compare` instead `variants`."""

    shapes: tuple[Counted, ...] | UnsetType = UNSET
    stranded: tuple[Left, ...] | UnsetType = UNSET
    full: bool | UnsetType = UNSET
    """No further pod of these shapes is admitted; where that is not so, `stranded` is only what is free."""
    variants: tuple[VariantCounted, ...] | UnsetType = UNSET
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


CountedVariant = tuple[Variant, FitCount | None]


def fit_record(fit: FitCount, notes: Sequence[Note] = ()) -> FitAnswer:
    return FitAnswer(_shapes(fit, notes), fit.left, fit.full, notes=tuple(notes))


def variants_record(rows: Sequence[CountedVariant], notes: Sequence[Note] = ()) -> FitAnswer:
    """Notes are those of the pods whatever the variant, so they stand at the top only."""
    return FitAnswer(variants=tuple([_variant(variant, fit) for variant, fit in rows]), notes=tuple(notes))


def _shapes(fit: FitCount, notes: Sequence[Note] = ()) -> tuple[Counted, ...]:
    about = notes_by_subject(notes)
    return tuple([_counted(count, about.get(count.shape.full_name, ())) for count in fit.counts])


def _counted(count: Count, notes: tuple[Note, ...]) -> Counted:
    refusal = count.refusal
    return Counted(
        count.shape.full_name,
        count.admitted,
        count.aligned,
        "" if refusal is None else refusal.reason,
        "" if refusal is None else refusal.message,
        count.limits,
        count.loose,
        count.stop,
        notes or UNSET,
    )


def _variant(variant: Variant, fit: FitCount | None) -> VariantCounted:
    return VariantCounted(
        variant.policy,
        variant.scope,
        variant.option,
        variant.current,
        variant.problem,
        UNSET if fit is None else _shapes(fit),
        UNSET if fit is None else fit.left,
    )
