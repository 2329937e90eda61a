"""A plan and a log for people, and both as a record for programs."""

from collections.abc import Iterator

import msgspec

from numafit.cluster.switch.journal import BEGUN, DONE, JournalEntry
from numafit.cluster.switch.plan import (
    AS_BEFORE,
    BLOCKED,
    EVICTED,
    MAY_BE_REJECTED,
    MOVES,
    REJECTED,
    UNDECIDED,
    KeepAnswer,
    PodFate,
    SwitchPlan,
)
from numafit.cluster.switch.steps import CLEAR, DRAIN, STEPS, UNCORDON, WORDS
from numafit.show.table import BAD, GOOD, PLAIN, SEVERITIES, Screen

PLANNED, REFUSED, DECLINED = "planned", "refused", "declined"


class SwitchAnswer(msgspec.Struct, frozen=True):
    outcome: str
    """planned (with --dry-run), refused (by the plan), declined, switched, undone or unfinished."""
    plan: SwitchPlan | None = None
    refusals: tuple[str, ...] = ()
    steps: tuple[JournalEntry, ...] = ()
    kept: str = ""
    """The folder with what there was before."""


def plan_text(plan: SwitchPlan, config: str, was_cordoned: bool, screen: Screen = PLAIN) -> str:
    parts = [f"Node {plan.node}, kubelet {plan.release}: another configuration in the place of {config}"]
    parts += [part for part in (_changes(plan), _start(plan, screen), _files(plan), _pods(plan, screen)) if part]
    if plan.refusals:
        count = len(plan.blocked)
        some = "1 pod is in the way" if count == 1 else f"{count} pods are in the way"
        parts.append(f"{screen.paint('No', BAD)}: {some if plan.blocked else plan.refusals[0]}")
        return "\n\n".join(parts)
    if not plan.keep_pods:
        parts.append(_keep(plan.keep))
    lines = [f"  {number}. {name}: {WORDS[name]}" for number, name in enumerate(planned_steps(plan, was_cordoned), 1)]
    parts.append("\n".join(["Steps; where one fails, all is brought back to what ran before", *lines]))
    return "\n\n".join(parts)


def planned_steps(plan: SwitchPlan, was_cordoned: bool) -> tuple[str, ...]:
    left_out = {
        *((DRAIN,) if plan.keep_pods else ()),
        *((CLEAR,) if not plan.moved else ()),
        *((UNCORDON,) if was_cordoned else ()),
    }
    return tuple(step for step in STEPS if step not in left_out)


def _changes(plan: SwitchPlan) -> str:
    lines = [f"  {each.what}: {each.was} -> {each.becomes}" for each in plan.settings]
    lines += [f"  {name}" for name in plan.others]
    return "\n".join(["What changes", *lines]) if lines else ""


def _start(plan: SwitchPlan, screen: Screen) -> str:
    if plan.errors:
        lines = [f"The kubelet {screen.paint('would not start', BAD)} with it."]
    else:
        lines = [f"The kubelet {screen.paint('would start', GOOD)} with it on this machine."]
    for each in (*plan.errors, *plan.warnings):
        where = ":".join(str(part) for part in (each.place, each.line, each.column) if part)
        severity = screen.paint(each.severity, SEVERITIES[each.severity])
        lines.append(f"  {severity} {each.code}: {where}: {each.text}")
        # It is this very command that restarts it.
        lines += [f"    {step}" for step in each.cure if not step.startswith("systemctl")]
    return "\n".join(lines)


def _files(plan: SwitchPlan) -> str:
    if not plan.moved:
        return ""
    return "\n".join(["State files that are moved away, and kept", *(f"  {one.file}: {one.why}" for one in plan.moved)])


def _pods(plan: SwitchPlan, screen: Screen) -> str:
    if not plan.fates:
        return "" if plan.errors else "No pods are on the node."
    lines = [line for fate in plan.fates for line in _fate(fate, screen)]
    return "\n".join(["Pods", *lines])


def _fate(fate: PodFate, screen: Screen) -> Iterator[str]:
    if fate.action == BLOCKED:
        yield f"  {fate.pod}: {screen.paint('is in the way', BAD)}, it {fate.why} ({fate.cure})"
        return
    stays = f"stays, since it {fate.why}" if fate.why and fate.action != EVICTED else "stays"
    begin = f"  {fate.pod}: {'is evicted' if fate.action == EVICTED else stays}"
    back = "where it comes back, it" if fate.action == EVICTED else "it"
    if fate.outcome == REJECTED:
        yield f"{begin}; {back} is {screen.paint('rejected', BAD)}"
        yield f"    {fate.message}"
    elif fate.outcome == MAY_BE_REJECTED:
        yield f"{begin}; {back} {screen.paint('may be rejected', BAD)}, as long as its device plugin is not back"
        yield f"    {fate.message}"
    elif fate.outcome == MOVES:
        yield f"{begin}; {back} gets another place"
        yield from (f"    {each.what}: {each.was} -> {each.becomes}" for each in fate.differences)
    elif fate.outcome == AS_BEFORE:
        yield f"{begin}; {back} gets what it has"
    else:
        yield f"{begin}; {fate.why if fate.action == EVICTED and fate.why else 'what it gets is not known'}"


def _keep(keep: KeepAnswer) -> str:
    if not keep.possible:
        return f"With --keep-pods: not possible, {keep.why}"
    words = {AS_BEFORE: "as they are", MOVES: "in another place", MAY_BE_REJECTED: MAY_BE_REJECTED, REJECTED: REJECTED}
    counts = {name: sum(fate.outcome == name for fate in keep.fates) for name in words}
    outcomes = ", ".join(f"{count} {words[name]}" for name, count in counts.items() if count)
    told = f"{len(keep.fates)} pods, {outcomes or UNDECIDED}" if keep.fates else "no pods"
    files = ", ".join(each.file for each in keep.moved)
    return f"With --keep-pods: {told}; " + (f"{files} would be moved away" if files else "all state files would stay")


def entry_text(entry: JournalEntry) -> str:
    """One line of the log."""
    clock = entry.time.partition("T")[2].removesuffix("Z")
    if entry.event == BEGUN:
        return f"{clock} {entry.step}: {WORDS.get(entry.step, '')}"
    tail = f": {entry.text}" if entry.text else ""
    return f"{clock} {entry.step} {'done' if entry.event == DONE else entry.event}{tail}"
