"""A webhook of ours in a thread of its own, with no more rights than it says that it needs."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numafit.cluster.admission.needs import PlaceWish
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.rights import cluster_rules, namespace_rules
from numafit.cluster.admission.webhook import Webhook, Wish
from numafit.cluster.kube.access import access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_ports, until

RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = "webhook"
GATE = "numafit.io/place"
GOODBYE_SECONDS = 0.2


def gate(*_: object) -> tuple[str, ...]:
    return (GATE,)


def own_options(namespace: str, **more: Any) -> WebhookOptions:
    """On loopback, by address."""
    (port,) = free_ports(1)
    return WebhookOptions(namespace, f"{namespace}-place", f"https://127.0.0.1:{port}", "127.0.0.1", port, **more)


class RunningWebhook:
    """`places`: it has the placer's wish, too, and follows the cluster for that."""

    def __init__(
        self, kubeconfig: Path, options: WebhookOptions, *wishes: Wish, keeps: bool = True, places: bool = False
    ) -> None:
        self.options, self.health = options, ApiHealth()
        self._places = places
        self.webhook: Webhook
        self.stopped = threading.Event()
        self._kubeconfig, self._wishes, self._keeps = kubeconfig, wishes, keeps
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[None]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with KubeApi(access(self._kubeconfig, None)) as api:
            live = LiveFleet(api, self.health)
            wishes = [*self._wishes, *([PlaceWish(live, self.options.namespace)] if self._places else [])]
            following = asyncio.create_task(live.run()) if self._places else None
            self.webhook = Webhook(api, self.health, self.options, *wishes, keeps=lambda: self._keeps)
            self._task = asyncio.create_task(self.webhook.run())
            try:
                await asyncio.gather(self._task, return_exceptions=True)
            finally:
                self.stopped.set()
                if following is not None:
                    following.cancel()
                    await asyncio.gather(following, return_exceptions=True)
        # Connections with TLS are gone only when the other side has said good-bye, too.
        await asyncio.sleep(GOODBYE_SECONDS)

    def until_ready(self) -> None:
        until("the webhook is ready", 20, lambda: hasattr(self, "webhook") and self.webhook.ready.is_set())

    def do(self, call: Callable[[], Any]) -> Any:
        """In its event loop."""

        async def done() -> Any:
            found = call()
            return await found if asyncio.iscoroutine(found) else found

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(20)

    def stop(self) -> None:
        if not self.stopped.is_set() and hasattr(self, "_task"):
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(20)


@contextmanager
def running(
    kubeconfig: Path, options: WebhookOptions, *wishes: Wish, keeps: bool = True, places: bool = False
) -> Iterator[RunningWebhook]:
    own = RunningWebhook(kubeconfig, options, *wishes, keeps=keeps, places=places)
    try:
        own.until_ready()
        yield own
    finally:
        own.stop()


def removed(kubeconfig: Path, options: WebhookOptions) -> None:
    """By somebody who serves nobody."""

    async def remove() -> None:
        async with KubeApi(access(kubeconfig, None)) as api:
            await Webhook(api, ApiHealth(), options).remove()
        await asyncio.sleep(GOODBYE_SECONDS)

    asyncio.run(remove())


@contextmanager
def allowed(cluster: ControlPlane, options: WebhookOptions, user: str = USER) -> Iterator[Path]:
    """A kubeconfig of somebody who may do what a webhook needs, and nothing else."""
    made: list[str] = []

    def make(path: str, content: Json) -> None:
        cluster.api.post(path, content)
        made.append(f"{path}/{content['metadata']['name']}")

    namespaced = f"{RBAC}/namespaces/{options.namespace}"
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    for place, kind, rules in (
        (RBAC, "ClusterRole", cluster_rules(options)),
        (namespaced, "Role", namespace_rules(options)),
    ):
        make(f"{place}/{kind.lower()}s", {"metadata": {"name": user}, "rules": rules})
        reference = {"kind": kind, "name": user, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]}
        make(f"{place}/{kind.lower()}bindings", binding)
    try:
        yield cluster.authority.kubeconfig(user, cluster.server, user)
    finally:
        for path in made:
            cluster.api.delete(path)
