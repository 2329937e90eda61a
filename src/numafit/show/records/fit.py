"""A count of pods as JSON: per shape, per NUMA node, and per variant of the kubelet."""

from collections.abc import Sequence

from numafit.advice.fit import Count, FitCount
from numafit.advice.variants import Variant

CountedVariant = tuple[Variant, FitCount | None]


def fit_record(fit: FitCount) -> dict[str, object]:
    return {"shapes": [_count_record(count) for count in fit.counts], "stranded": fit.left}


def _count_record(count: Count) -> dict[str, object]:
    refusal = count.refusal
    return {
        "pod": count.shape.full_name,
        "admitted": count.admitted,
        "aligned": count.aligned,
        "reason": "" if refusal is None else refusal.reason,
        "message": "" if refusal is None else refusal.message,
        "limits": count.limits,
        "wouldFitUnaligned": count.loose,
    }


def variants_record(rows: Sequence[CountedVariant]) -> dict[str, object]:
    records = [
        {
            "policy": variant.policy,
            "scope": variant.scope,
            "option": variant.option,
            "current": variant.current,
            "problem": variant.problem,
            **({} if fit is None else fit_record(fit)),
        }
        for variant, fit in rows
    ]
    return {"variants": records}
