"""A copy of all pods that a kubelet rejected, those with them that were rejected while nobody looked."""

from collections.abc import Callable

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import PODS
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.errors import InputError

FAILED = {"fieldSelector": "status.phase=Failed"}


class RejectedPods:
    """`came` is called for each pod once, `went` with its UID and that of its owner when its object is gone."""

    def __init__(
        self, api: KubeApi, health: ApiHealth, came: Callable[[ClusterPod], None], went: Callable[[str, str], None]
    ) -> None:
        self._health, self._came, self._went = health, came, went
        self._keeper = PodKeeper()
        self._read: dict[str, ClusterPod] = {}
        self._owners: dict[str, str] = {}
        """Pod UID -> owner UID, of those that are there."""
        self._copies = Reflector(api, PODS, SentPod, self._changed, parameters=FAILED, health=health, keep=self._keep)
        self.synced = self._copies.synced

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._copies.run()

    def _keep(self, sent: SentPod) -> SentPod | None:
        uid = sent.metadata.uid
        if uid not in self._owners:
            try:
                pod = self._keeper.kept(sent)
            except (InputError, msgspec.MsgspecError):
                self._health.unreadable["pods"] += 1
                return None
            if not pod.rejected:
                return None
            self._read[uid] = pod
        sent.emptied()
        return sent

    def _changed(self, change: ObjectChange[SentPod]) -> None:
        if change.after is None:
            uid = change.before.metadata.uid if change.before else ""
            owner = self._owners.pop(uid, None)
            if owner is not None:
                self._went(uid, owner)
            return
        pod = self._read.pop(change.after.metadata.uid, None)
        if pod is not None:
            self._owners[pod.metadata.uid] = pod.owner.uid if pod.owner else ""
            self._came(pod)
