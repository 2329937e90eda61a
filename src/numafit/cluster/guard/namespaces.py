"""Which namespaces are guarded: their labels say so, and may change."""

from collections.abc import Callable

import msgspec

from numafit.cluster.guard.policies import is_guarded
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.reflector import ObjectChange, Reflector

NAMESPACES = "/api/v1/namespaces"


class NamespaceMeta(ObjectMeta, frozen=True):
    labels: dict[str, str] | None = None


class NamespaceObject(msgspec.Struct, frozen=True):
    metadata: NamespaceMeta


class GuardedNamespaces:
    """`left` is called with the name of one that is not guarded any more. `own`: where the guard is."""

    def __init__(
        self, api: KubeApi, health: ApiHealth, own: str, left: Callable[[str], None], *, opt_in: bool = False
    ) -> None:
        self._own, self._left, self._opt_in = own, left, opt_in
        self._copies = Reflector(api, NAMESPACES, NamespaceObject, self._changed, health=health)
        self.synced = self._copies.synced

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._copies.run()

    def guards(self, name: str) -> bool:
        """One that is not known yet is not guarded."""
        found = self._copies.items.get(name)
        return found is not None and self._wanted(found)

    def _wanted(self, own: NamespaceObject) -> bool:
        return is_guarded(own.metadata.name, own.metadata.labels or {}, self._own, opt_in=self._opt_in)

    def _changed(self, change: ObjectChange[NamespaceObject]) -> None:
        if change.before is not None and not self.guards(change.before.metadata.name):
            self._left(change.before.metadata.name)
