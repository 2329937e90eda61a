"""All gates of the placer are taken away, as if it had never been there: for an uninstall.

The configuration of the webhook goes first, so that no new pod is gated meanwhile. A placer that still runs would put
it back.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from numafit.cluster.admission.configuration import ConfigurationKeeper
from numafit.cluster.admission.counts import AdmissionCounts
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import JSON_PATCH, KubeApi
from numafit.cluster.kube.objects import PODS, ObjectMeta
from numafit.cluster.live.pods import SchedulingGate
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE, PLACER
from numafit.cluster.place.patch import ungate_patch
from numafit.errors import ApiServerError

AT_ONCE = 16
HEARD_SECONDS = 2.0
"""After which each API server has heard that there is no webhook any more, and gates no pod after our look."""
PENDING = {"fieldSelector": "status.phase=Pending"}


class _GatedSpec(msgspec.Struct):
    schedulingGates: tuple[SchedulingGate, ...] | None = None


class _GatedPod(msgspec.Struct):
    metadata: ObjectMeta
    spec: _GatedSpec

    @property
    def gates(self) -> tuple[str, ...]:
        return tuple(gate.name for gate in self.spec.schedulingGates or ())


def ungate_all(access: Access, webhook: WebhookOptions, say: Callable[[str], None]) -> int:
    """How many pods were released. Raises ApiServerError."""

    async def work() -> int:
        async with KubeApi(access) as api:
            await ConfigurationKeeper(api, webhook, AdmissionCounts()).remove()
            await asyncio.sleep(HEARD_SECONDS)
            return await ungated(api, say)

    return asyncio.run(work())


async def ungated(api: KubeApi, say: Callable[[str], None]) -> int:
    found: list[_GatedPod] = []
    held = 0
    async for page in api.pages(PODS, PENDING):
        pods = [msgspec.json.decode(raw, type=_GatedPod) for raw in page.items or ()]
        found += [pod for pod in pods if PLACE_GATE in pod.gates]
        held += sum(HOLD_GATE in pod.gates for pod in pods)
    if held:
        # A guard may run elsewhere, and holds them for a reason.
        say(f"pods with the gate {HOLD_GATE} of the guard: {held}; numafit guard --release-all removes it")
    slots = asyncio.Semaphore(AT_ONCE)

    async def release(pod: _GatedPod) -> bool:
        meta = pod.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
        async with slots:
            try:
                await api.patch(path, ungate_patch(pod.gates, meta.uid), JSON_PATCH, {"fieldManager": PLACER})
            except ApiServerError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    return False
                say(f"{meta.namespace}/{meta.name}: {error.message}")
                return False
        return True

    return sum(await asyncio.gather(*map(release, found)))
