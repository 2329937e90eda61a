"""Objects that say how many pods start together, read when a pod names them, and again while somebody waits."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Literal

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.kube.rights import rule
from numafit.errors import ApiServerError, InputError
from numafit.fleet.waiting.members import GroupObject, GroupObjectKind, GroupSize, size_of

AGAIN_SECONDS = 10.0
MOST_KNOWN = 20_000
GROUP_KINDS: dict[GroupObjectKind, tuple[str, str, str]] = {
    "Job": ("batch", "v1", "jobs"),
    "JobSet": ("jobset.x-k8s.io", "v1alpha2", "jobsets"),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io", "v1", "leaderworkersets"),
    "PodGroup": ("scheduling.x-k8s.io", "v1alpha1", "podgroups"),
    "SchedulingPodGroup": ("scheduling.k8s.io", "v1alpha2", "podgroups"),
}
"""API group, version and resource."""


def group_rules() -> list[ObjectJson]:
    """Of a ClusterRole: to read them, and no more."""
    return [rule(group, [resource], ["get"]) for group, _, resource in GROUP_KINDS.values()]


class GroupSizes:
    """`ask`: somebody wants to know an object; whoever runs this calls `read` with it."""

    def __init__(self, api: KubeApi, health: ApiHealth, ask: Callable[[GroupObject], None]) -> None:
        self._api, self._health, self._ask = api, health, ask
        self._known: dict[GroupObject, tuple[float, GroupSize | None]] = {}
        self._asked: set[GroupObject] = set()

    def __call__(self, source: GroupObject) -> GroupSize | Literal["reading"] | None:
        known = self._known.get(source)
        if known is None:
            self._want(source)
            return "reading"
        return known[1]

    def again(self, source: GroupObject) -> None:
        """Somebody waits for what it said last."""
        known = self._known.get(source)
        if known is None or time.monotonic() - known[0] >= AGAIN_SECONDS:
            self._want(source)

    def _want(self, source: GroupObject) -> None:
        if source not in self._asked:
            self._asked.add(source)
            self._ask(source)

    async def read(self, source: GroupObject) -> bool:
        """Whether it says something else than before. One that is not there, or that we may not read, says nothing;
        where nobody answers it is asked again."""
        group, version, resource = GROUP_KINDS[source.kind]
        path = f"/apis/{group}/{version}/namespaces/{source.namespace}/{resource}/{source.name}"
        found: GroupSize | None = None
        try:
            found = size_of(source.kind, await self._api.get(path))
        except ApiServerError as error:
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN):
                self._health.failed(error)
                return False
        except InputError as error:
            self._health.failed(error)
            return False
        except msgspec.MsgspecError:
            self._health.unreadable[GROUP_KINDS[source.kind][2]] += 1
        finally:
            self._asked.discard(source)
        before = self._known.get(source)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[source] = (time.monotonic(), found)
        return before is None or before[1] != found
