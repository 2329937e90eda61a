"""Whether a Job makes another pod where one is deleted before it ran, and does not count it as failed.

A Job counts each of its pods that goes as failed, up to its backoffLimit, unless its podFailurePolicy ignores pods that
have the condition DisruptionTarget: one that has it, and never ran, is replaced and not counted (1.36).
"""

import time
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.live.pods import ClusterPod
from numafit.errors import ApiServerError, InputError

AGAIN_SECONDS = 60.0
"""After which a Job is read again that could not be read; what was read of one never changes."""
MOST_KNOWN, MOST_ASKED = 20_000, 64
"""Jobs that are remembered, and that are read at the same time."""
JOB, DISRUPTION = "Job", "DisruptionTarget"


class _ConditionPattern(msgspec.Struct):
    type: str = ""
    status: str = "True"


class _FailureRule(msgspec.Struct):
    action: str = ""
    onPodConditions: tuple[_ConditionPattern, ...] | None = None


class _FailurePolicy(msgspec.Struct):
    rules: tuple[_FailureRule, ...] = ()


class _JobSpec(msgspec.Struct):
    podFailurePolicy: _FailurePolicy | None = None


class _Job(msgspec.Struct):
    metadata: ObjectMeta
    spec: _JobSpec = msgspec.field(default_factory=_JobSpec)


class Successors:
    """`ask` has `read` called for a pod, soon."""

    def __init__(self, api: KubeApi, health: ApiHealth, ask: Callable[[ClusterPod], None]) -> None:
        self._api, self._health, self._ask = api, health, ask
        self._known: dict[str, tuple[float, bool]] = {}
        """UID of a Job -> when it is to be read again, and whether it forgives."""
        self._asked: set[str] = set()

    def forgives(self, pod: ClusterPod) -> bool | None:
        """Its Job ignores a pod with the condition DisruptionTarget; None while that is read for the first time."""
        owner = pod.owner
        if owner is None or owner.kind != JOB or not owner.apiVersion.startswith("batch/"):
            return False
        known = self._known.get(owner.uid)
        due = known is None or time.monotonic() >= known[0]
        if due and owner.uid not in self._asked and len(self._asked) < MOST_ASKED:
            self._asked.add(owner.uid)
            self._ask(pod)
        return None if known is None else known[1]

    async def read(self, pod: ClusterPod) -> None:
        owner = pod.owner
        assert owner is not None
        forgives, again = False, time.monotonic() + AGAIN_SECONDS
        try:
            path = f"/apis/batch/v1/namespaces/{pod.metadata.namespace}/jobs/{owner.name}"
            job = msgspec.json.decode(await self._api.get(path), type=_Job)
            forgives, again = job.metadata.uid == owner.uid and _forgives(job), float("inf")
        except ApiServerError as error:
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN):
                self._health.failed(error)
                return
        except InputError as error:
            self._health.failed(error)
            return
        except msgspec.MsgspecError:
            self._health.unreadable["jobs"] += 1
        finally:
            self._asked.discard(owner.uid)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[owner.uid] = (again, forgives)


def _forgives(job: _Job) -> bool:
    """The first rule that applies counts; those about exit codes never do, since nothing of the pod ran. One about
    other conditions may, which nobody knows here."""
    rules = job.spec.podFailurePolicy.rules if job.spec.podFailurePolicy is not None else ()
    first = next((own for own in rules if own.onPodConditions), None)
    if first is None or first.action != "Ignore":
        return False
    return any(own.type == DISRUPTION and own.status == "True" for own in first.onPodConditions or ())
