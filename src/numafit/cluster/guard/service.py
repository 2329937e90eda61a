"""The guard as a process: of several one acts, and the last one to end leaves nothing held.

Where a webhook holds pods every replica answers the API server, by what the ConfigMap says; the one that acts knows
earlier.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from numafit.cluster.admission.counts import AdmissionCollector, AdmissionCounts
from numafit.cluster.admission.options import GUARD_CONDITIONS, WebhookOptions
from numafit.cluster.admission.review import AdmittedPod
from numafit.cluster.admission.webhook import Webhook
from numafit.cluster.guard.counts import GuardCollector, GuardCounts
from numafit.cluster.guard.guard import GuardOptions, LoopGuard
from numafit.cluster.guard.installed import check_topologies, has_namespace, install, release_all
from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.election import Election
from numafit.cluster.kube.health import ApiHealth, HealthCollector
from numafit.cluster.kube.probes import LoopPulse, ProbePlace, serve_probes
from numafit.cluster.kube.signals import stop_event
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.words import GUARD, GUARD_LABEL, HOLD_GATE


class WebhookPlace(msgspec.Struct, frozen=True):
    """Where the API server asks; `url` is for one that is not in the cluster."""

    address: str = "0.0.0.0"
    port: int = 9443
    url: str = ""


class GuardProcess(msgspec.Struct, frozen=True):
    guard: GuardOptions
    identity: str
    probes: ProbePlace
    webhook: WebhookPlace = WebhookPlace()


def guard_webhook(options: GuardOptions, place: WebhookPlace) -> WebhookOptions:
    return WebhookOptions(
        options.namespace,
        GUARD,
        place.url,
        place.address,
        place.port,
        GUARD_LABEL,
        options.opt_in,
        GUARD_CONDITIONS,
    )


def serve_guard(access: Access, process: GuardProcess, say: Callable[[str], None]) -> None:
    """Until SIGTERM or Ctrl-C. Raises InputError when it cannot begin."""
    own = _Replica(process, say)
    known = (GuardCollector(own.counts), AdmissionCollector(own.admission), HealthCollector(own.health))
    end = serve_probes(process.probes, known, own.unready, own.pulse.dead)
    try:
        asyncio.run(own.until_told(access))
    finally:
        end()


class _Replica:
    def __init__(self, process: GuardProcess, say: Callable[[str], None]) -> None:
        self._process, self._options, self._say = process, process.guard, say
        self.counts, self.admission, self.health = GuardCounts(), AdmissionCounts(), ApiHealth()
        self.pulse = LoopPulse()
        self._webhook: Webhook | None = None
        self._led = False

    def unready(self) -> str:
        if self._webhook is not None and not self._webhook.ready.is_set():
            return f"the API server does not ask here yet: {self._webhook.trouble}"
        return self.counts.unready()

    async def until_told(self, access: Access) -> None:
        stop = stop_event()
        async with KubeApi(access) as api:
            alone = await prepared(api, self._options)
            live = LiveFleet(api, self.health)
            guard = LoopGuard(api, self.health, live, self._options, self._say, self.counts)
            election = Election(api, self._options.namespace, GUARD, self._process.identity, self.health)

            async def lead() -> None:
                await self._lead(guard)

            leading = asyncio.create_task(lead() if alone else election.run(lead))
            others = [asyncio.create_task(own) for own in self._beside(api, live, guard, election)]
            told = asyncio.create_task(stop.wait())
            await asyncio.wait({leading, *others, told}, return_when=asyncio.FIRST_COMPLETED)
            # Whoever leads gives the lease back first.
            failures = [await _ended(leading)]
            if stop.is_set() and self._led and self._options.enforce and not await election.taken_over():
                self._say("nobody takes over: all that waits is released")
                await guard.open_all()
            failures += [await _ended(own) for own in (*others, told)]
            for error in failures:
                if error is not None:
                    raise error

    def _beside(
        self, api: KubeApi, live: LiveFleet, guard: LoopGuard, election: Election
    ) -> list[Coroutine[Any, Any, object]]:
        works: list[Coroutine[Any, Any, object]] = [live.run(), self._turn(live)]
        if self._options.by_policy or not self._options.enforce:
            return works

        def wish(pod: AdmittedPod) -> tuple[str, ...]:
            owner = pod.owner
            return (HOLD_GATE,) if owner is not None and guard.holds(owner.uid, owner.kind) else ()

        options = guard_webhook(self._options, self._process.webhook)
        self._webhook = Webhook(api, self.health, options, wish, keeps=lambda: election.leads, counts=self.admission)
        return [*works, self._webhook.run(), guard.memory.watch()]

    async def _lead(self, guard: LoopGuard) -> None:
        self._led = self.counts.leads = True
        self._say("acts" if self._options.enforce else "acts as a dry run: it tells, and changes nothing")
        try:
            await guard.run()
        finally:
            self.counts.leads = False

    async def _turn(self, live: LiveFleet) -> None:
        while True:
            self.pulse.beat()
            self.counts.ready = live.synced.is_set()
            await asyncio.sleep(1)


async def _ended(task: "asyncio.Task[Any]") -> BaseException | None:
    """What it failed with; `Any`: nobody looks at what it returns."""
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return None
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return error
    return None


async def prepared(api: KubeApi, options: GuardOptions) -> bool:
    """Whether there is no place for an election: a dry run makes no namespace, and acts alone where there is none.
    Raises InputError where it cannot begin."""
    await check_topologies(api)
    if options.enforce:
        await install(api, options.namespace, by_policy=options.by_policy, opt_in=options.opt_in)
        return False
    return not await has_namespace(api, options.namespace)


def open_everything(access: Access, namespace: str) -> tuple[int, int]:
    """`numafit guard --release-all`."""

    async def opened() -> tuple[int, int]:
        async with KubeApi(access) as api:
            return await release_all(api, ApiHealth(), namespace)

    return asyncio.run(opened())
