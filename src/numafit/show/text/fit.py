"""How a count of pods reads: per shape, per NUMA node, and as a table of policies."""

from collections.abc import Sequence

from numafit.advice.fit import Count, FitCount, Left
from numafit.advice.stop import Limit, Shortfall, Stop
from numafit.decision.decision import Crash
from numafit.decision.story.refused_words import blame_in_words
from numafit.decision.story.terms import amount_in_words
from numafit.managers.ask import is_memory
from numafit.quantity import Quantity
from numafit.show.records.fit import CountedVariant
from numafit.show.table import PLAIN, Screen, aligned
from numafit.workload.pod import Pod


def fit_text(fit: FitCount, screen: Screen = PLAIN) -> str:
    parts = [_count(count) for count in fit.counts]
    rows = [("LEFT", "STRANDED" if fit.full and not fit.shared else "FREE")]
    rows += [(f"NUMA node {left.numa}", _left(left)) for left in fit.left]
    return "\n\n".join([*parts, aligned(rows, screen=screen)])


def _count(count: Count) -> str:
    name = count.shape.full_name
    pods = "1 more pod fits" if count.admitted == 1 else f"{count.admitted or 'no'} more pods fit"
    of_them = "" if count.aligned == count.admitted else f", {count.aligned} of them aligned"
    if count.refusal is None or count.stop is None:
        pods = f"at least {pods}{of_them}" if count.admitted else "not counted"
        return f"{name}: {pods}\n  counting ended before one was rejected"
    lines = [f"{name}: {pods}{of_them}"]
    refusal = count.refusal
    if refusal.panic:
        blame = blame_in_words(refusal.cause) if isinstance(refusal.cause, Crash) else refusal.panic
        return "\n".join([*lines, f"  at the next the kubelet would crash: {blame}"])
    lines.append(f"  the next is rejected: {refusal.reason}: {refusal.message}")
    lines.append(f"  stopped by {stop_in_words(count.stop)}")
    lines += [f"  {_limit(limit)}" for limit in count.limits if limit.short]
    if count.loose:
        more = "1 more pod" if count.loose == 1 else f"{count.loose} more pods"
        lines.append(f"  {more} would fit into what is left if nothing had to be aligned")
    return "\n".join(lines)


def stop_in_words(stop: Stop) -> str:
    who = f"container {stop.container}" if stop.container else "the pod"
    needed, free = _stop_amount(stop.resource, stop.needed), _stop_amount(stop.resource, stop.free)
    if stop.rule == "max-pods":
        return f"the number of pods: the node takes {stop.capacity} (maxPods, podsPerCore)"
    if stop.rule == "node":
        capacity = _stop_amount(stop.resource, stop.capacity)
        return f"the check of the node as a whole: the pod asks for {needed}; of {capacity} for pods {free} are left"
    if stop.rule == "topology-policy":
        return f"the topology policy {stop.policy}"
    if stop.rule == "full-pcpus-only":
        if stop.is_uneven:
            return f"full-pcpus-only: {who} asks for {needed}; CPUs are given by whole cores of {stop.capacity // 1000}"
        return f"full-pcpus-only: {who} asks for {needed}; on cores without a reserved CPU {free} are free"
    if stop.rule == "pod-resources":
        return "the rule for pods with resources of their own (spec.resources)"
    if stop.rule == "unsuited":
        return "a check of the node that counts nothing (labels, taints, ports of the host)"
    manager = {"cpu-manager": "CPU manager", "memory-manager": "memory manager"}.get(stop.rule, "device manager")
    if not stop.needed:
        return f"the {manager}, at {who}"
    return f"the {manager}: {who} asks for {needed}; on all NUMA nodes together {free} are free"


def _stop_amount(resource: str, amount: int) -> str:
    if resource != "cpu":
        return amount_in_words(resource, amount)
    return amount_in_words(resource, amount // 1000) if amount % 1000 == 0 else f"{amount}m CPUs"


SHORTFALLS: dict[Shortfall, str] = {
    "out": "runs out",
    "large": "too large for any NUMA node",
    "scattered": "on no single NUMA node",
    "in-the-way": "in the way",
}


def _limit(limit: Limit) -> str:
    free = ", ".join(f"{_amount(limit.resource, free)} on node {numa}" for numa, free in sorted(limit.short.items()))
    needed = amount_in_words(limit.resource, limit.needed)
    return f"{SHORTFALLS[limit.kind]}: {limit.resource}: {needed} needed, free {free}"


def _left(left: Left) -> str:
    parts = [amount_in_words(resource, amount) for resource, amount in left.amounts.items() if amount]
    return ", ".join(parts) or "-"


def _amount(resource: str, amount: int) -> str:
    return str(Quantity(amount, 0, "BinarySI")) if is_memory(resource) else str(amount)


def variants_text(rows: Sequence[CountedVariant], shapes: Sequence[Pod], screen: Screen = PLAIN) -> str:
    """`*` marks the configuration given; `3 (1)` are three pods of which one is aligned, `3+` those that were counted
    until the kubelet crashed over another."""
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
    more = "+" if count.refusal is None else ""
    return f"{count.admitted}{more}" + ("" if count.aligned == count.admitted else f" ({count.aligned})")


def _out(count: Count) -> str:
    """The rule, or the resources where the topology policy or a manager found too little."""
    stop = count.stop
    if stop is None:
        return "-"
    if stop.rule == "node":
        return stop.resource
    if stop.rule in ("max-pods", "full-pcpus-only", "pod-resources", "unsuited", "crash"):
        return stop.rule
    return "+".join(limit.resource for limit in count.limits if limit.short) or stop.policy or stop.rule
