"""Events on a real kubelet, recorded as the folder of a run (`numafit/replay/runs`): `numafit replay` compares it."""

import gzip
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.kube.api import Json
from tests.kube.histories import There
from tests.kube.kubelet import HOUSEKEEPING, KubeletNode
from tests.kube.mounts import packed
from tests.kube.processes import until

QUIET_SECONDS, LONGER = 1.6, 2.4
"""So long nothing may change before an event is over: the CPU manager looks every second, the kubelet at containers
too, and the node's status is written every second. Pods are synced every two: some events need that. And the kubelet
must have kept house since, which it does every two seconds: on a busy machine it is later than others."""
LONGER_FOR = ("restart", "resize", "exit", "remove")
MOST_SECONDS = 20
RETRY_SECONDS = 40
NOT_YET = b'"Skipping evaluation of pending resizes; sources are not ready"'
LOOKED_AT = re.compile(rb'"Pod resize (?:is deferred|is infeasible|successfully allocated)')
"""A kubelet that starts may look at resizes that wait before all its sources are ready. It does not then, but half a
minute later (1.36)."""
CRASH_LINES = 40
PACKED = "machine.tgz"
LISTED = re.compile(rb'"Processed device updates for resource" resourceName="([^"]+)"')
TOLD = ("Pod admission denied", "Preempting pod to free up resources", "Pod resize successfully allocated")
ENDED = re.compile(r'"(?:Pod admission denied|Preempting pod to free up resources)".* podUID="([^"]+)"')
LEFT_OUT = re.compile(rb"pod_workers|kuberuntime|status_manager|pleg/|reflector|volume|reconciler")
"""Lines of the log that tell nothing of decisions."""


class Recorder:
    """`pods` are manifests by name: they grow while the history goes on."""

    def __init__(self, node: KubeletNode, machine: str, pods: Mapping[str, Json], plugins: list[Json]) -> None:
        self.node, self.machine, self.pods, self.plugins = node, machine, pods, plugins
        self.events: list[Json] = []
        self.steps: list[Json] = []
        self.manifests: dict[str, Json] = {}
        self.unsettled: list[int] = []
        """Events after which the node did not come to rest."""
        self.overtaken = False
        """On a busy machine pods came before the plugins that should have been there first: the history ends before
        that restart."""

    @property
    def crashed(self) -> bool:
        return bool(self.steps) and "crash" in self.steps[-1]

    def begin(self) -> None:
        for own in self.plugins:
            self.node.plugins[own["resource"]] = tuple(own["devices"])
        if not self.node.start():
            raise RuntimeError(f"the kubelet does not start: {self.node.read_log()[-1500:].decode()}")
        self.settle()

    def there(self) -> There:
        pods = self.node.pods()
        alive = [name for name, own in pods.items() if own["status"].get("phase") in ("Running", "Pending")]
        containers = [
            (own.pod, own.container)
            for own in self.node.outside.containers()
            if own.state == "RUNNING" and own.pod in alive and own.container.startswith("c")
        ]
        return There(
            sorted(alive),
            sorted(set(pods) - set(alive)),
            containers,
            dict(self.node.plugins),
            sorted(self.node.registered),
        )

    def happen(self, event: Json) -> None:
        began, mark = time.monotonic(), self.node.log.stat().st_size
        step = dict(event)
        doing: dict[str, Callable[[Json, Json], None]] = {
            "add": self._add,
            "remove": self._remove,
            "restart": self._restart,
            "resize": self._resize,
            "exit": self._exit,
        }
        doing.get(event["op"], self._plugin)(event, step)
        if self.overtaken:
            return
        self._until_told(mark)
        if not self.node.ended and not self.settle(LONGER if event["op"] in LONGER_FOR else QUIET_SECONDS):
            self.unsettled.append(len(self.events))
        self.events.append(event)
        log = self.node.read_log(mark)
        step |= self.look()
        if event["op"] == "add" and event["pod"] in step["pods"]:
            own = step["pods"][event["pod"]]
            refused = own["phase"] == "Failed" and own["reason"]
            step |= {"uid": own["uid"], "phase": own["phase"]}
            step |= {name: own[name] if refused else None for name in ("reason", "message")}
        lines = log.decode(errors="replace").splitlines()
        step["log"] = [line for line in lines if any(f'"{text}"' in line for text in TOLD)]
        if self.node.ended:
            step["crash"] = {"exit": self.node.process and self.node.process.returncode, "text": _last_words(lines)}
        step["seconds"] = round(time.monotonic() - began, 1)
        self.steps.append(step)

    def _add(self, event: Json, step: Json) -> None:
        self._create(event["pod"])
        self._until_decided([event["pod"]])

    def _until_told(self, mark: int) -> None:
        """Who was refused or evicted after it ran says so some seconds later."""
        lines = self.node.read_log(mark).decode(errors="replace").splitlines()
        ended = {match[1] for line in lines if (match := ENDED.search(line)) and 'operation="resize"' not in line}

        def told() -> bool:
            pods = [own for own in self.node.pods().values() if own["metadata"]["uid"] in ended]
            return self.node.ended or all(own["status"].get("phase") in ("Failed", "Succeeded") for own in pods)

        _patient("those who end have ended", told)

    def _create(self, name: str) -> None:
        made = self.node.add(self.pods[name])
        manifest = json.loads(json.dumps(self.pods[name]))
        manifest["metadata"]["uid"] = made["metadata"]["uid"]
        # the admission controller of the API server put it there
        manifest["spec"]["priority"] = made["spec"].get("priority", 0)
        self.manifests[name] = manifest

    def _until_decided(self, names: list[str]) -> None:
        def decided() -> bool:
            pods = self.node.pods()
            return self.node.ended or all(
                (pods.get(name, {}).get("status") or {}).get("phase") in ("Running", "Failed", "Succeeded")
                for name in names
            )

        _patient(f"{names} are decided", decided)

    def _remove(self, event: Json, step: Json) -> None:
        self.node.remove(event["pods"])
        _patient(f"{event['pods']} are gone", lambda: self.node.ended or self.node.gone(event["pods"]))

    def _restart(self, event: Json, step: Json) -> None:
        self.node.stop()
        mark = self.node.log.stat().st_size
        if event.get("reboot"):
            self.node.reboot()
        self.node.remove(event.get("remove") or ())
        for name in event.get("add") or ():
            self._create(name)
            time.sleep(1.1)
        started = self.node.start(event.get("config"), plugins=event.get("plugins", "first"))
        if "plugins" not in event:
            self.overtaken = _are_overtaken(self.node.read_log(mark), self.node.plugins)
        if started:
            self._until_decided(list(event.get("add") or ()))
            gone = list(event.get("remove") or ())
            _patient(f"{gone} are gone", lambda: self.node.ended or self.node.gone(gone))
            self._until_resizes_are_looked_at(mark)

    def _until_resizes_are_looked_at(self, mark: int) -> None:
        if NOT_YET in self.node.read_log(mark):
            _patient(
                "resizes that wait are looked at",
                lambda: self.node.ended or bool(LOOKED_AT.search(self.node.read_log(mark))),
                RETRY_SECONDS,
            )

    def _resize(self, event: Json, step: Json) -> None:
        before = self.node.pods().get(event["pod"]) or {"metadata": {}}
        answer = self.node.resize(event["pod"], event["container"], event["resources"])
        message = None if answer.is_success else answer.json().get("message")
        step["api"] = {"status": answer.status_code, "message": message}
        if answer.is_success and answer.json()["metadata"].get("generation") == before["metadata"].get("generation"):
            step["api"]["same"] = True

    def _exit(self, event: Json, step: Json) -> None:
        name = event["pod"], event["container"]
        attempt = max(own.attempt for own in self.node.outside.containers() if (own.pod, own.container) == name)
        self.node.outside.exit(*name)

        def again() -> bool:
            return self.node.ended or any(
                (own.pod, own.container) == name and own.attempt > attempt for own in self.node.outside.containers()
            )

        _patient(f"{name} runs again", again)

    def _plugin(self, event: Json, step: Json) -> None:
        match event["op"]:
            case "devices":
                self.node.list_devices(event["resource"], event["devices"])
            case "plugin-start" | "plugin-restart":
                self.node.start_plugin(event["resource"], event["devices"])
            case "plugin-stop":
                self.node.stop_plugin(event["resource"])
            case _:
                self.node.list_capacity(event["resource"], event["amount"])

    def settle(self, quiet: float = LONGER) -> bool:
        """Whether nothing changed for a while."""
        last, since, end = None, time.monotonic(), time.monotonic() + MOST_SECONDS
        mark, kept = self.node.log.stat().st_size, False
        while time.monotonic() < end and not self.node.ended:
            now = self._all()
            log = self.node.read_log(mark)
            mark += len(log)
            kept = kept or HOUSEKEEPING in log
            if now != last:
                last, since, kept = now, time.monotonic(), False
            elif kept and time.monotonic() - since > quiet:
                return True
            time.sleep(0.3)
        return False

    def _all(self) -> Any:
        """`Any`: compared only."""
        pods = {name: own["metadata"]["resourceVersion"] for name, own in self.node.pods().items()}
        return pods, self.node.outside.containers(), self.node.state_files(), self.node.allocatable()

    def look(self) -> Json:
        pods = {name: _pod(own) for name, own in self.node.pods().items()}
        return {
            "pods": pods,
            **self.node.state_files(),
            "containers": [list(own) for own in self.node.outside.containers()],
            "node_allocatable": self.node.allocatable(),
        }

    def write(self, folder: Path, name: str) -> Path:
        """The folder of a run; the machine is named, and found in `captures` beside the folder of runs, or in it where
        it has got huge pages."""
        (folder / "manifests").mkdir(parents=True)
        case = {
            "name": name,
            "mode": "api",
            "machine": self.machine,
            "plugins": self.plugins,
            "pods": list(self.manifests.values()),
            "events": self.events,
        }
        for file, content in (("case", case), ("result", {"steps": self.steps}), ("kubelet-config", self.node.base)):
            (folder / f"{file}.json").write_text(json.dumps(content, indent=1))
        if self.node.pages:
            packed(self.node.machine, folder / PACKED)
        (folder / "machine").write_text(PACKED if self.node.pages else self.machine)
        for number, manifest in enumerate(self.manifests.values()):
            path = folder / "manifests" / f"{number:02}-{manifest['metadata']['name']}.json"
            path.write_text(json.dumps(manifest, indent=1))
        lines = self.node.read_log().splitlines(keepends=True)
        with gzip.open(folder / "kubelet.log.gz", "wb") as log:
            log.writelines(line for line in lines if not LEFT_OUT.search(line[:80]))
        return folder


def _pod(pod: Json) -> Json:
    status = pod["status"]
    own = {name: status.get(name) for name in ("phase", "reason", "message", "qosClass")}
    own["uid"] = pod["metadata"]["uid"]
    resize = [each for each in status.get("conditions") or () if each["type"].startswith("PodResize")]
    kept = ("type", "status", "reason", "message")
    return own | ({"resize": [{name: each.get(name) for name in kept} for each in resize]} if resize else {})


def _are_overtaken(log: bytes, plugins: Iterable[str]) -> bool:
    """Whether pods came before the devices of a plugin."""
    before, came, _ = log.partition(b'"SyncLoop ADD"')
    listed = set(LISTED.findall(before))
    return bool(came) and any(resource.encode() not in listed for resource in plugins)


def _patient(what: str, found: Callable[[], bool], seconds: float = MOST_SECONDS) -> None:
    """What takes too long is seen in what is recorded."""
    try:
        until(what, seconds, found, 0.1)
    except TimeoutError:
        return


def _last_words(lines: list[str]) -> str:
    """From the reason on, where it says one: what follows may be longer."""
    panics = [number for number, line in enumerate(lines) if line.startswith("panic:")]
    last = lines[panics[-1] :][:CRASH_LINES] if panics else lines[-CRASH_LINES:]
    return "\n".join(line[:4000] for line in last)
