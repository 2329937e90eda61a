"""How a count of pods reads: per shape, per NUMA node, and as a table of policies."""

from collections.abc import Sequence

from numafit.advice.fit import Count, FitCount, Left, Limit
from numafit.decision.story import amount_in_words
from numafit.managers.ask import is_memory
from numafit.quantity import Quantity
from numafit.show.records.fit import CountedVariant
from numafit.show.table import PLAIN, Screen, aligned
from numafit.workload.pod import Pod


def fit_text(fit: FitCount, screen: Screen = PLAIN) -> str:
    parts = [_count(count) for count in fit.counts]
    rows = [("LEFT", "STRANDED")]
    rows += [(f"NUMA node {left.numa}", _left(left)) for left in fit.left]
    return "\n\n".join([*parts, aligned(rows, screen=screen)])


def _count(count: Count) -> str:
    name = count.shape.full_name
    pods = "1 more pod fits" if count.admitted == 1 else f"{count.admitted or 'no'} more pods fit"
    of_them = "" if count.aligned == count.admitted else f", {count.aligned} of them aligned"
    lines = [f"{name}: {pods}{of_them}"]
    if count.refusal is not None:
        refusal = count.refusal
        lines.append(f"  the next is rejected: {refusal.reason or 'crash'}: {refusal.message or refusal.panic}")
        lines += [f"  {_limit(limit)}" for limit in count.limits]
        if count.loose:
            more = "1 more pod" if count.loose == 1 else f"{count.loose} more pods"
            lines.append(f"  {more} would fit into what is left if nothing had to be aligned")
    return "\n".join(lines)


def _limit(limit: Limit) -> str:
    if not limit.short:
        return f"runs out: {limit.resource} of the node as a whole"
    free = ", ".join(f"{_amount(limit.resource, free)} on node {numa}" for numa, free in sorted(limit.short.items()))
    return f"runs out: {limit.resource}: {amount_in_words(limit.resource, limit.needed)} needed, free {free}"


def _left(left: Left) -> str:
    parts = [amount_in_words(resource, amount) for resource, amount in left.amounts.items() if amount]
    return ", ".join(parts) or "-"


def _amount(resource: str, amount: int) -> str:
    return str(Quantity(amount, 0, "BinarySI")) if is_memory(resource) else str(amount)


def variants_text(rows: Sequence[CountedVariant], shapes: Sequence[Pod], screen: Screen = PLAIN) -> str:
    """`*` marks the configuration given; `3 (1)` are three pods of which one is aligned."""
    table = [("", "POLICY", "SCOPE", "OPTION", *(shape.full_name for shape in shapes), "RUNS OUT")]
    for variant, fit in rows:
        head = ("*" if variant.current else "", variant.policy, variant.scope or "-", variant.option or "-")
        if fit is None:
            table.append((*head, *("-" for _ in shapes), f"does not start: {variant.problem}"))
            continue
        cells = [_cell(count) for count in fit.counts]
        table.append((*head, *cells, ", ".join(dict.fromkeys(_out(count) for count in fit.counts))))
    return aligned(table, screen=screen)


def _cell(count: Count) -> str:
    return str(count.admitted) if count.aligned == count.admitted else f"{count.admitted} ({count.aligned})"


def _out(count: Count) -> str:
    reason = "" if count.refusal is None else count.refusal.reason or "crash"
    return "+".join(limit.resource for limit in count.limits) or reason or "-"
