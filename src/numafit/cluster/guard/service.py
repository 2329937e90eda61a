"""The guard as a process: of several one acts, and the last one to end leaves nothing held."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

import msgspec

from numafit.cluster.guard.counts import GuardCounts, serve_counts
from numafit.cluster.guard.guard import GuardOptions, LoopGuard
from numafit.cluster.guard.installed import check_cluster, release_all
from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.election import Election
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.words import GUARD
from numafit.errors import InputError

HANDOVER_SECONDS = 6.0
"""For which another replica may take over, once this one was told to end."""


class GuardPlace(msgspec.Struct, frozen=True):
    identity: str
    metrics_address: str
    metrics_port: int
    """0: they are not served."""


class _Holder(msgspec.Struct, frozen=True):
    holderIdentity: str | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _Holder = _Holder()


def serve_guard(access: Access, options: GuardOptions, place: GuardPlace, say: Callable[[str], None]) -> None:
    """Until SIGTERM or Ctrl-C. Raises InputError when it cannot begin."""
    counts, health = GuardCounts(), ApiHealth()
    end = (
        serve_counts(place.metrics_address, place.metrics_port, counts, health) if place.metrics_port else lambda: None
    )
    try:
        asyncio.run(_until_told(access, options, place, say, counts, health))
    finally:
        end()


async def _until_told(
    access: Access,
    options: GuardOptions,
    place: GuardPlace,
    say: Callable[[str], None],
    counts: GuardCounts,
    health: ApiHealth,
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with KubeApi(access) as api:
        await check_cluster(api, options.namespace, by_policy=options.enforce and options.by_policy)
        live = LiveFleet(api, health)
        guard = LoopGuard(api, health, live, options, say, counts)
        election = Election(api, options.namespace, GUARD, place.identity, health)
        led = False

        async def lead() -> None:
            nonlocal led
            led = counts.leads = True
            say("acts" if options.enforce else "acts as a dry run: it tells, and changes nothing")
            try:
                await guard.run()
            finally:
                counts.leads = False

        async def know() -> None:
            await live.synced.wait()
            counts.ready = True

        works = [asyncio.create_task(own) for own in (live.run(), know(), election.run(lead))]
        told = asyncio.create_task(stop.wait())
        waited = {works[0], works[2], told}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        # Whoever leads gives the lease back first.
        for task in (works[2], works[1], told):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if stop.is_set() and led and options.enforce and not await _taken_over(api, options.namespace, place.identity):
            say("nobody takes over: all that waits is released")
            await guard.open_all()
        works[0].cancel()
        with suppress(asyncio.CancelledError):
            await works[0]


async def _taken_over(api: KubeApi, namespace: str, identity: str) -> bool:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{GUARD}"
    try:
        async with asyncio.timeout(HANDOVER_SECONDS):
            while True:
                with suppress(InputError, msgspec.MsgspecError):
                    holder = msgspec.json.decode(await api.get(path), type=_Lease).spec.holderIdentity
                    if holder and holder != identity:
                        return True
                await asyncio.sleep(0.5)
    except TimeoutError:
        return False


def open_everything(access: Access, namespace: str) -> tuple[int, int]:
    """`numafit guard --release-all`."""

    async def opened() -> tuple[int, int]:
        async with KubeApi(access) as api:
            return await release_all(api, ApiHealth(), namespace)

    return asyncio.run(opened())
