"""Pods that wait: which one is next, and which need not be asked about again.

What is said about one waiting pod holds for all of its kind, so that thousands that nothing fits are as cheap as one. A
kind sleeps from the moment when no node takes it until something has changed that could help it.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterator
from heapq import heapify, heappop, heappush

import msgspec

QueueOrder = tuple[int, str, str, str]
"""Priority with the sign turned, when it was made, its name, its UID: the smallest comes first."""


class QueueEntry(msgspec.Struct, frozen=True, gc=False):
    """One pod, or a group of pods that are released together or not at all."""

    key: str
    """UID of the pod, or the name of the group."""
    order: QueueOrder
    kind: Hashable
    """Entries of one kind are answered alike."""


class WaitingQueue:
    def __init__(self) -> None:
        self._entries: dict[str, QueueEntry] = {}
        self._kinds: dict[Hashable, list[tuple[QueueOrder, str]]] = {}
        """Sorted; none is empty."""
        self._asleep: set[Hashable] = set()
        self._awake = 0
        """Entries of kinds that do not sleep."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def put(self, entry: QueueEntry) -> None:
        """A new one, or one that has changed. A kind that sleeps sleeps on: nothing fits the new one, either."""
        before = self._entries.get(entry.key)
        if before == entry:
            return
        if before is not None:
            self.remove(entry.key)
        self._entries[entry.key] = entry
        insort(self._kinds.setdefault(entry.kind, []), (entry.order, entry.key))
        self._awake += entry.kind not in self._asleep

    def remove(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._awake -= entry.kind not in self._asleep
        own = self._kinds[entry.kind]
        del own[bisect_left(own, (entry.order, key))]
        if not own:
            del self._kinds[entry.kind]
            self._asleep.discard(entry.kind)

    def kind_of(self, key: str) -> Hashable:
        return self._entries[key].kind

    def keys(self) -> Collection[str]:
        return self._entries.keys()

    def entries(self, kind: Hashable) -> list[str]:
        """Keys of those of one kind, the next one first."""
        return [key for _, key in self._kinds.get(kind, ())]

    def number(self, kind: Hashable) -> int:
        return len(self._kinds.get(kind, ()))

    @property
    def awake(self) -> int:
        """Entries that may be released in this round."""
        return self._awake

    @property
    def sleeping(self) -> Collection[Hashable]:
        return self._asleep

    def first_of(self, kind: Hashable) -> str:
        return self._kinds[kind][0][1]

    def sleep(self, kind: Hashable) -> None:
        if kind in self._kinds and kind not in self._asleep:
            self._asleep.add(kind)
            self._awake -= len(self._kinds[kind])

    def wake(self, kind: Hashable) -> None:
        if kind in self._asleep:
            self._asleep.discard(kind)
            self._awake += len(self._kinds[kind])

    def wake_all(self) -> None:
        self._asleep.clear()
        self._awake = len(self._entries)

    def round(self) -> Iterator[str]:
        """Keys of those that are awake, in their order, each once; whoever asks may remove them and send kinds to
        sleep meanwhile."""
        heads = [(own[0], kind) for kind, own in self._kinds.items() if kind not in self._asleep]
        heap = [(head, number) for number, (head, _) in enumerate(heads)]
        kinds = [kind for _, kind in heads]
        heapify(heap)
        while heap:
            head, number = heappop(heap)
            kind = kinds[number]
            own = self._kinds.get(kind)
            if own is None or kind in self._asleep:
                continue
            place = bisect_left(own, head)
            if place < len(own) and own[place] == head:
                yield head[1]
                own = self._kinds.get(kind)
                if own is None or kind in self._asleep:
                    continue
                place = bisect_left(own, head)
                if place < len(own) and own[place] == head:
                    place += 1
            if place < len(own):
                heappush(heap, (own[place], number))
