"""The words for "why not here?": one sentence for each merge, and one for the pod."""

from numafit.bits import mask_of
from numafit.decision.story.elsewhere import Elsewhere, Here, MergeHere
from numafit.decision.story.terms import (
    amount_in_words,
    amounts_in_words,
    container_in_words,
    listed,
    nodes_in_words,
)
from numafit.decision.story.words import hint_in_words
from numafit.errors import some_of

MOST_NAMED = 3
"""Of those who hold what is missing."""


def elsewhere_in_words(told: Elsewhere) -> str:
    """Where a pod that is admitted goes; why, each merge tells by itself."""
    where = f"The pod lies on {nodes_in_words(mask_of(told.nodes))}."
    if not told.nodes:
        where = "The pod holds nothing that lies on a NUMA node."
    if told.merges:
        return where
    return f"With the policy `{told.policy}` nobody is asked for a NUMA node. {where}"


def merge_here_in_words(merge: MergeHere, numa: int) -> str:
    who = container_in_words(merge.container)
    best = f"the merge ends with {hint_in_words(merge.best)}"
    also = f" {_short(merge, numa)}" if any(each.lacking for each in merge.resources) else ""
    if merge.standing == "taken":
        if merge.best[0] is None:
            return f"Node {numa} it is: the machine has no other.{also}"
        return f"Node {numa} it is: {best}.{also}"
    if merge.standing == "refused":
        return f"Node {numa} it would be, but {best}, and the policy refuses {who}.{also}"
    if merge.standing == "open":
        return f"Node {numa} is as good as any: no manager asks for a NUMA node for {who}."
    if merge.standing == "among":
        return f"Node {numa} is one of several: {best}.{also}"
    if merge.standing == "short":
        return _short(merge, numa)
    if merge.standing == "not-preferred":
        names = listed([each.resource for each in merge.resources if not each.preferred], "and")
        return f"Node {numa} would do, but for {names} it is not a preferred place, and {best}."
    if merge.standing == "farther":
        return f"Node {numa} would do as well, but {best}, which has the shorter distance in the machine's table."
    return f"Node {numa} would do as well; of equal places the kubelet takes the lowest number, and {best}."


_BOUND = {
    "held": "it is held elsewhere from before",
    "reused": "what init containers of the pod leave is used again, and not all of that lies there",
}


def _short(merge: MergeHere, numa: int) -> str:
    """The first is told with its amounts; of the others that it is not alone."""
    lacking = [each for each in merge.resources if each.lacking]
    first, others = lacking[0], [each.resource for each in lacking[1:]]
    also = f" Nor can it give all of {listed(others, 'and')}." if others else ""
    return f"{_lack(first, numa)}.{also}"


def _lack(here: Here, numa: int) -> str:
    wanted = amount_in_words(here.resource, here.needed)
    amounts = [_units(here, amount) for amount in (here.free, here.allocatable, here.needed)]
    free, all_of_it, _ = amounts_in_words(here.resource, amounts)
    if here.grouped:
        return f"Node {numa} alone cannot give {wanted}: its memory is given only across a group of nodes"
    why = f": {_BOUND[here.bound]}" if here.bound else ""
    if here.offered and here.resource == "cpu":
        return f"Node {numa} alone cannot give {wanted} as full-pcpus-only wants them"
    if here.free >= here.needed:
        return f"Node {numa} alone cannot give {wanted}, although {free} {_is(here.free)} free there{why}"
    if not here.allocatable:
        return f"Node {numa} alone cannot give {wanted}: it has none"
    if here.allocatable < here.needed:
        return f"Node {numa} alone cannot give {wanted}: it has {all_of_it} in all"
    if why:
        return f"Node {numa} alone cannot give {wanted}{why}"
    by = f", and {some_of(list(here.held), MOST_NAMED)} {_holds(here)}" if here.held else ""
    return f"Node {numa} alone cannot give {wanted}: {free} of {all_of_it} {_is(here.free)} free there{by}"


def _holds(here: Here) -> str:
    return "holds some of it" if len(here.held) == 1 else "hold some of it"


def _units(here: Here, amount: int) -> int:
    """CPUs are counted in thousandths there."""
    return amount * 1000 if here.resource == "cpu" else amount


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
