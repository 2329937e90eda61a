"""What the volumes of waiting pods allow, read from the cluster and remembered for a while."""

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.around.volumes import (
    NO_LIMITS,
    ClaimObject,
    ClassObject,
    VolumeLimits,
    VolumeObject,
    claims_of,
    class_terms,
    volume_terms,
)
from numafit.errors import ApiServerError, InputError
from numafit.workload.demands import AffinityTerm

AGAIN_SECONDS, ABSENT_SECONDS = 30.0, 2.0
"""After which what volumes allow is read again: a claim may have been bound since; where a claim is not there, which
somebody may be about to make."""
ABSENT = ClaimObject()
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"

ReadObject = TypeVar("ReadObject")


class ClaimedVolumes:
    """`ask` has `read` called for a pod, soon."""

    def __init__(self, api: KubeApi, health: ApiHealth, ask: Callable[[ClusterPod], None]) -> None:
        self._api, self._health, self._ask = api, health, ask
        self._known: dict[str, tuple[float, VolumeLimits]] = {}
        """UID -> when it is to be read again, and what was read."""
        self._asked: set[str] = set()

    def limits(self, pod: ClusterPod) -> VolumeLimits | None:
        """None while they are read for the first time."""
        if not claims_of(pod.spec, pod.metadata.name):
            return NO_LIMITS
        known = self._known.get(pod.uid)
        if (known is None or time.monotonic() >= known[0]) and pod.uid not in self._asked:
            self._asked.add(pod.uid)
            self._ask(pod)
        return None if known is None else known[1]

    def again(self, pods: Mapping[str, ClusterPod]) -> None:
        """What is old is read again, whether or not somebody wants to know: a pod that sleeps for its volumes is not
        asked about before these have changed."""
        now = time.monotonic()
        for uid, (due, _) in list(self._known.items()):
            if now >= due and uid in pods:
                self.limits(pods[uid])

    def forget(self, uid: str) -> None:
        self._known.pop(uid, None)

    async def read(self, pod: ClusterPod) -> bool:
        """Whether they are others than before."""
        found = []
        try:
            for claim in claims_of(pod.spec, pod.metadata.name):
                terms = await self._terms(pod.metadata.namespace, claim)
                if terms is not None:
                    found.append(terms)
        finally:
            self._asked.discard(pod.uid)
        before = self._known.get(pod.uid)
        self._known[pod.uid] = (time.monotonic() + (AGAIN_SECONDS if all(found) else ABSENT_SECONDS), tuple(found))
        return before is None or before[1] != tuple(found)

    async def _terms(self, namespace: str, name: str) -> tuple[AffinityTerm, ...] | None:
        """None: it limits nobody. No term at all where there is no such claim: no node reaches it, and a pod that is
        released without it would count on its nodes for ever."""
        path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
        claim = await self._object(path, ClaimObject, ABSENT)
        if claim is ABSENT:
            return ()
        if claim is None:
            return None
        if claim.spec.volumeName:
            volume = await self._object(f"/api/v1/persistentvolumes/{claim.spec.volumeName}", VolumeObject)
            return volume_terms(volume) or None if volume is not None else None
        if claim.spec.storageClassName:
            storage = await self._object(f"{STORAGE}/{claim.spec.storageClassName}", ClassObject)
            return class_terms(storage) or None if storage is not None else None
        return None

    async def _object(self, path: str, kind: type[ReadObject], absent: ReadObject | None = None) -> ReadObject | None:
        """`absent`: the answer where there is none."""
        try:
            return msgspec.json.decode(await self._api.get(path), type=kind)
        except InputError as error:
            if isinstance(error, ApiServerError) and error.status == HTTPStatus.NOT_FOUND:
                return absent
            self._health.failed(error)
        except msgspec.MsgspecError:
            self._health.unreadable[path.split("/")[-2]] += 1
        return None
