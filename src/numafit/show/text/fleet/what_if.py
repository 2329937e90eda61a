"""How a fleet with one thing changed reads: which change gains most, and how many nodes are enough."""

from collections.abc import Iterable, Iterator, Sequence

from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.what_if.gain import Aim, ChangeOutcome, gained, never_of, overdue_of
from numafit.show.records.fleet_what_if import FleetSize, FleetSizeAnswer, FleetWhatIfAnswer, SizePlayed
from numafit.show.table import PLAIN, Screen, aligned
from numafit.show.text.fleet.simulation import GIB, duration_text, many_text, part_text, skipped_text

AS_IT_IS = "as it is"
GAINS: dict[Aim, str] = {
    "overdue": "fewer pods are overdue",
    "never": "fewer pods never have a node",
    "rejected": "fewer pods are rejected by kubelets",
    "wait": "seconds less are waited in the mean",
    "aligned": "more of what is given is aligned",
    "stranded-gpus": "fewer GPUs are stranded in the mean",
    "stranded-cpus": "fewer CPUs are stranded in the mean",
}


def what_if_text(answer: FleetWhatIfAnswer, screen: Screen = PLAIN) -> str:
    idle = [own.change for own in answer.changes if own.idle]
    named = [(AS_IT_IS, answer.before), *((own.change, own.outcome) for own in answer.changes if not own.idle)]
    memory = pins_memory(own for _, own in named)
    parts = [
        _head(answer),
        " ".join(verdict_lines(answer)),
        aligned([WAIT_HEADS, *(waits_row(name, own, answer.pods) for name, own in named)], range(1, 8), screen),
        "Alignment of what was given (CPUs on one NUMA node, memory and devices at them), and what is stranded:\n"
        + aligned(
            [reached_heads(memory=memory), *(reached_row(name, own, memory=memory) for name, own in named)],
            range(1, 8),
            screen,
        ),
    ]
    if idle:
        parts.append(f"It makes no difference here: {', '.join(idle)}.")
    if answer.refused:
        parts.append("\n".join(f"Not possible: {own.change}: {own.why}" for own in answer.refused))
    if answer.skipped:
        parts.append(skipped_text(answer.skipped))
    return "\n\n".join(parts)


def pins_memory(outcomes: Iterable[RuleOutcome]) -> bool:
    """Whether a memory manager gives some away."""
    return any(own.alignment.memory or own.stranded_memory for own in outcomes)


def _head(answer: FleetWhatIfAnswer | FleetSizeAnswer) -> str:
    return (
        f"{_many(answer.pods, 'pod')} in {duration_text(answer.seconds)} on {_many(answer.nodes, 'node')}, placed by "
        f"{answer.rule}.\nOverdue is who waits longer than {duration_text(answer.limit)}, or never has a node."
    )


def verdict_lines(answer: FleetWhatIfAnswer) -> Iterator[str]:
    """Which change gains most, and what it costs; where it does, which of those that cost nothing."""
    if not answer.changes:
        yield "There is nothing to change."
        return
    best = answer.changes[0]
    if gained(best, answer.by) <= 0:
        yield f"None of these changes helps: with none of them {GAINS[answer.by]}."
        if len(answer.changes) == 1:
            yield from _cost_lines(best, answer.before)
        return
    alike = [own.change for own in answer.changes[1:] if gained(own, answer.by) == gained(best, answer.by)]
    as_much = f" (as many by {', '.join(alike)})" if alike else ""
    yield f"Most is gained by {best.change}: {gain_text(best, answer.by)}{as_much}."
    if best.gain.costs:
        yield from _cost_lines(best, answer.before)
        kept = next((own for own in answer.changes if not own.gain.costs and gained(own, answer.by) > 0), None)
        yield (
            f"Of changes without such a cost, most is gained by {kept.change}: {gain_text(kept, answer.by)}."
            if kept
            else "Of changes without such a cost, none helps."
        )


def _cost_lines(own: ChangeOutcome, before: RuleOutcome) -> Iterator[str]:
    gain = own.gain
    if gain.losses:
        yield f"It costs alignment of {' and '.join(_lost_text(kind, own.outcome, before) for kind in gain.losses)}."
    more = [
        f"{_many(-amount, 'more pod')} {'is' if amount == -1 else 'are'} {what}"
        for amount, what in ((gain.never, "without a node at the end"), (gain.rejected_pods, "rejected by kubelets"))
        if amount < 0
    ]
    if more:
        yield f"With it {' and '.join(more)}."


def _lost_text(kind: str, after: RuleOutcome, before: RuleOutcome) -> str:
    """Where no container is given any more what could be aligned, all of it is lost."""
    return kind if _given(kind, after)[1] else f"{kind} ({part_text(*_given(kind, before))} before, none now)"


def _given(kind: str, outcome: RuleOutcome) -> tuple[int, int]:
    """Containers for which it is aligned, of those for which it could be."""
    found = outcome.alignment
    return {
        "CPUs": (found.cpus_together, found.cpus),
        "memory": (found.memory_near, found.memory),
        "devices": (found.devices_near, found.devices),
    }[kind]


def gain_text(own: ChangeOutcome, aim: Aim) -> str:
    amount = gained(own, aim)
    if aim == "aligned":
        return f"{amount:.1%} {GAINS[aim]}"
    if aim == "overdue" and amount == 1:
        return "1 pod less is overdue"
    return f"{amount:,.1f} {GAINS[aim]}" if amount % 1 else f"{amount:,.0f} {GAINS[aim]}"


WAIT_HEADS = ("CHANGE", "OVERDUE", "REJECTED", "AGAIN", "WAIT", "99 %", "NEVER")


def waits_row(name: str, own: RuleOutcome, pods: int) -> tuple[str, ...]:
    return (
        name,
        f"{overdue_of(own) / pods:.2%}",
        f"{own.rejected_pods:,}",
        many_text(own.recreations),
        duration_text(own.mean_wait),
        duration_text(own.late_wait),
        f"{never_of(own):,}",
    )


def reached_heads(*, memory: bool) -> tuple[str, ...]:
    near, stranded = (("MEMORY",), ("MEMORY",)) if memory else ((), ())
    return ("CHANGE", "CPUS", *near, "DEVICES", "STRANDED CPUS", *stranded, "GPUS")


def reached_row(name: str, own: RuleOutcome, *, memory: bool) -> tuple[str, ...]:
    found = own.alignment
    near = (part_text(found.memory_near, found.memory),) if memory else ()
    stranded = (f"{own.stranded_memory / GIB:,.0f} GiB",) if memory else ()
    return (
        name,
        part_text(found.cpus_together, found.cpus),
        *near,
        part_text(found.devices_near, found.devices),
        f"{own.stranded_cpus:,.0f}",
        *stranded,
        f"{own.stranded_gpus:,.1f}",
    )


def fleet_size_text(answer: FleetSizeAnswer, screen: Screen = PLAIN) -> str:
    parts = [f"{_head(answer)}\nAt most {100 * answer.part:g} % of the pods may be overdue."]
    for fleet in answer.fleets:
        parts.append("\n".join(size_lines(answer, fleet)))
        rows = [size_row(own, answer.pods) for own in near_answer(fleet)]
        parts.append(aligned([SIZE_HEADS, *rows], range(len(SIZE_HEADS)), screen))
    parts.append(
        "Numbers between were not all played: it is taken for granted that more nodes are enough where fewer are."
    )
    if answer.skipped:
        parts.append(skipped_text(answer.skipped))
    return "\n\n".join(parts)


SIZE_HEADS = ("NODES", "ENOUGH", "OVERDUE", "REJECTED", "WAIT", "99 %", "NEVER")


def size_row(own: SizePlayed, pods: int) -> tuple[str, ...]:
    outcome = own.outcome
    return (
        f"{own.nodes:,}",
        "yes" if own.enough else "no",
        f"{own.overdue / pods:.2%}",
        f"{outcome.rejected_pods:,}",
        duration_text(outcome.mean_wait),
        duration_text(outcome.late_wait),
        f"{never_of(outcome):,}",
    )


def near_answer(fleet: FleetSize) -> Sequence[SizePlayed]:
    """The answer and its neighbours; where there is none, the largest number."""
    if fleet.least is None:
        return fleet.played[-1:]
    return [own for own in fleet.played if abs(own.nodes - fleet.least) <= 1]


def size_lines(answer: FleetSizeAnswer, fleet: FleetSize) -> Iterator[str]:
    """What was found, in sentences."""
    name = fleet.change or AS_IT_IS
    of_group = f" of {answer.group}" if answer.group else ""
    if fleet.least is None:
        left_out = fleet.played[-1].outcome.impossible
        why = (
            f": {_many(left_out, 'pod')} {'fits' if left_out == 1 else 'fit'} no empty node"
            if left_out > answer.allowed
            else ""
        )
        yield f"{name}: no number of nodes{of_group} was enough, up to {fleet.most:,}{why}."
        return
    below = fleet.least - 1
    less = f"; {_many(below, 'node')} {_is_not(below)}" if any(own.nodes == below for own in fleet.played) else ""
    now = answer.varied
    more = "as many as there are" if fleet.least == now else f"there are {now:,}"
    yield f"{name}: {_many(fleet.least, 'node')}{of_group} {'is' if fleet.least == 1 else 'are'} enough{less} ({more})."
    if len(fleet.groups) > 1:
        yield f"These are {', '.join(f'{many:,} of {group}' for group, many in fleet.groups.items())}."
    if fleet.unlike:
        told = ", ".join(f"{number:,}" for number in fleet.unlike)
        yield f"More is not always better here: {told} would not be enough."


def _is_not(many: int) -> str:
    return "is not" if many == 1 else "are not"


def _many(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count:,} {word}s"
