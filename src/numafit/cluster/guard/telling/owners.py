"""Who stands behind the owner of a pod: the Deployment of a ReplicaSet, the CronJob or JobSet of a Job."""

from collections import OrderedDict

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectReference
from numafit.cluster.live.pods import OwnerEntry, PodController
from numafit.errors import InputError

PLURALS = {
    ("apps", "ReplicaSet"): "replicasets",
    ("apps", "StatefulSet"): "statefulsets",
    ("batch", "Job"): "jobs",
}
"""Kinds that somebody else may have made; of others we may not read."""
HIGHEST = 3
MOST_REMEMBERED = 1000


class OwnedMeta(msgspec.Struct, frozen=True):
    uid: str = ""
    ownerReferences: tuple[OwnerEntry, ...] | None = None


class OwnedObject(msgspec.Struct, frozen=True):
    metadata: OwnedMeta


class TopOwners:
    def __init__(self, api: KubeApi, health: ApiHealth) -> None:
        self._api, self._health = api, health
        self._found: OrderedDict[str, ObjectReference] = OrderedDict()

    async def top(self, owner: PodController, namespace: str) -> ObjectReference:
        """As far as can be told: one that cannot be read has nobody above."""
        found = self._found.get(owner.uid)
        if found is None:
            found = self._found[owner.uid] = await self._climb(owner, namespace)
            if len(self._found) > MOST_REMEMBERED:
                self._found.popitem(last=False)
        return found

    async def _climb(self, owner: PodController, namespace: str) -> ObjectReference:
        for _ in range(HIGHEST):
            above = await self._above(owner, namespace)
            if above is None:
                break
            owner = PodController(above.kind, above.name, above.uid, above.apiVersion)
        return ObjectReference(owner.kind, owner.name, owner.uid, namespace, owner.apiVersion)

    async def _above(self, owner: PodController, namespace: str) -> OwnerEntry | None:
        plural = PLURALS.get((owner.apiVersion.partition("/")[0], owner.kind))
        if plural is None:
            return None
        path = f"/apis/{owner.apiVersion}/namespaces/{namespace}/{plural}/{owner.name}"
        try:
            found = msgspec.json.decode(await self._api.get(path), type=OwnedObject)
        except InputError as error:
            self._health.failed(error)
            return None
        except msgspec.MsgspecError:
            return None
        if found.metadata.uid != owner.uid:
            return None
        return next((own for own in found.metadata.ownerReferences or () if own.controller), None)
