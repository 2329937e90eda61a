"""What the guard remembers, kept in a ConfigMap: the parameter of the policy, and what a new guard begins with.

Texts are written as they change, all that changed at once. `until` is put off as long as this runs, by the clock of the
API server.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import msgspec

from numafit.cluster.guard.record import HOLD, LoopRecord, record_of, text_of
from numafit.cluster.guard.words import ENABLED_KEY, MEMORY, UNTIL_KEY
from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.live.words import GUARD
from numafit.errors import ApiServerError, InputError

LIVES_FOR, PUT_OFF = timedelta(minutes=5), timedelta(minutes=1)
"""So long the policy holds pods after the last word of a guard, and so often there is one."""
ON = "true"


class MemoryObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    data: dict[str, str] | None = None


class LoopMemory:
    """`switched` is called with whether the guard is to work, each time that somebody else changes that: also when the
    ConfigMap is deleted, which is off and on again."""

    def __init__(
        self, api: KubeApi, namespace: str, health: ApiHealth, switched: Callable[[bool], None] = lambda _: None
    ) -> None:
        self._api, self._health, self._switched = api, health, switched
        self._folder = f"/api/v1/namespaces/{namespace}/configmaps"
        self._path = f"{self._folder}/{MEMORY}"
        self._meta = {"name": MEMORY, "namespace": namespace}
        self._dirty: dict[str, str | None] = {}
        self._wake = asyncio.Event()
        self.on = True
        self.armed: frozenset[str] = frozenset()
        """UIDs of owners whose next pods are gated, as the ConfigMap says."""
        parameters = {"fieldSelector": f"metadata.name={MEMORY}"}
        self._copy = Reflector(api, self._folder, MemoryObject, self._changed, parameters=parameters, health=health)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def begin(self, now: datetime) -> dict[str, LoopRecord]:
        """What an earlier guard left, by the owner's UID; there need not have been one. Raises ApiServerError."""
        try:
            found = msgspec.json.decode(await self._api.get(self._path), type=MemoryObject)
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return {}
        except msgspec.MsgspecError as error:
            raise ApiServerError(f"this is no ConfigMap: {error}") from None
        data = found.data or {}
        self.on = data.get(ENABLED_KEY, ON) == ON
        records = {}
        for key, text in data.items():
            if key in (ENABLED_KEY, UNTIL_KEY):
                continue
            record = record_of(text, now)
            if record is not None:
                records[key] = record
            else:
                self._forget(key)
        return records

    async def watch(self) -> None:
        """Until it is cancelled."""
        await self._copy.run()

    def _changed(self, change: ObjectChange[MemoryObject]) -> None:
        data = (change.after.data or {}) if change.after is not None else {}
        self.armed = frozenset(key for key, text in data.items() if text.startswith(f"{HOLD} "))
        if change.after is None:
            self._dirty.clear()
            self._switched(False)
            self._switched(True)
            self.on = True
            return
        on = data.get(ENABLED_KEY, ON) == ON
        if on != self.on:
            self.on = on
            self._switched(on)

    # --- writing ------------------------------------------------------------------------------------------------------

    def remember(self, owner: str, record: LoopRecord | None, *, armed: bool) -> None:
        if record is None:
            self._forget(owner)
            return
        self._dirty[owner] = text_of(record, armed=armed)
        self._wake.set()

    def _forget(self, key: str) -> None:
        self._dirty[key] = None
        self._wake.set()

    async def keep(self) -> None:
        """Until it is cancelled: writes what changes."""
        backoff = Backoff(longest=5)
        due = True
        while True:
            try:
                await self.write(put_off=due)
                backoff.succeeded()
                due = False
            except InputError as error:
                self._health.failed(error)
                await asyncio.sleep(backoff.seconds())
                continue
            try:
                async with asyncio.timeout(PUT_OFF.total_seconds()):
                    await self._wake.wait()
            except TimeoutError:
                due = True

    async def write(self, *, put_off: bool = False) -> None:
        """All that has changed. Raises ApiServerError, and knows it still then."""
        self._wake.clear()
        texts, self._dirty = self._dirty, {}
        if put_off:
            texts = {**texts, UNTIL_KEY: self._until()}
        if not texts:
            return
        try:
            await self._written(texts)
        except BaseException:
            texts.pop(UNTIL_KEY, None)
            self._dirty = {**texts, **self._dirty}
            self._wake.set()
            raise

    async def _written(self, texts: dict[str, str | None]) -> None:
        try:
            content = msgspec.json.encode({"data": texts})
            await self._api.patch(self._path, content, MERGE, {"fieldManager": GUARD})
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            data = {key: text for key, text in texts.items() if text is not None}
            data = {ENABLED_KEY: ON, UNTIL_KEY: self._until(), **data}
            new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self._meta, "data": data}
            await self._api.create(self._folder, msgspec.json.encode(new))

    def _until(self) -> str:
        now = datetime.fromtimestamp(self._api.clock.now(), UTC)
        return (now + LIVES_FOR).strftime("%Y-%m-%dT%H:%M:%SZ")
