"""One run from the beginning to its report."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import msgspec

from tests.kube.chaos.components import Killer
from tests.kube.chaos.holdings import in_folder
from tests.kube.chaos.load import DEPLOYMENTS, FAILURES, PODS, Load
from tests.kube.chaos.recovery import problems
from tests.kube.chaos.scene import REAL, Scene, played
from tests.kube.chaos.watch import Watch
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

RECOVERY_SECONDS = 120
QUIET_SECONDS = 12
"""After recovery nobody may complain for so long: a simulated kubelet keeps house every ten seconds."""
REQUEST_SECONDS = 3
"""An API server whose etcd is away answers late."""
EXPECTED = ("decided as expected", "not compared")
"""What the agent may say while all is well."""


class Report(msgspec.Struct, frozen=True):
    seconds: float
    kills: Mapping[str, int]
    ended: Mapping[str, int]
    """Programs that ended by themselves, and were started again."""
    pods: int
    rejected: Mapping[str, int]
    decisions: Mapping[str, int]
    looks: int
    failures: int
    """Requests of the load that nobody answered."""
    recovery: float
    violations: tuple[str, ...]

    def __str__(self) -> str:
        rows = {
            "kills": f"{sum(self.kills.values())}: {_counts(self.kills)}",
            "ended by themselves": _counts(self.ended),
            "pods": f"{self.pods}, rejected: {_counts(self.rejected)}",
            "decisions compared": _counts(self.decisions),
            "looks": f"{self.looks}, requests that failed: {self.failures}",
            "recovered after": f"{self.recovery:.0f} s",
            "violations": "; ".join(("", *self.violations)).replace("; ", "\n  ") if self.violations else "none",
        }
        return "\n".join(f"{name}: {text}" for name, text in rows.items())


def _counts(own: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(own.items())) or "none"


def live_through(
    cluster: ControlPlane, folder: Path, seed: int, seconds: float, say: Callable[[str], None] = lambda _: None
) -> Report:
    random = Random(seed)
    began = time.monotonic()

    def tell(text: str) -> None:
        say(f"{time.monotonic() - began:6.1f} s  {text}")

    with played(cluster, folder) as scene:
        apis = [cluster.api_as("admin", "admin", "system:masters") for _ in range(2)]
        for api in apis:
            api.client.timeout = REQUEST_SECONDS
        folders = {**scene.simulated, REAL: scene.node.lib}
        load, watch = Load(apis[0], Random(random.random()), folders), Watch(apis[1], folders, scene.agent)
        killer = Killer(scene.components, Random(random.random()), tell)
        load.prepare()
        load.start()
        watch.start()
        killer.kill_for(seconds)
        load.end()
        tell("no more kills, and no more pods")
        since = time.monotonic()
        found = _recovered(scene, killer, tell)
        recovery = time.monotonic() - since
        found += _complaints(scene, watch)
        found += _emptied(scene, killer, tell)
        watch.end()
        for api in apis:
            api.close()
        reasons = Counter(watch.rejected.values())
        found = sorted(watch.violations) + found
        return Report(
            seconds,
            killer.kills,
            killer.ends,
            len(watch.pods),
            reasons,
            watch.decisions,
            watch.looks,
            load.failures,
            recovery,
            tuple(found),
        )


def _recovered(scene: Scene, killer: Killer, tell: Callable[[str], None]) -> list[str]:
    """What is still not so when the time is over."""
    end = time.monotonic() + RECOVERY_SECONDS
    before: list[str] = []
    while True:
        killer.start_due(time.monotonic())
        found = problems(scene)
        if found[:1] != before[:1]:
            tell(f"{len(found)} things are not well yet: {found[0]}" if found else "all is well again")
        if not found or time.monotonic() > end:
            return found
        before = found
        time.sleep(1)


def _complaints(scene: Scene, watch: Watch) -> list[str]:
    """Of our own programs, from now on; and what they must never say."""
    sizes = {log: log.stat().st_size for log in scene.logs}
    time.sleep(QUIET_SECONDS)
    found = []
    for log, size in sizes.items():
        text = log.read_bytes().decode(errors="replace")
        later = text.encode()[size:].decode(errors="replace").splitlines()
        found += [f"{log.name} goes on: {line}" for line in later if not any(word in line for word in EXPECTED)][:3]
        if "Traceback" in text:
            found.append(f"{log.name} has a traceback: {text[text.index('Traceback') :][:1500]}")
    if watch.decisions["differs"]:
        found.append(f"{watch.decisions['differs']} decisions differ")
    recordings = scene.agent.recordings
    found += [f"a decision differs: {path.name}" for path in recordings.glob("*.jsonl")] if recordings.exists() else []
    return found


def _emptied(scene: Scene, killer: Killer, tell: Callable[[str], None]) -> list[str]:
    """All pods are deleted: they go, and nobody holds a CPU any more."""
    api = scene.cluster.api
    folders = {**scene.simulated, REAL: scene.node.lib}
    api.delete(DEPLOYMENTS)

    def empty() -> bool:
        killer.start_due(time.monotonic())
        try:
            for name, pod in api.pods().items():
                if "deletionTimestamp" not in pod["metadata"]:
                    api.delete(f"{PODS}/{name}")
            if api.pods():
                return False
        except FAILURES:
            return False
        return all((held := in_folder(folder)) is not None and not held.cpus for folder in folders.values())

    try:
        until("nobody holds anything", RECOVERY_SECONDS, empty, 1)
    except TimeoutError:
        left = {node: held.cpus for node, folder in folders.items() if (held := in_folder(folder)) and held.cpus}
        return [f"pods that do not go: {sorted(api.pods())}; held in the end: {left}"]
    tell("all pods are gone, and nobody holds a CPU")
    return []
