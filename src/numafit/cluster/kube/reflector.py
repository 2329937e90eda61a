"""A copy of all objects of one kind, kept up to date: a list in pages, then a watch from there on.

Where the server has forgotten the moment of the last answer (410) all are listed again, and what changed meanwhile is
found by comparing: also what was deleted in the gap. Bookmarks keep that moment young.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Generic, Protocol, TypeVar

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta, key_of
from numafit.cluster.kube.pace import Backoff
from numafit.errors import ApiServerError, InputError, SilentStreamError

WATCH_SECONDS = (240, 300)
"""After which a server ends a watch: by chance, so that not all are begun again at once."""


SHORT_WATCH = 1.0
"""Seconds; one that ends earlier and told nothing is followed by a pause."""


class HasMeta(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


Item = TypeVar("Item", bound=HasMeta)


class ObjectChange(msgspec.Struct, Generic[Item], frozen=True):
    """One of both is always there. An object of the same name but another UID is told as one that went and one that
    came."""

    key: str
    before: Item | None
    after: Item | None


class _WatchLine(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Told(msgspec.Struct):
    """An object of which only this much is needed, or an answer that is an error."""

    metadata: ObjectMeta = ObjectMeta()
    code: int = 0
    message: str = ""


_LINE, _HEAD = msgspec.json.Decoder(_WatchLine), msgspec.json.Decoder(_Told)


class Reflector(Generic[Item]):
    """`changed` is called for each change, in their order, once the copy has it. `keep` says what is kept of an object:
    None where it is nobody's business here. `rest`: seconds after a change in which the next ones may wait."""

    def __init__(
        self,
        api: KubeApi,
        path: str,
        item: type[Item],
        changed: Callable[[ObjectChange[Item]], None],
        *,
        parameters: Mapping[str, str] | None = None,
        health: ApiHealth,
        keep: Callable[[Item], Item | None] | None = None,
        rest: float = 0.0,
    ) -> None:
        self.items: dict[str, Item] = {}
        """By "namespace/name", or the name alone of what has no namespace."""
        self.synced = asyncio.Event()
        """The first list is in."""
        self._api, self._path, self._parameters = api, path, dict(parameters or {})
        self._changed, self._keep, self._health, self._rest = changed, keep, health, rest
        self._decoder = msgspec.json.Decoder(item)
        self._name = path.rpartition("/")[2]
        self._version = ""
        """The moment that the copy shows; empty where it has to be listed."""
        self.trouble = ""
        """Why nothing is heard of changes: another try failed, too. One failure alone is everyday's business."""
        self._failed = False

    async def run(self) -> None:
        """Until it is cancelled. What fails is counted and tried again."""
        backoff = Backoff()
        while True:
            try:
                if not self._version:
                    await self._list()
                    self._answered()
                    self.synced.set()
                if not await self._watch(backoff):
                    # A server that ends each watch at once is not asked all the time.
                    await asyncio.sleep(backoff.seconds())
            except InputError as error:
                self._health.failed(error)
                self.trouble = str(error) if self._failed else ""
                self._failed = True
                if isinstance(error, ApiServerError) and error.status == HTTPStatus.GONE:
                    self._version = ""
                if isinstance(error, SilentStreamError):
                    self._health.stalls[self._name] += 1
                await asyncio.sleep(backoff.seconds())

    def _answered(self) -> None:
        self._failed, self.trouble = False, ""

    async def _list(self) -> None:
        self._health.lists[self._name] += 1
        found: dict[str, Item] = {}
        version = ""
        async for page in self._api.pages(self._path, self._parameters):
            for raw in page.items or ():
                self._listed(raw, found)
            version = page.metadata.resourceVersion
            if not version:
                # All would be taken for gone.
                why = "this is no list of an API server: it has no moment"
                raise ApiServerError(why, source=self._api.access.cluster.server)
            # Decoding a page takes some milliseconds: others come first.
            await asyncio.sleep(0)
        before, self.items, self._version = self.items, found, version
        for key, old in before.items():
            if key not in found:
                self._changed(ObjectChange(key, old, None))
        for key, new in found.items():
            self._tell(key, before.get(key), new)

    def _listed(self, raw: msgspec.Raw, found: dict[str, Item]) -> None:
        item = self._decoded(raw)
        if item is not None:
            kept = self._keep(item) if self._keep else item
            if kept is not None:
                found[key_of(item.metadata)] = kept
            return
        # What cannot be read stays as it was known.
        key = key_of(_told(raw).metadata)
        if key in self.items:
            found[key] = self.items[key]

    async def _watch(self, backoff: Backoff) -> bool:
        """Whether it told something, or at least took its time."""
        begun, useful = time.monotonic(), False
        parameters = {
            **self._parameters,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(*WATCH_SECONDS)),
        }
        async with aclosing(self._api.lines(self._path, parameters, self._rest, self._answered)) as lines:
            async for line in lines:
                if self._take(line):
                    backoff.succeeded()
                    useful = True
        return useful or time.monotonic() - begun > SHORT_WATCH

    def _take(self, line: bytes) -> bool:
        """Whether it can be read."""
        try:
            told = _LINE.decode(line)
        except msgspec.MsgspecError:
            self._health.unreadable[self._name] += 1
            return False
        if told.type == "ERROR":
            status = _told(told.object)
            raise ApiServerError(status.message, source=self._api.access.cluster.server, status=status.code or 500)
        # Nobody looks at the rest of what is gone; of all else the head is not read for itself.
        item = self._decoded(told.object) if told.type not in ("BOOKMARK", "DELETED") else None
        meta = item.metadata if item is not None else _told(told.object).metadata
        if meta.resourceVersion:
            self._version = meta.resourceVersion
        if told.type == "BOOKMARK":
            return True
        key = key_of(meta)
        before = self.items.get(key)
        after: Item | None = None
        if told.type != "DELETED":
            if item is None:
                return False
            after = self._keep(item) if self._keep else item
        if after is None:
            if before is not None:
                del self.items[key]
                self._changed(ObjectChange(key, before, None))
            return True
        self.items[key] = after
        self._tell(key, before, after)
        return True

    def _decoded(self, raw: msgspec.Raw) -> Item | None:
        try:
            return self._decoder.decode(raw)
        except msgspec.MsgspecError:
            self._health.unreadable[self._name] += 1
            return None

    def _tell(self, key: str, before: Item | None, after: Item) -> None:
        if before is None:
            self._changed(ObjectChange(key, None, after))
        elif before.metadata.uid != after.metadata.uid:
            self._changed(ObjectChange(key, before, None))
            self._changed(ObjectChange(key, None, after))
        elif before.metadata.resourceVersion != after.metadata.resourceVersion:
            self._changed(ObjectChange(key, before, after))


def _told(raw: msgspec.Raw) -> _Told:
    try:
        return _HEAD.decode(raw)
    except msgspec.MsgspecError:
        return _Told()
