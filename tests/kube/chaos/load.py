"""Pods by chance: Deployments that grow and shrink, pods that come alone, short ones, and some that are rejected."""

import threading
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

import httpx

from tests.kube.api import MERGE, Api, Json
from tests.kube.chaos.scene import PLUGGED, POOL, REAL
from tests.kube.kubelet import POD
from tests.kube.simulation import GPU
from tests.kube.test_device_plugin import FPGA

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
HOST = "kubernetes.io/hostname"
RUN_SECONDS = "numafit.io/run-seconds"
SHORT = "short"
"""A label of pods that end by themselves."""
MOST = 60
"""Pods that came alone and are there at once."""
PAUSE = 0.25
FAILURES = (httpx.TransportError, RuntimeError)
"""What asking an API server that is being killed may raise."""

WHOLE = {"cpu": "2", "memory": "64Mi"}
SETS: Mapping[str, tuple[Json, Json, int]] = {
    "spread": ({POOL: "wide"}, {"limits": WHOLE}, 24),
    "burst": ({}, {"requests": {"cpu": "300m", "memory": "16Mi"}}, 20),
    "gpus": ({POOL: "gpu"}, {"limits": {**WHOLE, GPU: "1"}}, 9),
    "few": ({HOST: REAL}, {"limits": {"cpu": "1", "memory": "32Mi"}}, 5),
}
"""Name -> node selector, resources, most replicas. Their pods fit wherever the scheduler puts them: one that is
rejected is made again at once, and again."""
NOT_GPU = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": POOL, "operator": "NotIn", "values": ["gpu"]}]}]
        }
    }
}


def content(name: str, resources: Json, spec: Json, *, seconds: int = 0) -> Json:
    own: Json = {"name": "c", "image": "none:1", "imagePullPolicy": "Never", "resources": resources}
    metadata: Json = {"name": name, "labels": {"app": name}}
    if seconds:
        metadata["annotations"] = {RUN_SECONDS: str(seconds)}
        metadata["labels"][SHORT] = "yes"
        # of the real kubelet's containers
        own["command"] = ["exit-0"]
        spec = {**spec, "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**POD, **spec, "containers": [own]}}


class Load(threading.Thread):
    """`api` is its own. What cannot be done while the API server is away is not done."""

    def __init__(self, api: Api, random: Random, nodes: Iterable[str]) -> None:
        super().__init__(daemon=True)
        self._api, self._random = api, random
        self._nodes = sorted(nodes)
        self._made = 0
        self._ending = threading.Event()
        self.failures = 0
        self.error: BaseException | None = None

    def prepare(self) -> None:
        for name, (selector, resources, _) in SETS.items():
            own = content(name, resources, {"nodeSelector": selector})
            template = {"metadata": own["metadata"], "spec": own["spec"]}
            wanted = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
            self._api.post(DEPLOYMENTS, {"metadata": {"name": name}, "spec": wanted})

    def run(self) -> None:
        works: list[tuple[Callable[[], Any], int]] = [
            (self._scale, 3),
            (self._scheduled, 6),
            (self._with_devices, 4),
            (self._rejected, 1),
            (self._remove, 5),
            (self._clear, 1),
        ]
        kinds, weights = zip(*works, strict=True)
        try:
            while not self._ending.wait(self._random.uniform(0, 2 * PAUSE)):
                (work,) = self._random.choices(kinds, weights)
                try:
                    work()
                except FAILURES:
                    self.failures += 1
        except BaseException as error:
            self.error = error
            raise

    def end(self) -> None:
        self._ending.set()
        self.join()
        if self.error is not None:
            raise self.error

    # --- what it does -------------------------------------------------------------------------------------------------

    def _add(self, kind: str, resources: Json, spec: Json, *, seconds: int = 0) -> None:
        self._made += 1
        self._api.post(PODS, content(f"{kind}-{self._made}", resources, spec, seconds=seconds))

    def _scale(self) -> None:
        name = self._random.choice(sorted(SETS))
        wanted = {"spec": {"replicas": self._random.randint(0, SETS[name][2])}}
        self._api.ask("PATCH", f"{DEPLOYMENTS}/{name}", wanted, MERGE)

    def _scheduled(self) -> None:
        if len(self._alone()) > MOST:
            self._remove()
            return
        seconds = self._random.choice((0, 0, self._random.randint(1, 8)))
        if self._random.random() < 0.2:
            kind, resources = "shared", {"requests": {"cpu": "700m"}, "limits": {"memory": "64Mi"}}
        else:
            kind, resources = "whole", {"limits": {"cpu": str(self._random.randint(1, 5)), "memory": "64Mi"}}
        self._add(kind, resources, {"affinity": NOT_GPU}, seconds=seconds)

    def _with_devices(self) -> None:
        node = self._random.choice((REAL, PLUGGED))
        limits = {"cpu": str(self._random.randint(1, 2)), "memory": "64Mi", FPGA: str(self._random.randint(1, 2))}
        # By the scheduler, or bound while nobody knows whether the devices are there.
        spec = self._random.choice(({"nodeSelector": {HOST: node}}, {"nodeName": node}))
        self._add("device", {"limits": limits}, spec, seconds=self._random.choice((0, 3)))

    def _rejected(self) -> None:
        node = self._random.choice(self._nodes)
        cpu = self._random.choice(("9", "11", "30"))
        self._add("large", {"limits": {"cpu": cpu, "memory": "64Mi"}}, {"nodeName": node})

    def _alone(self) -> list[Json]:
        pods = self._api.pods().values()
        return [own for own in pods if not own["metadata"].get("ownerReferences") and not _leaves(own)]

    def _remove(self) -> None:
        there = self._alone()
        if len(there) > MOST // 4:
            self._api.delete(f"{PODS}/{self._random.choice(there)['metadata']['name']}")

    def _clear(self) -> None:
        """Those that have ended: nobody else does it."""
        for name, own in self._api.pods().items():
            if own["status"].get("phase") in ("Failed", "Succeeded") and not _leaves(own):
                self._api.delete(f"{PODS}/{name}")


def _leaves(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]
