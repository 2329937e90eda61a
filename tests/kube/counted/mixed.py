"""Pods by chance on nodes of several kinds, all through the placer, as many as are asked for: every rejection is told.

    python -m tests.kube.counted.mixed --pods 2000

Policies, scopes and releases differ, and so do the pods: init containers, sidecars, several containers, whole and
broken CPUs, huge pages, GPUs, ports of the host; some run for a moment, some are deleted while they wait or run.
"""

import argparse
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.kube.api import Api, Json
from tests.kube.build import binaries, missing
from tests.kube.counted.fleet import GPU, RUN_SECONDS
from tests.kube.counted.owners import OWNER, SPACE
from tests.kube.counted.watched import Watched
from tests.kube.counted.ways import begun

PODS_PATH = f"/api/v1/namespaces/{SPACE}/pods"
RESERVED = {"kubeReserved": {"cpu": "2", "memory": "412Mi"}, "evictionHard": {"memory.available": "100Mi"}}
STATIC: Json = {"cpuManagerPolicy": "static", **RESERVED}
HUGE = "sketch:2 sockets x 1 numa x 8 cores x 2 threads, 32Gi per numa, hugepages 2Mi 512"


def pinned() -> Json:
    """The memory manager, too; the first NUMA node has all of what is reserved."""
    return {"memoryManagerPolicy": "Static", "reservedMemory": [{"numaNode": 0, "limits": {"memory": "512Mi"}}]}


def group(name: str, count: int, machine: str, release: str, policy: str, scope: str, **more: object) -> Json:
    kubelet = {**STATIC, "topologyManagerPolicy": policy, "topologyManagerScope": scope, **more}
    own = {"name": name, "count": count, "machine": machine, "release": release, "kubelet": kubelet}
    return {**own, "startSeconds": 0.3}


def groups() -> list[Json]:
    whole = {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}
    spread = {"cpuManagerPolicyOptions": {"distribute-cpus-across-numa": "true"}}
    return [
        group("gpu", 4, "gpu8-128cpu", "v1.36.4", "restricted", "pod", **pinned()),
        group("single", 4, "gpu8-128cpu", "v1.34.4", "single-numa-node", "container"),
        group("huge", 4, HUGE, "v1.32.0", "restricted", "container", **pinned()),
        group("cores", 4, "epyc-nps4", "v1.30.0", "single-numa-node", "pod", **whole),
        group("spread", 3, "sketch:2 sockets x 2 numa x 4 cores x 2 threads, 16Gi per numa", "v1.28.0", "best-effort",
              "container", featureGates={"CPUManagerPolicyAlphaOptions": True}, **spread, **pinned()),
        group("old", 3, "p100-28cpu", "v1.27.0", "restricted", "container"),
    ]  # fmt: skip


def made(number: int, chance: random.Random) -> Json:
    def container(name: str) -> Json:
        amounts = {
            "cpu": str(chance.choice((1, 1, 2, 2, 4, 4, 6, 8, 12))),
            "memory": f"{chance.choice((1, 2, 4, 8))}Gi",
        }
        if chance.random() < 0.3:
            amounts[GPU] = str(chance.choice((1, 1, 2, 4)))
        if chance.random() < 0.1:
            amounts["hugepages-2Mi"] = f"{chance.choice((64, 256))}Mi"
        limits: Json = amounts
        if chance.random() < 0.15:
            amounts = {**amounts, "cpu": "500m"}
        return {"name": name, "image": "none:1", "resources": {"requests": amounts, "limits": limits}}

    spec: Json = {
        "containers": [container(f"c{index}") for index in range(chance.choice((1, 1, 1, 2, 3)))],
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "restartPolicy": "Never",
    }
    if chance.random() < 0.3:
        spec["initContainers"] = [container(f"i{index}") for index in range(chance.choice((1, 2)))]
        for own in spec["initContainers"]:
            if chance.random() < 0.4:
                own["restartPolicy"] = "Always"
    if chance.random() < 0.05:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8000 + chance.randrange(3)}]
    metadata: Json = {"name": f"mixed-{number}", "labels": {OWNER: "mixed"}}
    metadata["annotations"] = {RUN_SECONDS: str(chance.choice((0.2, 1, 3, 8)))}
    return {"metadata": metadata, "spec": spec}


def copies(chance: random.Random, count: int) -> list[Json]:
    """Templates make pods that are alike, several at once."""
    found: list[Json] = []
    while len(found) < count:
        first = made(len(found), chance)
        for _ in range(chance.choice((1, 1, 2, 6))):
            found.append({**first, "metadata": {**first["metadata"], "name": f"mixed-{len(found)}"}})
    return found[:count]


def feed(api: Api, watched: Watched, pods: list[Json], at_once: int, seconds: float, chance: random.Random) -> None:
    """So many are there at once. One that waits for long is deleted, and so is one of fifty in any state."""
    end, waiting = time.monotonic() + seconds, iter(pods)
    left = len(pods)
    while time.monotonic() < end:
        now = time.monotonic() - watched.began
        there = [own for own in list(watched.courses.values()) if own.there and own.ended is None]
        for own in there:
            if (own.bound is None and now - own.made > 8) or chance.random() < 0.002:
                api.delete(f"{PODS_PATH}/{own.name}")
        for _ in range(min(at_once - len(there), left, 20)):
            api.post(PODS_PATH, next(waiting))
            left -= 1
        if not left and not there:
            return
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", default="place", help="place, stock or extender")
    own = parser.parse_args()
    if lacking := missing():
        raise SystemExit(lacking)
    chance, folder = random.Random(own.seed), Path(tempfile.mkdtemp(prefix="numafit-mixed-"))
    try:
        with begun(own.way, folder, binaries(), 0, groups()) as way:
            feed(way.cluster.api, way.watched, copies(chance, own.pods), own.at_once, own.seconds, chance)
            way.check()
            time.sleep(1)
            courses = list(way.watched.courses.values())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rejected = [course for course in courses if course.rejected]
    kinds = Counter((course.node.rpartition("-")[0], course.rejected) for course in rejected)
    bound = sum(course.bound is not None for course in courses)
    print(f"{len(courses)} made, {sum(own.gated for own in courses)} gated, {bound} bound, {len(rejected)} rejected")
    for (node, reason), number in sorted(kinds.items()):
        print(f"  {node}: {reason} {number}")
    for course in rejected[:40]:
        gated = "placed" if course.gated else "without a gate"
        print(f"  {course.name} ({gated}) on {course.node}: {course.message}")


if __name__ == "__main__":
    main()
