"""What came of pods when a past was played, beside what its source tells of them."""

from collections.abc import Iterator

import msgspec

from numafit.advice.past.past import Past, ToldEnd
from numafit.bits import cpuset_text
from numafit.decision.history.step import Step, with_evictions
from numafit.decision.simulation import Happened, Simulation
from numafit.decision.stage import CONTRADICTED
from numafit.notes import Note


class PastAgreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    """`log` or `objects`."""
    told: int
    """Decisions of which the source tells the end."""
    same: int
    """Those that ended so here, too."""

    @property
    def sentence(self) -> str:
        tell = "tells" if self.source == "log" else "tell"
        if not self.told:
            return f"The {self.source} {tell} of no decision that was played."
        return f"The {self.source} {tell} the same of {self.same} of {self.told} decisions."


def agreement_with(past: Past, simulation: Simulation) -> tuple[PastAgreement, tuple[Note, ...]]:
    """With a note on each decision that ended otherwise. `simulation` is that of the events of this past."""
    told = same = 0
    notes = []
    has = "has" if past.source == "log" else "have"
    for end in past.told:
        happened = simulation.happened[end.event]
        if end.kind == "resize" and happened.void:
            continue
        told += 1
        differences = list(_differences(end, happened))
        same += not differences
        stamp = past.stamps[end.event]
        notes += [Note(CONTRADICTED, end.name, f"{stamp}: the {past.source} {has} it {text}") for text in differences]
    evicted = {(end.event, end.pod) for end in past.told if end.kind == "evict"}
    for place, happened in enumerate(simulation.happened):
        for step in with_evictions(happened.steps):
            pod = step.decision.pod
            if step.event == "evict" and past.source == "log" and (place, pod.uid) not in evicted:
                told += 1
                text = f"{past.stamps[place]}: it is evicted here, and not in the {past.source}"
                notes.append(Note(CONTRADICTED, pod.full_name, text))
    return PastAgreement(past.source, told, same), tuple(notes)


def _differences(end: ToldEnd, happened: Happened) -> Iterator[str]:
    own = [
        step for step in with_evictions(happened.steps) if step.event == end.kind and step.decision.pod.uid == end.pod
    ]
    if not own:
        here = "it stays here" if end.kind == "evict" else "it is not decided here"
        yield f"{_verdict(end.kind, end.admitted, end.reason)}, and {here}"
        return
    if end.kind == "evict":
        return
    yield from _unlike(end, own[-1])


def _unlike(end: ToldEnd, step: Step) -> Iterator[str]:
    decision = step.decision
    reasons_differ = end.reason and end.reason != decision.reason
    if end.admitted != decision.admitted or (not end.admitted and reasons_differ):
        here = "a crash" if decision.panic else _verdict(end.kind, decision.admitted, decision.reason)
        yield f"{_verdict(end.kind, end.admitted, end.reason)}, and here it is {here}"
        return
    for container, cpus in end.cpus.items() if end.admitted else ():
        placement = decision.containers.get(container)
        given = (placement.cpus or 0) if placement is not None else 0
        if given != cpus:
            texts = cpuset_text(cpus) or "none", cpuset_text(given) or "none"
            yield f"with the CPUs {texts[0]} for container {container}, and here they are {texts[1]}"


def _verdict(kind: str, admitted: bool, reason: str) -> str:
    if kind == "evict":
        return "evicted"
    good, bad = ("allocated", "not allocated") if kind == "resize" else ("admitted", "rejected")
    return good if admitted else f"{bad}{f', {reason}' if reason else ''}"
