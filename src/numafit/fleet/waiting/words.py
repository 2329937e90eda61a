"""Why a pod waits, as one sentence for its condition and its event.

It names no more than is needed, in an order that does not change with the day: what is short, who would have to end,
which nodes are out of the question, what would let the pod start now. What does not fit in is left out from the end,
but for the change. Counts beyond a few are rounded down, so that the text stands still while a fleet moves.
"""

from collections.abc import Sequence

from numafit.decision.filters import NODE_AFFINITY, TAINT_TOLERATION
from numafit.decision.story.terms import listed, upper
from numafit.fleet.places import REFUSED, UNSCHEDULABLE
from numafit.fleet.verdicts import NOT_OFFERED
from numafit.fleet.waiting.lack import Lack, lack_in_words
from numafit.fleet.waiting.why import AsideNodes, Ending, WhyWaiting

MOST_TEXT = 250
MOST_NAME = 60
EXACT = 9
"""Up to here a number of nodes is told exactly."""
_STEPS = (10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10)
_WHY_ASIDE = {
    UNSCHEDULABLE: ("is cordoned", "are cordoned"),
    TAINT_TOLERATION: ("has a taint that it does not tolerate", "have taints that it does not tolerate"),
    NODE_AFFINITY: ("is not one that its selector and affinity allow", "are none that its selector and affinity allow"),
    REFUSED: ("refused a pod like it and has not changed since", "refused a pod like it and have not changed since"),
}


def waiting_sentence(why: WhyWaiting) -> str:
    """At most `MOST_TEXT` characters."""
    first = _first(why)
    change = "" if why.change is None else f" It would start now with {_short(why.change.text, 80)}."
    room = MOST_TEXT - len(change) - 1
    text = upper(_short(first, room))
    for part in _others(why):
        longer = f"{text}; {part}"
        if len(longer) <= room:
            text = longer
    return f"{text}.{change}"


def _first(why: WhyWaiting) -> str:
    if why.fitting:
        return f"{nodes_text(why.fitting)} would take it now"
    if not why.nodes:
        return "No node has told its topology yet"
    if not why.never and not why.busy:
        return "No node is open to it"
    if why.lack is not None and _needs(why.lack) == _needs(why.busy_lack):
        return f"{lack_in_words(why.lack)}: no node has {_them(why.lack)}"
    if why.busy_lack is not None:
        which = "the only node that is large enough does not have" if why.busy == 1 else None
        which = which or f"none of {nodes_text(why.busy)} that are large enough has"
        return f"{lack_in_words(why.busy_lack)}: {which} {_them(why.busy_lack)}"
    if why.lack is not None and not why.busy:
        if all(own.reason == NOT_OFFERED for own in why.groups):
            return f"No node{_asked(why)} offers {listed(list(why.lack.needs), 'or')}: is a device plugin missing?"
        never = "no node" if why.never > 1 else "the node"
        could = "could ever have" if why.never > 1 else "could never have"
        return f"{lack_in_words(why.lack)}: {never}{_asked(why)} {could} {_them(why.lack)}, even with nobody on it"
    if why.commonest is not None:
        lack, number = why.commonest
        text = lack_in_words(lack).rstrip(".")
        short = f": {text[:1].lower()}{text[1:]}" if lack.where == "other" else f" this is short: {text}"
        return f"No node takes it; on {nodes_text(number)}{short}"
    return "No node takes it beside the pods that are on their way there"


def _asked(why: WhyWaiting) -> str:
    """Where not all nodes were: one that is cordoned, or not known, might have what no other has."""
    return " that is open to it" if why.aside or why.unknown else ""


def _needs(lack: Lack | None) -> object:
    return None if lack is None else (lack.where, lack.needs, lack.container)


def _them(lack: Lack) -> str:
    return "it" if list(lack.needs.values()) in ([1], [1000]) or set(lack.needs) <= {"memory", "pods"} else "them"


def _others(why: WhyWaiting) -> Sequence[str]:
    if why.fitting:
        return ()
    parts = []
    ends = ends_text(why.ends, cut=why.cut)
    if ends:
        parts.append(ends)
    elif why.busy > why.promised:
        parts.append(f"{nodes_text(why.busy - why.promised)} would with nobody on {_they(why.busy - why.promised)}")
    if why.promised:
        parts.append(f"{nodes_text(why.promised)} would but for pods that are on their way there")
    willing = sorted((own for own in why.aside if own.willing), key=lambda own: (-own.willing, own.reason))
    parts += [f"{nodes_text(own.willing)} would, but {_aside(own, own.willing)}" for own in willing]
    if not why.never and not why.busy:
        parts += [f"{nodes_text(own.nodes)} {_aside(own, own.nodes)}" for own in why.aside if not own.willing]
    if why.unknown:
        parts.append(f"{nodes_text(why.unknown)} {'has' if why.unknown == 1 else 'have'} not told the topology")
    return parts


def _aside(own: AsideNodes, number: int) -> str:
    return _WHY_ASIDE[own.reason][number > 1]


def _they(number: int) -> str:
    return "it" if number == 1 else "them"


def ends_text(ends: Sequence[Ending], *, cut: bool) -> str:
    """`2 nodes would after default/train ends`."""
    if not ends:
        return ""
    names = sorted({own.pod for own in ends})
    number = nodes_text(len(ends), cut=cut)
    if len(names) == 1:
        return f"{number} would after {_short(names[0], MOST_NAME)} ends"
    return f"{number} would after one pod ends, such as {_short(names[0], MOST_NAME)}"


def nodes_text(number: int, *, cut: bool = False) -> str:
    """`cut`: there may be more."""
    told = number if number <= EXACT else next(step for step in _STEPS if number >= step)
    least = "at least " if cut or told < number else ""
    return f"{least}{told} node{'' if told == 1 else 's'}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
