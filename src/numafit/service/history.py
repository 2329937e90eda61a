"""The decisions of the node that is shown, newest last, as many as fit."""

from collections import OrderedDict
from collections.abc import Iterator

import msgspec

MOST = 1000


class Summary(msgspec.Struct, frozen=True):
    """One line of the story. `kind` is `pod`, `lease` or `release`."""

    id: int
    time: str
    pod: str
    kind: str
    admitted: bool
    reason: str
    message: str
    sentence: str
    cpus: str
    nodes: tuple[int, ...]


class Entry(msgspec.Struct, frozen=True):
    summary: Summary
    story: msgspec.Raw
    """As in `explain -o json`; null where nothing was decided."""
    ledger: msgspec.Raw
    """The ledger view after it."""


class Page(msgspec.Struct, frozen=True):
    decisions: tuple[Summary, ...]
    next: int | None
    """Ask with `before` this id for older ones; null: there are none."""


class History:
    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.entries: OrderedDict[int, Entry] = OrderedDict()
        self.next_id = 1

    def add(self, entry: Entry) -> None:
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
