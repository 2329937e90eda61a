"""What is shown now and what was shown before: takes changes from a source, remembers them and tells all listeners."""

import msgspec
from msgspec.structs import replace

from numafit.decision.story import story_of
from numafit.service.broadcast import Broadcast
from numafit.service.clock import now_text
from numafit.service.counters import Counters
from numafit.service.history import Entry, History, Summary
from numafit.service.shown import Place, Shown
from numafit.service.source import Change, Happened, Seen
from numafit.service.view import LedgerView

NOTHING = msgspec.Raw(b"null")


class Board:
    def __init__(self, place: Place) -> None:
        self.shown = Shown(place, place.stage(), time=now_text())
        self.history = History()
        self.broadcast = Broadcast()
        self.counters = Counters()
        self.ready = False
        self.problem = ""
        """Why the source cannot be read at the moment, or what is doubtful about it."""
        self.told: dict[tuple[str, ...], int] = {}
        """(kind, verdict) -> entries of the story so far."""
        self.requests: dict[str, int] = {}
        """First digit of the status, as in `2xx` -> answers so far."""
        self.findings: dict[str, int] = {}
        """Code -> what the last audit found."""
        self._show(None)

    def _show(self, seen: Seen | None) -> None:
        self.view: LedgerView = self.shown.view() if seen is None else self.shown.view(seen.node, seen.ledger)
        self.ledger = msgspec.Raw(msgspec.json.encode(self.view))
        """The view of now, encoded once."""

    def apply(self, change: Change) -> None:
        shown = self.shown
        self.shown = replace(
            shown, stage=change.stage, known=change.known, revision=shown.revision + 1, time=now_text()
        )
        self._show(change.seen)
        if change.findings is not None:
            self.findings = dict(change.findings)
        self.ready = True
        self.doubt(change.warning)
        if change.happened is not None:
            self._tell(change.happened)
        # Last, and alone with an id: whoever has seen it has seen all of this revision.
        self.broadcast.send("ledger", bytes(self.ledger), shown.revision + 1)

    def doubt(self, problem: str) -> None:
        """Listeners are told, so that a picture which stands still does not look alive; empty: all is well again."""
        if problem != self.problem:
            self.problem = problem
            content = msgspec.json.encode({"problem": problem})
            self.broadcast.send("problem", content, self.shown.revision, with_id=False)

    def _tell(self, happened: Happened) -> None:
        summary = self._summary(happened)
        decision = happened.decision
        story = NOTHING
        if decision is not None:
            story = msgspec.Raw(msgspec.json.encode(story_of(self.shown.stage.node, decision)))
            self.counters.count(self.shown.stage.node, decision)
        key = (summary.kind, "admitted" if summary.admitted else "rejected")
        self.told[key] = self.told.get(key, 0) + 1
        self.history.add(Entry(summary, story, self.ledger))
        self.broadcast.send("decision", msgspec.json.encode(summary), self.shown.revision, with_id=False)

    def _summary(self, happened: Happened) -> Summary:
        decision = happened.decision
        admitted = not happened.refused if decision is None else decision.admitted
        took = happened.kind != "release" and admitted
        holder = next((each for each in self.view.holders if took and each.id == happened.uid), None)
        return Summary(
            self.history.next_id,
            self.shown.time,
            happened.name,
            happened.kind,
            admitted,
            decision.reason if decision is not None else happened.reason,
            (decision.message or decision.panic) if decision is not None else "",
            happened.sentence,
            holder.cpus if holder is not None else "",
            holder.nodes if holder is not None else (),
        )
