"""One leader among several: whoever holds a Lease, for as long as it renews it.

Clocks of others are not trusted: a lease has ended when nobody renewed it for its whole time as seen from here.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.pace import Backoff
from numafit.errors import ApiServerError, InputError
from numafit.show.records.time import micro_time

LEASE_SECONDS = 15
"""Without a renewal, after which another one may take it."""
RENEW_SECONDS, GIVE_UP_SECONDS = 2.0, 10.0
"""Between renewals; without one, after which the leader stops: before anybody else may begin."""
GIVE_BACK_SECONDS = 2.0
SURE_SECONDS = 2.0
"""Before the end of the lease: what is sent then arrives before it."""
HANDOVER_SECONDS, HANDOVER_LOOK_SECONDS = 6.0, 0.5
"""For which another one may take over once the leader was told to end, and between two looks whether it has."""


class LeaseSpec(msgspec.Struct, omit_defaults=True):
    holderIdentity: str | None = None
    leaseDurationSeconds: int | None = None
    acquireTime: str | None = None
    renewTime: str | None = None
    leaseTransitions: int | None = None


class LeaseObject(msgspec.Struct, omit_defaults=True):
    metadata: ObjectMeta
    spec: LeaseSpec
    apiVersion: str = ""
    kind: str = ""


class Election:
    def __init__(self, api: KubeApi, namespace: str, name: str, identity: str, health: ApiHealth) -> None:
        self._api, self._identity, self._health = api, identity, health
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._meta = ObjectMeta(name=name, namespace=namespace)
        self._seen: tuple[str, float] = ("", 0.0)
        """Its version, and when that was first seen, by our own clock."""
        self._held: LeaseObject | None = None
        self.leads = False
        self._renewed = 0.0

    @property
    def sure(self) -> bool:
        """Nobody else can lead by now: also in a process that stood still for a while, before it hears of anything."""
        return self.leads and time.monotonic() - self._renewed < LEASE_SECONDS - SURE_SECONDS

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Until it is cancelled: `work` runs while this one leads, and is cancelled when it no longer does."""
        while True:
            self._renewed = await self._elected()
            self.leads = True
            working = asyncio.ensure_future(work())
            try:
                await self._lead(working)
            finally:
                self.leads = False
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
                await self._given_back()
            if not working.cancelled() and (error := working.exception()) is not None:
                raise error

    async def taken_over(self) -> bool:
        """Whether another one leads, some seconds after this one has ended."""
        try:
            async with asyncio.timeout(HANDOVER_SECONDS):
                while True:
                    with suppress(InputError):
                        lease = await self._present()
                        if lease is not None and lease.spec.holderIdentity not in (None, "", self._identity):
                            return True
                    await asyncio.sleep(HANDOVER_LOOK_SECONDS)
        except TimeoutError:
            return False

    async def _elected(self) -> float:
        """When it asked for that."""
        backoff = Backoff(RENEW_SECONDS, RENEW_SECONDS)
        while True:
            begun = time.monotonic()
            if await self._try():
                return begun
            await asyncio.sleep(backoff.seconds())

    async def _lead(self, working: "asyncio.Future[None]") -> None:
        while time.monotonic() - self._renewed < GIVE_UP_SECONDS:
            await asyncio.wait([working], timeout=RENEW_SECONDS)
            if working.done():
                return
            begun = time.monotonic()
            try:
                async with asyncio.timeout(min(GIVE_UP_SECONDS / 2, self._renewed + GIVE_UP_SECONDS - begun)):
                    if await self._try():
                        self._renewed = begun
                    elif self._held is None:
                        return
            except TimeoutError:
                continue

    async def _try(self) -> bool:
        """Whether it is ours now."""
        try:
            lease = self._held or await self._present()
            if lease is None:
                self._held = await self._created()
            elif self._may_take(lease):
                self._held = await self._taken(lease)
            else:
                return False
        except InputError as error:
            if isinstance(error, ApiServerError) and error.status in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
                # Somebody else was quicker, or it was deleted.
                self._held = None
            self._health.failed(error)
            return False
        return True

    async def _present(self) -> LeaseObject | None:
        try:
            return _lease(await self._api.get(f"{self._path}/{self._meta.name}"))
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def _may_take(self, lease: LeaseObject) -> bool:
        now, version = time.monotonic(), lease.metadata.resourceVersion
        if version != self._seen[0]:
            self._seen = (version, now)
        if lease.spec.holderIdentity in (None, "", self._identity):
            return True
        return now - self._seen[1] >= (lease.spec.leaseDurationSeconds or LEASE_SECONDS)

    def _spec(self, before: LeaseSpec) -> LeaseSpec:
        now = micro_time()
        same = before.holderIdentity == self._identity
        changes = before.leaseTransitions or 0
        return LeaseSpec(
            self._identity,
            LEASE_SECONDS,
            before.acquireTime if same and before.acquireTime else now,
            now,
            changes if same else changes + 1,
        )

    async def _created(self) -> LeaseObject:
        content = LeaseObject(self._meta, self._spec(LeaseSpec()), "coordination.k8s.io/v1", "Lease")
        return _lease(await self._api.create(self._path, msgspec.json.encode(content)))

    async def _taken(self, lease: LeaseObject) -> LeaseObject:
        """Of the version that was seen: refused with 409 where it has changed since."""
        content = LeaseObject(lease.metadata, self._spec(lease.spec), "coordination.k8s.io/v1", "Lease")
        return _lease(await self._api.replace(f"{self._path}/{self._meta.name}", msgspec.json.encode(content)))

    async def _given_back(self) -> None:
        """So that another one need not wait for its end."""
        held, self._held = self._held, None
        try:
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                if held is not None and not await self._freed(held):
                    # A renewal was under way, and may have arrived.
                    now = await self._present()
                    if now is not None and now.spec.holderIdentity == self._identity:
                        await self._freed(now)
        except (InputError, TimeoutError):
            return

    async def _freed(self, lease: LeaseObject) -> bool:
        spec = LeaseSpec("", 1, lease.spec.acquireTime, lease.spec.renewTime, lease.spec.leaseTransitions)
        content = LeaseObject(lease.metadata, spec, "coordination.k8s.io/v1", "Lease")
        try:
            await self._api.replace(f"{self._path}/{self._meta.name}", msgspec.json.encode(content))
        except ApiServerError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return False
        return True


def _lease(data: bytes) -> LeaseObject:
    try:
        return msgspec.json.decode(data, type=LeaseObject)
    except msgspec.MsgspecError as error:
        raise ApiServerError(f"this is no Lease: {error}") from None
