"""What is shown now and what was shown before: takes changes from a source, remembers them and tells all listeners.

Counts of what the engine decided go under the names of the kubelet's own metrics.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from numafit.advice.verdict import alignment_of
from numafit.bits import cpuset_text
from numafit.decision.decision import Decision
from numafit.decision.held import holding_of
from numafit.decision.node import Node
from numafit.decision.story.story import story_of
from numafit.managers.ask import ask_of
from numafit.managers.protocol import TOPOLOGY_AFFINITY, UNEXPECTED
from numafit.notes import GUESS_MATTERS, Note
from numafit.service.broadcast import Broadcast, event_bytes
from numafit.service.node import Audited, Change, Happening, ShownNode, Snapshot, ViewedNode
from numafit.service.past import LastHour
from numafit.service.recent import NOT_HERE, LastMinutes
from numafit.show.records.agent import Doubt, Page, Summary
from numafit.show.records.alignment import alignment_record
from numafit.show.records.time import now_text
from numafit.show.words import device_labels
from numafit.workload.pod import Pod

KNOWN_REASONS = (TOPOLOGY_AFFINITY, UNEXPECTED, "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods")
"""Reasons that the kubelet counts under their own name, as far as its managers and the check behind them give them."""


class Counters:
    def __init__(self) -> None:
        self.requests = 0
        self.errors = 0
        self.cpu_requests = 0
        self.cpu_errors = 0
        self.memory_requests = 0
        self.memory_errors = 0
        self.rejections: dict[str, int] = {}
        self.aligned: dict[tuple[str, str], int] = {}
        self.not_aligned: dict[tuple[str, str], int] = {}

    def count(self, node: Node, decision: Decision) -> None:
        self.requests += 1
        managers_refused = not decision.admitted and not decision.shortage
        if managers_refused and node.topology.policy != "none":
            self.errors += 1
        if not decision.admitted:
            reason = reason_label(decision.reason, short=bool(decision.shortage))
            self.rejections[reason] = self.rejections.get(reason, 0) + 1
        self._pinning(node, decision)
        if node.topology.policy == "single-numa-node":
            self._alignment(node, decision)

    def _pinning(self, node: Node, decision: Decision) -> None:
        """An allocation is tried only behind a merge that lets the pod pass."""
        if decision.reason == TOPOLOGY_AFFINITY:
            return
        ask = ask_of(decision.pod, node.settings)
        for name, placement in decision.containers.items():
            if node.cpu.static and ask.cpus[name]:
                self.cpu_requests += 1
                self.cpu_errors += placement.cpus is None
            if node.memory is not None and node.memory.static and ask.guaranteed:
                self.memory_requests += 1
                self.memory_errors += placement.memory is None and bool(ask.memory[name])

    def _alignment(self, node: Node, decision: Decision) -> None:
        scope = node.topology.scope
        for step in decision.merges or ():
            table = self.aligned if step.admit else self.not_aligned
            key = (scope, "numa_node")
            table[key] = table.get(key, 0) + 1


def reason_label(reason: str, *, short: bool) -> str:
    if reason in KNOWN_REASONS:
        return reason
    return "OutOfExtendedResources" if short else "Other"


NOTHING = msgspec.Raw(b"null")


class Board:
    def __init__(self, place: ShownNode, *, metered: bool = False) -> None:
        """`metered`: it will be told how busy the machine is."""
        self.snapshot = Snapshot(place, place.stage(), time=now_text())
        self.history = History()
        self.broadcast = Broadcast()
        self.counters = Counters()
        self.ready = False
        self.problem = ""
        """Why the source cannot be read at the moment, or what is doubtful about it."""
        self.counts: dict[tuple[str, ...], int] = {}
        """(kind, verdict) -> entries of the story so far."""
        self.requests: dict[str, int] = {}
        """First digit of the status, as in `2xx` -> answers so far."""
        self.audited = Audited({})
        """The last audit."""
        self.past = LastHour()
        self.recent = LastMinutes(place.machine, "" if metered else NOT_HERE[place.kind])
        self._show(None)

    def _show(self, viewed: ViewedNode | None) -> None:
        self.viewed = viewed or ViewedNode(self.snapshot.stage.node, self.snapshot.ledger)
        self.ledger = msgspec.Raw(msgspec.json.encode(self.snapshot.view(self.viewed)))
        """The view of now, encoded once."""

    @property
    def revision(self) -> int:
        return self.snapshot.revision

    def first(self) -> list[bytes]:
        """For who has seen nothing: the whole ledger."""
        return [event_bytes("ledger", bytes(self.ledger), self.broadcast.event_id(self.revision))]

    def apply(self, change: Change) -> None:
        snapshot = self.snapshot
        self.snapshot = replace(
            snapshot, stage=change.stage, known=change.known, revision=snapshot.revision + 1, time=now_text()
        )
        self._show(change.viewed)
        if change.audited is not None:
            self.audited = change.audited
            self.past.add(change.audited, self.snapshot.time)
        self.ready = True
        self.doubt(change.warning)
        if change.happened is not None:
            self._tell(change.happened)
        # Last, and alone with an id: whoever has seen it has seen all of this revision.
        self.broadcast.send("ledger", bytes(self.ledger), snapshot.revision + 1)

    def doubt(self, problem: str) -> None:
        """Listeners are told, so that a picture which stands still does not look alive; empty: all is well again."""
        if problem != self.problem:
            self.problem = problem
            content = msgspec.json.encode(Doubt(problem))
            self.broadcast.send("problem", content, self.snapshot.revision, with_id=False)

    def _tell(self, happened: Happening) -> None:
        summary = self._summary(happened)
        decision = happened.decision
        story = NOTHING
        if decision is not None:
            story = msgspec.Raw(msgspec.json.encode(story_of(self.snapshot.stage.node, decision)))
            self.counters.count(self.snapshot.stage.node, decision)
        key = (summary.kind, "admitted" if summary.admitted else "rejected")
        self.counts[key] = self.counts.get(key, 0) + 1
        pod = None if decision is None else decision.pod
        self.history.add(PastDecision(summary, story, self.ledger, happened.notes, pod))
        self.broadcast.send("decision", msgspec.json.encode(summary), self.snapshot.revision, with_id=False)

    def _summary(self, happened: Happening) -> Summary:
        decision = happened.decision
        admitted = not happened.refused if decision is None else decision.admitted
        took = happened.kind != "release" and admitted
        node, ledger = self.viewed.node, self.viewed.ledger
        holding = holding_of(node, ledger, happened.uid) if took else None
        lying = alignment_of(node, ledger, happened.uid) if took else None
        return Summary(
            self.history.next_id,
            self.snapshot.time,
            happened.name,
            happened.kind,
            admitted,
            decision.reason if decision is not None else happened.reason,
            (decision.message or decision.panic) if decision is not None else "",
            happened.sentence,
            cpuset_text(holding.cpus) if holding is not None else "",
            holding.nodes if holding is not None else (),
            any(note.code in GUESS_MATTERS for note in happened.notes),
            None if lying is None else alignment_record(lying, device_labels(node.machine)),
        )


MOST_DECISIONS = 1000
LIFE_BITS, EACH_BITS = 31, 20
"""Of an id: browsers know whole numbers of up to 53 bits."""


class PastDecision(msgspec.Struct, frozen=True):
    summary: Summary
    story: msgspec.Raw
    """As in `explain -o json`; null where nothing was decided."""
    ledger: msgspec.Raw
    """The ledger view after it."""
    notes: tuple[Note, ...] = ()
    pod: Pod | None = None
    """Whom it was about; None where nothing was decided."""


class History:
    """Each life of an agent has ids of its own, by chance and not by a clock, which may be set back: a link to a
    decision of an agent before this one finds none, not another one."""

    def __init__(self, most: int = MOST_DECISIONS) -> None:
        self.most = most
        self.entries: OrderedDict[int, PastDecision] = OrderedDict()
        self.next_id = secrets.randbits(LIFE_BITS) << EACH_BITS

    def add(self, entry: PastDecision) -> None:
        self.entries[entry.summary.id] = entry
        self.next_id = entry.summary.id + 1
        if len(self.entries) > self.most:
            self.entries.popitem(last=False)

    def page(self, *, limit: int, before: int | None = None, pod: str = "", verdict: str = "") -> Page:
        """Newest first. `pod` is a part of the name, `verdict` `admitted` or `rejected`."""
        found: list[Summary] = []
        for summary in self._newest_first(before):
            if pod not in summary.pod or (verdict and summary.admitted != (verdict == "admitted")):
                continue
            if len(found) == limit:
                return Page(tuple(found), found[-1].id)
            found.append(summary)
        return Page(tuple(found), None)

    def _newest_first(self, before: int | None) -> Iterator[Summary]:
        for number in reversed(self.entries):
            if before is None or number < before:
                yield self.entries[number].summary
