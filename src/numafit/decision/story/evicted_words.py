"""The words for evictions: who went for a critical pod and why just those, or why it was not enough."""

from collections.abc import Mapping, Sequence

from numafit.decision.decision import NothingToEvict, Preempted
from numafit.decision.story.terms import amount_in_words, listed
from numafit.workload.pod import BEST_EFFORT, BURSTABLE, GUARANTEED

MOST_NAMED = 5
_SMALLEST = "the one that asks for the least memory goes, and then for the least CPU"
_GONE = {
    GUARANTEED: "with all Burstable and BestEffort pods gone, ",
    BURSTABLE: "with all BestEffort pods gone, ",
    BEST_EFFORT: "",
}


def evictions_in_words(evicted: Sequence[str], missing: Mapping[str, int]) -> str:
    shown = list(evicted[:MOST_NAMED])
    more = len(evicted) - len(shown)
    who = listed([*shown, *([f"{more} more"] if more else [])], "and")
    verb = "is" if len(evicted) == 1 else "are"
    return f"It is critical, and the node as a whole lacked {_amounts(missing)} for it: {who} {verb} evicted."


def preempted_in_words(cause: Preempted) -> str:
    gone = _GONE[cause.qos]
    why = f"{gone}the node as a whole {'would still lack' if gone else 'lacks'} {_amounts(cause.missing)}"
    kind = f"{cause.qos} pods that may go"
    if cause.among == 1:
        choice = f"it is the only one of the {kind}"
    elif cause.larger:
        near = cause.larger + cause.equals + 1
        who = f"{near} of the {cause.among}" if near < cause.among else "both" if near == 2 else f"all {near}"
        choice = f"{who} {kind} are equally near to that: {_SMALLEST}"
        if cause.equals:
            others = "another is" if cause.equals == 1 else f"{cause.equals} others are"
            choice += f"; {others} as small, and chance decides between them"
    elif cause.equals:
        others = "another is" if cause.equals == 1 else f"{cause.equals} others are"
        choice = f"of the {cause.among} {kind} it is nearest to that, and {others} as near: chance decides between them"
    else:
        choice = f"of the {cause.among} {kind} it is nearest to that"
    return f"Evicted for the critical pod {cause.by}: {why}, and {choice}; it gives back {_amounts(cause.frees)}."


def no_set_in_words(cause: NothingToEvict) -> str:
    missing = _amounts(cause.missing)
    if not cause.candidates:
        return f"The node as a whole lacks {missing} for this critical pod, and no pod on it may be evicted for that."
    pods = "the one pod" if cause.candidates == 1 else f"all {cause.candidates} pods"
    return (
        f"The node as a whole is full. The pod is critical, but even without {pods} that may be evicted for it "
        f"{missing} would be missing."
    )


def _amounts(amounts: Mapping[str, int]) -> str:
    return listed([_amount(name, amount) for name, amount in amounts.items()], "and")


def _amount(name: str, amount: int) -> str:
    if name == "pods":
        return "room for a pod" if amount == 1 else f"room for {amount} pods"
    text = amount_in_words(name, amount, milli=True)
    return f"{text} of memory" if name == "memory" else text
