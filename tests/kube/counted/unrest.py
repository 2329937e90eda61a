"""Two placers, the API server, etcd, scheduler and controller manager are killed by chance while pods come and go.

    python -m tests.kube.counted.unrest --minutes 10 --seed 1 --guard on

What must hold: a pod that a placer released is not rejected; no request of a placer changes or deletes a pod that is
bound and has not ended, by the audit log of the API server, and none that came alone and ran goes by itself; no CPU and
no device is held by two pods, by the kubelets' state files; once all run again nobody stays gated; and with all placers
stopped pods are scheduled as on a stock cluster. Two kinds of rejections are counted apart: where a pod that came past
a dead webhook was bound to the same node meanwhile; and where the kubelet started again and found the pod there, since
it decides about all that it finds while its files still have the shares of those who have gone.
"""

import argparse
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import httpx
import msgspec

from tests.kube.api import MERGE, Api, Json
from tests.kube.build import binaries, missing
from tests.kube.chaos.components import Component, Killer
from tests.kube.chaos.holdings import in_folder
from tests.kube.control_plane import ControlPlane
from tests.kube.counted.audited import audit, requests, touching
from tests.kube.counted.fleet import RUN_SECONDS, pod_spec
from tests.kube.counted.owners import OWNER, SPACE
from tests.kube.counted.watched import PodCourse, Watched
from tests.kube.counted.ways import Way, begun
from tests.kube.processes import free_ports, start, until

FAILURES = (httpx.TransportError, RuntimeError)
SETS = f"/apis/apps/v1/namespaces/{SPACE}/replicasets"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
SHAPES = ((8, 2), (4, 1), (2, 0), (16, 4))
PAUSE = 0.3
RECOVERY_SECONDS, STOCK_SECONDS = 180, 60
KUBELETS = "kubelets and agents"
STORY_SECONDS = 40.0
"""Of what is told about a rejection."""
BESIDE_SECONDS = 30.0
"""Between a binding past a dead webhook and a rejection on the same node that it may have caused."""
FOUND_SECONDS, DECIDED_SECONDS = 15.0, 30.0
"""After its start a kubelet has listed its pods, and has decided about all of them, on a busy machine, too."""
LOOK_SECONDS = 1.0
PLACERS = "placers"
"""A user, who may do everything: what he does not do is due to him alone."""


class Forwarder(threading.Thread):
    """In the place of a Service: one address, behind which whoever listens answers."""

    def __init__(self, ports: list[int]) -> None:
        super().__init__(daemon=True)
        self._ports = ports
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        for port in random.sample(self._ports, len(self._ports)):
            with suppress(OSError):
                server = socket.create_connection(("127.0.0.1", port), timeout=1)
                with client, server:
                    server.settimeout(None)
                    back = threading.Thread(target=_copy, args=(server, client), daemon=True)
                    back.start()
                    _copy(client, server)
                    back.join()
                return
        client.close()

    def stop(self) -> None:
        self._listening.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for own in (source, target):
        with suppress(OSError):
            own.shutdown(socket.SHUT_RDWR)


class Load(threading.Thread):
    """ReplicaSets that grow and shrink, pods that come alone and end by themselves."""

    def __init__(self, api: Api, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.api, self.chance = api, chance
        self.ended = threading.Event()
        self.deleted: set[str] = set()
        """Names of pods that were asked to go."""
        self.failures = 0
        self.made = 0

    def prepare(self) -> None:
        for index, (cpus, gpus) in enumerate(SHAPES):
            template = {"metadata": {"labels": {OWNER: f"set-{index}"}}, "spec": pod_spec(cpus, gpus)}
            wanted = {"replicas": 1, "selector": {"matchLabels": {OWNER: f"set-{index}"}}, "template": template}
            self.api.post(SETS, {"metadata": {"name": f"set-{index}"}, "spec": wanted})

    def run(self) -> None:
        works: list[Callable[[], None]] = [self._scale, self._single, self._single, self._delete_one]
        while not self.ended.wait(PAUSE):
            try:
                self.chance.choice(works)()
            except FAILURES:
                self.failures += 1

    def _scale(self) -> None:
        index = self.chance.randrange(len(SHAPES))
        self.api.ask("PATCH", f"{SETS}/set-{index}", {"spec": {"replicas": self.chance.randint(0, 4)}}, MERGE)

    def _single(self) -> None:
        cpus, gpus = self.chance.choice(SHAPES)
        self.made += 1
        metadata: Json = {"name": f"single-{self.made}", "labels": {OWNER: "single"}}
        metadata["annotations"] = {RUN_SECONDS: str(self.chance.randint(1, 20))}
        self.api.post(PODS, {"metadata": metadata, "spec": {**pod_spec(cpus, gpus), "restartPolicy": "Never"}})

    def _delete_one(self) -> None:
        names = [name for name in self.api.pods(SPACE) if name.startswith("single")]
        if names:
            name = self.chance.choice(names)
            self.deleted.add(name)
            self.api.delete(f"{PODS}/{name}")


class Holders(threading.Thread):
    """Looks into the state files of all kubelets again and again."""

    def __init__(self, state: Path) -> None:
        super().__init__(daemon=True)
        self._state = state
        self._ended = threading.Event()
        self.looks = 0
        """At nodes where somebody held something."""
        self.twice: set[str] = set()

    def run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        for folder in sorted(self._state.iterdir()):
            found = in_folder(folder) if folder.is_dir() else None
            if found is not None and (found.cpus or found.devices):
                self.looks += 1
                self.twice.update(f"{folder.name}: {each}" for each in found.twice())

    def stop(self) -> None:
        self._ended.set()
        self.join()
        self.look()


class Unrest(msgspec.Struct, frozen=True):
    seconds: float
    kills: Counter[str]
    pods: int
    gated: int
    ran: int
    rejected_past: int
    """Rejected pods that no webhook had gated."""
    excused: int
    """Rejected ones that a placer had released, and beside whose binding one was bound that no webhook had gated."""
    restarted: int
    """Rejected ones that a placer had released, and that a kubelet found when it started again."""
    requests: int
    """Of the placers, that changed a pod."""
    looks: int
    """Into the state files of a node."""
    recovery: float
    stock: float
    violations: tuple[str, ...]


def live_through(seed: int, seconds: float, folder: Path, say: Callable[[str], None], guard: str = "off") -> Unrest:
    chance = random.Random(seed)
    with ExitStack() as stack:
        way = stack.enter_context(begun("stock", folder, binaries(), 1e9))
        cluster = way.cluster
        log = audit(cluster, folder, PLACERS)
        placers, forwarder = _placers(way, stack, guard)
        starts: list[float] = []
        components = [*placers, _kubelets(way, stack, starts), *_control_plane(cluster)]
        killed: list[tuple[float, str]] = []

        def tell(text: str) -> None:
            killed.append((time.monotonic() - way.watched.began, text))
            say(f"{killed[-1][0]:8.2f} {text}")

        killer = Killer(components, chance, tell)
        load = Load(cluster.api_as("load", "load", "system:masters"), chance)
        load.prepare()
        load.start()
        holders = Holders(way.sim.state)
        holders.start()
        killer.kill_for(seconds)
        load.ended.set()
        began = time.monotonic()
        _until(RECOVERY_SECONDS, killer, lambda: not load.is_alive() and all(own.runs for own in components))
        stuck = _settled(cluster, killer)
        recovery = time.monotonic() - began
        for own in placers:
            own.kill()
        stock, unscheduled = _stock(cluster, Killer(components[len(placers) :], chance, tell))
        forwarder.stop()
        way.watched.stop()
        holders.stop()
        courses, changes = list(way.watched.courses.values()), requests(log)
        left = unexcused(courses)
        rejected = [own for own in left if not found_at_start(own, starts)]
        for each in left:
            say(_story(each, way.watched, killed))
        faults = [f"{each.name} was released to {each.node}, and rejected there: {each.message}" for each in rejected]
        excused = sum(own.gated and bool(own.rejected) for own in courses) - len(left)
        violations = (
            *stuck,
            *faults,
            *touched(courses, load),
            *touching(changes),
            *sorted(holders.twice),
            *unscheduled,
        )
        past = sum(bool(own.rejected) and not own.gated for own in courses)
        gated, ran = sum(own.gated for own in courses), sum(own.ran is not None for own in courses)
        restarted = len(left) - len(rejected)
        return Unrest(
            seconds,
            killer.kills,
            len(courses),
            gated,
            ran,
            past,
            excused,
            restarted,
            len(changes),
            holders.looks,
            recovery,
            stock,
            tuple(violations),
        )


def _placers(way: Way, stack: ExitStack, guard: str) -> tuple[list[Component], Forwarder]:
    ports = free_ports(4)
    forwarder = Forwarder(ports[:2])
    forwarder.start()
    found = []
    cluster = way.cluster
    kubeconfig = cluster.authority.kubeconfig(PLACERS, cluster.server, PLACERS, "system:masters")
    for index in (0, 1):
        flags = [
            *("--address=127.0.0.1", f"--port={ports[index]}", f"--metrics-port={ports[2 + index]}"),
            *(f"--url=https://127.0.0.1:{forwarder.port}", f"--identity=placer-{index}", f"--guard={guard}"),
        ]
        command = [sys.executable, "-m", "numafit", "place", f"--kubeconfig={kubeconfig}", *flags]
        begin = partial(_begin, command, way.folder / f"placer-{index}.log")
        own = Component(f"placer {index}", begin, begin())
        stack.callback(own.kill)
        found.append(own)
        until("a placer is ready", 60, partial(_is_ready, ports[2 + index]))
    return found, forwarder


def _begin(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    return start(command, log)


def _is_ready(port: int) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success
    return False


def _kubelets(way: Way, stack: ExitStack, starts: list[float]) -> Component:
    """All nodes and their agents at once. `starts`: when they start again is written there."""
    process = way.sim.process
    assert process is not None
    assert isinstance(process.args, list)
    command = process.args

    def begin() -> subprocess.Popen[bytes]:
        starts.append(time.monotonic() - way.watched.began)
        return _begin(command, way.sim.log)

    own = Component(KUBELETS, begin, process)
    stack.callback(own.kill)
    return own


def _control_plane(cluster: ControlPlane) -> list[Component]:
    return [Component(name, partial(cluster.start_again, name), process) for name, process in cluster.processes.items()]


def _until(seconds: float, killer: Killer, holds: Callable[[], bool]) -> bool:
    """Whether it does in time; what ends by itself meanwhile is started again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        killer.start_due(time.monotonic())
        if holds():
            return True
        time.sleep(0.3)
    return False


def _settled(cluster: ControlPlane, killer: Killer) -> list[str]:
    """Everybody may start now: of each ReplicaSet one pod is wanted, and all of them fit."""
    if not _until(RECOVERY_SECONDS, killer, lambda: _shrink(cluster.api)):
        return ["the API server does not answer"]
    why: list[str] = []

    def all_started() -> bool:
        with suppress(*FAILURES):
            pods = cluster.api.pods(SPACE)
            why[:] = [
                f"{name} is still {'gated' if pod['spec'].get('schedulingGates') else 'waiting'}: {_told(pod)}"
                for name, pod in pods.items()
                if pod["status"].get("phase") == "Pending" and "deletionTimestamp" not in pod["metadata"]
            ]
            return bool(pods) and not why
        return False

    _until(RECOVERY_SECONDS, killer, all_started)
    return why


def _shrink(api: Api) -> bool:
    try:
        for index in range(len(SHAPES)):
            api.ask("PATCH", f"{SETS}/set-{index}", {"spec": {"replicas": 1}}, MERGE).raise_for_status()
    except (*FAILURES, httpx.HTTPStatusError):
        return False
    return True


def _told(pod: Json) -> str:
    return "; ".join(own.get("message", "") for own in pod["status"].get("conditions", ()))


def _stock(cluster: ControlPlane, killer: Killer) -> tuple[float, list[str]]:
    """With no placer alive: seconds until a pod runs."""
    metadata: Json = {"name": "stock", "labels": {OWNER: "stock"}}
    cluster.api.post(PODS, {"metadata": metadata, "spec": pod_spec(2, 0)})
    began = time.monotonic()

    def runs() -> bool:
        pod = cluster.api.get(f"{PODS}/stock") or {}
        return bool(pod.get("status", {}).get("phase") == "Running")

    ran = _until(STOCK_SECONDS, killer, runs)
    return time.monotonic() - began, [] if ran else ["with all placers stopped a pod is not scheduled"]


def unexcused(courses: Sequence[PodCourse]) -> list[PodCourse]:
    """Released by a placer and rejected, though nobody came past a dead webhook to the same node about then."""
    past = [own for own in courses if not own.gated and own.bound is not None]

    def is_excused(own: PodCourse) -> bool:
        return any(
            other.node == own.node and abs((other.bound or 0) - (own.bound or 0)) < BESIDE_SECONDS for other in past
        )

    return [own for own in courses if own.rejected and own.gated and not is_excused(own)]


def found_at_start(own: PodCourse, starts: Sequence[float]) -> bool:
    """Whether its kubelet started again and found it there: it was bound before the kubelet had listed its pods, and
    rejected when that decided about them."""
    bound, ended = own.bound or own.made, own.ended or float("inf")
    return any(bound <= at + FOUND_SECONDS and at <= ended <= at + DECIDED_SECONDS for at in starts)


def _story(own: PodCourse, watched: Watched, kills: list[tuple[float, str]]) -> str:
    """What happened on its node before it was rejected."""
    end = (own.ended or own.made) + 1
    events = [(at, f"report: {', '.join(names)}") for at, names in watched.reports.get(own.node, ())]
    events += [(at, f"*** {text}") for at, text in kills]
    for each in watched.courses.values():
        if own.node in (each.node, *each.offered.split(",")):
            moments = {"made": each.made, "bound": each.bound, "ran": each.ran, "ended": each.ended, "gone": each.gone}
            text = f"{each.name} ({each.owner}, offered {each.offered or 'nothing'})"
            events += [(at, f"{text} {word} {each.rejected}") for word, at in moments.items() if at is not None]
    lines = [f"  {at:8.2f} {text}" for at, text in sorted(events) if end - STORY_SECONDS < at < end]
    return "\n".join([f"{own.name} was rejected on {own.node}:", *lines])


def touched(courses: Sequence[PodCourse], load: Load) -> list[str]:
    """A pod that came alone and ran is gone, and nobody asked for that. Those of ReplicaSets go as these shrink: of
    them only the audit log tells who touched them."""
    return [
        f"{own.name} ran, and is gone"
        for own in courses
        if own.ran is not None and not own.there and own.owner == "single" and own.name not in load.deleted
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.counted.unrest")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--guard", default="off", help="off, dry-run or on")
    parser.add_argument("--keep", action="store_true", help="leave the folder with all logs there")
    own = parser.parse_args()
    if lacking := missing():
        print(lacking)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="numafit-unrest-"))
    print(f"seed {own.seed}, in {folder}", flush=True)
    try:
        report = live_through(own.seed, own.minutes * 60, folder, lambda line: print(line, flush=True), own.guard)
    finally:
        if not own.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(msgspec.json.format(msgspec.json.encode(report), indent=1).decode())
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
