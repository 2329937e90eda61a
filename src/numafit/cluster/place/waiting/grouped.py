"""Pods that start together: who of them is there, and the group's place in the queue."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.waiting.entries import order_of
from numafit.cluster.place.waiting.queue import QueueEntry, QueueOrder, WaitingQueue
from numafit.fleet.waiting.groups import GroupPod, PodGroupState, groups_of
from numafit.fleet.waiting.members import GroupObject, GroupOwner, GroupSize, Membership, membership, needed

ReadSize = Callable[[GroupObject], GroupSize | Literal["reading"] | None]
"""What an object says about the size of its groups; None where it cannot be read."""


class _Member(msgspec.Struct):
    told: Membership
    order: QueueOrder
    queued: bool
    bound: bool


class GroupBook:
    """Of all pods of the cluster, those that say that they start together."""

    def __init__(self, queue: WaitingQueue, read: ReadSize) -> None:
        self._queue, self._read = queue, read
        self._of: dict[str, str] = {}
        """UID -> key of its membership."""
        self._members: dict[str, dict[str, _Member]] = {}
        self._states: dict[str, dict[str, PodGroupState]] = {}
        """Key of a membership -> its groups: one, or several where they start one after the other."""

    def __contains__(self, key: str) -> bool:
        """Whether the key in the queue is one of a group."""
        return self.state(key) is not None

    def told(self, pod: ClusterPod, *, queued: bool) -> bool:
        """Whether it is in the queue with its group, or waits until that is known; else it is alone. `queued`: it waits
        for us, and nothing is under way for it."""
        own = _membership(pod)
        if own is None:
            self.gone(pod.uid)
            return False
        if self._of.get(pod.uid, own.key) != own.key:
            self.gone(pod.uid)
        self._of[pod.uid] = own.key
        self._members.setdefault(own.key, {})[pod.uid] = _Member(own, order_of(pod), queued, bool(pod.node))
        return self._renewed(own.key, pod.uid)

    def gone(self, uid: str) -> None:
        key = self._of.pop(uid, None)
        if key is None:
            return
        self._members[key].pop(uid, None)
        if self._members[key]:
            self._renewed(key, uid)
            return
        for own in self._states.pop(key, {}):
            self._queue.remove(own)
        del self._members[key]

    def sent(self, uid: str) -> None:
        """Its release is under way."""
        key = self._of.get(uid)
        if key is not None:
            self._members[key][uid].queued = False
            self._renewed(key, uid)

    def _renewed(self, key: str, uid: str) -> bool:
        members = self._members[key]
        read: dict[GroupObject | None, GroupSize | None] = {None: None}
        for own in members.values():
            source = own.told.source
            if source not in read:
                found = None if source is None else self._read(source)
                if found == "reading":
                    self._drop(key, {})
                    return True
                read[source] = found
        pods = [
            GroupPod(each, needed(own.told, read[own.told.source]), own.queued, own.bound)
            for each, own in sorted(members.items(), key=lambda item: item[1].order)
        ]
        states = groups_of(pods)
        self._drop(key, states)
        self._states[key] = states
        for name, state in states.items():
            if state.ready:
                order = min(members[each].order for each in state.waiting)
                self._queue.put(QueueEntry(name, order, ("group", name, state.waiting)))
            else:
                self._queue.remove(name)
        return any(own.uid == uid and own.number.size > 1 for own in pods)

    def _drop(self, key: str, left: dict[str, PodGroupState]) -> None:
        for own in self._states.pop(key, {}):
            if own not in left:
                self._queue.remove(own)

    def state(self, key: str) -> PodGroupState | None:
        for base in (key, key.rpartition("/")[0]):
            found = self._states.get(base, {}).get(key)
            if found is not None:
                return found
        return None

    def incomplete(self) -> Iterator[tuple[str, PodGroupState]]:
        """UIDs that wait for others of their group to come."""
        for states in self._states.values():
            for state in states.values():
                if not state.ready:
                    for uid in state.waiting:
                        yield uid, state

    def sources(self) -> Iterator[GroupObject]:
        """Objects that groups wait for: what they say may have changed."""
        for key, members in self._members.items():
            states = self._states.get(key)
            if states is None or any(not state.ready for state in states.values()) or not states:
                sources = {own.told.source for own in members.values() if own.queued and own.told.source is not None}
                yield from sources

    def of_source(self, source: GroupObject) -> list[str]:
        """UIDs of the pods whose group is told by this object."""
        return [uid for own in self._members.values() for uid, each in own.items() if each.told.source == source]


def _membership(pod: ClusterPod) -> Membership | None:
    meta, owner = pod.metadata, pod.owner
    controller = None if owner is None else GroupOwner(owner.kind, owner.name, owner.uid)
    return membership(meta.namespace, meta.labels, meta.annotations, controller, pod.scheduling_group)
