"""A node's past as a value: what happened, in order, and what came of each pod."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from numafit.decision.history.event import Event
from numafit.decision.history.lines import line_of
from numafit.decision.history.step import StepEvent
from numafit.managers.protocol import WatchedChoices
from numafit.notes import Note
from numafit.workload.pod import Pod

UNPLAYED = "past-not-played"
"""The code of a note on what the source tells and the run leaves out, or does otherwise."""
UNKNOWN_POD = "past-pod-unknown"


class ToldEnd(msgspec.Struct, frozen=True):
    """What the source tells of one decision."""

    event: int
    """The place of the event at which it was made."""
    pod: str
    """Its UID."""
    name: str
    """namespace/name"""
    admitted: bool
    """False for a victim, too."""
    reason: str = ""
    """Empty where it is not told."""
    cpus: Mapping[str, int] = {}
    """Container -> exclusive CPUs, of those that are told."""
    kind: StepEvent = "add"


class Past(msgspec.Struct, frozen=True):
    source: str
    """`log` or `objects`: who tells it."""
    events: tuple[Event, ...]
    stamps: tuple[str, ...]
    """When each event was, in the words of the source."""
    told: tuple[ToldEnd, ...] = ()
    absent: frozenset[str] = frozenset()
    """Resources whose plugin has not registered when the past begins."""
    orders: tuple[tuple[str, ...], ...] = ()
    """For each start again, the UIDs of static pods in the order in which they were admitted."""
    notes: tuple[Note, ...] = ()
    release: str = ""
    """Of the first kubelet, where it is told."""


class PastChoices(WatchedChoices):
    """What the kubelet leaves to chance, chosen as it went; what the source does not tell as numafit does."""

    def __init__(self, orders: Iterator[tuple[str, ...]], victims: frozenset[str]) -> None:
        super().__init__()
        self.orders = orders
        self.victims = victims

    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        order = next(self.orders, ())
        places = {uid: place for place, uid in enumerate(order)}
        if not all(pod.uid in places for pod in pods):
            return super().pods(pods)
        return sorted(pods, key=lambda pod: places[pod.uid])

    def victim(self, uids: Sequence[str]) -> str:
        told = [uid for uid in uids if uid in self.victims]
        return told[-1] if told else super().victim(uids)


def choices_of(past: Past) -> Callable[[], PastChoices]:
    orders = iter(past.orders)
    victims = frozenset(end.pod for end in past.told if end.kind == "evict")
    return lambda: PastChoices(orders, victims)


def past_text(past: Past) -> str:
    """As a file of events: one a line, with when it was."""
    release = f"--kube-version {past.release} " if past.release else ""
    play = f"numafit simulate {release}--events FILE PODS"
    lines = [f"# The past of a node, from its {past.source}. Play it with: {play}"]
    if past.absent:
        names = ", ".join(sorted(past.absent))
        lines.append(f"# At the beginning no plugin of {names} is there: leave its devices out of the machine.")
    lines += [f"# {note.about}: {note.text}" for note in past.notes]
    written = [line_of(event) for event in past.events]
    width = max(map(len, written), default=0)
    lines += [f"{line:{width}}  # {stamp}" for line, stamp in zip(written, past.stamps, strict=True)]
    return "\n".join(lines) + "\n"
